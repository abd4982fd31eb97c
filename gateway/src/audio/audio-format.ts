/** Detects the format of an audio file by its first bytes. The client's file name and content type are ignored. */
export interface AudioFormat {
  format: 'flac' | 'mp3' | 'mp4' | 'mpeg' | 'm4a' | 'ogg' | 'wav' | 'webm'
  /** Without a dot. */
  extension: string
  contentType: string
}

interface KnownFormat extends AudioFormat {
  /** The only ffmpeg demuxer that may open such a file. */
  demuxer: 'flac' | 'mp3' | 'mov' | 'mpeg' | 'ogg' | 'wav' | 'matroska'
}

const known = (
  format: AudioFormat['format'],
  contentType: string,
  demuxer: KnownFormat['demuxer'],
): KnownFormat => ({ format, extension: format, contentType, demuxer })

const flac = known('flac', 'audio/flac', 'flac')
const mp3 = known('mp3', 'audio/mpeg', 'mp3')
const mp4 = known('mp4', 'audio/mp4', 'mov')
const mpeg = known('mpeg', 'audio/mpeg', 'mpeg')
const m4a = known('m4a', 'audio/mp4', 'mov')
const ogg = known('ogg', 'audio/ogg', 'ogg')
const wav = known('wav', 'audio/wav', 'wav')
const webm = known('webm', 'audio/webm', 'matroska')

/** An MPEG audio frame header: eleven sync bits, and no reserved value in the fields after them. */
const isMpegFrame = (bytes: Buffer): boolean => {
  if (bytes.length < 4) return false
  const [first = 0, second = 0, third = 0] = bytes
  const version = (second >> 3) & 3
  const layer = (second >> 1) & 3
  return (
    first === 0xff &&
    second >= 0xe0 &&
    version !== 1 &&
    layer !== 0 &&
    third >> 4 !== 15 &&
    ((third >> 2) & 3) !== 3
  )
}

/** The pack header of an MPEG program stream, the content of `.mpeg` files. */
const mpegPack = Buffer.from([0, 0, 1, 0xba])

const ebml = Buffer.from([0x1a, 0x45, 0xdf, 0xa3])
/** The EBML DocType element with the value `webm`. */
const docTypeWebm = Buffer.from([0x42, 0x82, 0x84, ...Buffer.from('webm')])

export const audioFormatOf = (head: Buffer): KnownFormat | undefined => {
  const textAt = (start: number, end: number) => head.toString('latin1', start, end)
  if (textAt(0, 4) === 'fLaC') return flac
  if (textAt(0, 4) === 'OggS') return ogg
  if (textAt(0, 4) === 'RIFF' && textAt(8, 12) === 'WAVE') return wav
  if (textAt(4, 8) === 'ftyp') return textAt(8, 11) === 'M4A' ? m4a : mp4
  if (head.subarray(0, 4).equals(ebml)) return head.subarray(0, 128).includes(docTypeWebm) ? webm : undefined
  if (head.subarray(0, 4).equals(mpegPack)) return mpeg
  if (textAt(0, 3) === 'ID3' || isMpegFrame(head)) return mp3
  return undefined
}
