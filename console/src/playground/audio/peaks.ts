/** The loudness of a sound over time, which a waveform shows. */
export const peaksPerSecond = 40

/** Decoded sound of more samples than this would need too much memory: two hours. */
const samplesMax = 60_000_000
const decodedRate = 8_000

/** The page stays responsive between parts. */
const partSamples = 4_000_000

const yieldToPage = () =>
  new Promise<void>((resolve) => {
    setTimeout(resolve)
  })

export const findPeaks = (samples: Float32Array, rate: number): Float32Array => {
  const step = rate / peaksPerSecond
  const peaks = new Float32Array(Math.ceil(samples.length / step))
  for (let at = 0; at < peaks.length; at += 1) {
    let peak = 0
    const end = Math.min(samples.length, Math.floor((at + 1) * step))
    // Every fourth sample is enough to see.
    for (let sample = Math.floor(at * step); sample < end; sample += 4)
      peak = Math.max(peak, Math.abs(samples[sample] ?? 0))
    peaks[at] = peak
  }
  return peaks
}

/** Undefined if the browser cannot decode the recording, or if it is too long. */
export const readPeaks = async (
  recording: Blob,
  durationS: number | undefined,
): Promise<{ peaks: Float32Array; durationS: number } | undefined> => {
  if (durationS !== undefined && durationS * decodedRate > samplesMax) return undefined
  try {
    const context = new OfflineAudioContext(1, 1, decodedRate)
    const decoded = await context.decodeAudioData(await recording.arrayBuffer())
    const samples = decoded.getChannelData(0)
    const parts: Float32Array[] = []
    for (let from = 0; from < samples.length; from += partSamples) {
      parts.push(findPeaks(samples.subarray(from, from + partSamples), decodedRate))
      await yieldToPage()
    }
    const peaks = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const part of parts) {
      peaks.set(part, at)
      at += part.length
    }
    return { peaks, durationS: decoded.duration }
  } catch {
    return undefined
  }
}
