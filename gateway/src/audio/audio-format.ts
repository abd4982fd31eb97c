/** What an audio file is by its first bytes; names and types that came with it are not looked at. */
export interface AudioFormat {
  format: 'flac' | 'mp3' | 'mp4' | 'mpeg' | 'm4a' | 'ogg' | 'wav' | 'webm'
  /** Without a dot. */
  extension: string
  contentType: string
}

/** The one reader of ffmpeg's that is let at such a file. */
interface KnownFormat extends AudioFormat {
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

/** The head of a frame of MPEG audio: eleven bits of sync, then nothing that is reserved. */
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

/** The head of a pack of an MPEG program stream, which is what files called `.mpeg` are. */
const mpegPack = Buffer.from([0, 0, 1, 0xba])

const ebml = Buffer.from([0x1a, 0x45, 0xdf, 0xa3])
/** The element that names the kind of document, with four letters to follow. */
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
