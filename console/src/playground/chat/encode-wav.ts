/** Converts a recording of the browser to WAV, because chats accept WAV and MP3. */
const rate = 16_000

const writeHeader = (view: DataView, dataBytes: number) => {
  const text = (at: number, value: string) => {
    for (const [index, letter] of [...value].entries()) view.setUint8(at + index, letter.charCodeAt(0))
  }
  text(0, 'RIFF')
  view.setUint32(4, 36 + dataBytes, true)
  text(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, rate, true)
  view.setUint32(28, rate * 2, true)
  view.setUint16(32, 2, true)
  view.setUint16(34, 16, true)
  text(36, 'data')
  view.setUint32(40, dataBytes, true)
}

/** 16 kHz, 16 bit, mono. */
export const encodeWav = async (recording: Blob): Promise<Blob> => {
  const context = new OfflineAudioContext(1, 1, rate)
  const samples = (await context.decodeAudioData(await recording.arrayBuffer())).getChannelData(0)
  const view = new DataView(new ArrayBuffer(44 + samples.length * 2))
  writeHeader(view, samples.length * 2)
  for (const [index, sample] of samples.entries())
    view.setInt16(44 + index * 2, Math.max(-1, Math.min(1, sample)) * 32_767, true)
  return new Blob([view], { type: 'audio/wav' })
}

export const readBase64 = async (blob: Blob): Promise<string> => {
  const bytes = new Uint8Array(await blob.arrayBuffer())
  const parts: string[] = []
  // A call has a limited number of arguments.
  for (let at = 0; at < bytes.length; at += 32_768)
    parts.push(String.fromCharCode(...bytes.subarray(at, at + 32_768)))
  return btoa(parts.join(''))
}

export const readAudio = (base64: string, type: string): Blob =>
  new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], { type })
