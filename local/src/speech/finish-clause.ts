export const kokoroSamplesPerSecond = 24_000

/** Lower levels are silence. Kokoro adds more silence at the edges of a clause than a speaker would. */
const quiet = 0.006
const leadSeconds = 0.02
const tailSeconds = 0.05
const fadeInSeconds = 0.005
const fadeOutSeconds = 0.04
const knee = 0.8

export interface Finish {
  /** Adjusts the voice to the common level. */
  gain: number
  /** Seconds of silence at the end. */
  pause: number
  isStart: boolean
  isEnd: boolean
}

/** Prepares a clause, or a part of one, for joining: trims and fades its outer edges and appends the pause. */
export function finishClause(waveform: Float32Array, { gain, pause, isStart, isEnd }: Finish): Buffer {
  const rate = kokoroSamplesPerSecond
  const isSpeech = (value: number) => Math.abs(value * gain) > quiet
  const first = isStart ? Math.max(0, waveform.findIndex(isSpeech) - leadSeconds * rate) : 0
  const last = waveform.findLastIndex(isSpeech) + 1 + tailSeconds * rate
  const speech = waveform.subarray(first, isEnd ? Math.min(waveform.length, last) : waveform.length)
  const samples = new Int16Array(speech.length + (isEnd ? Math.round(pause * rate) : 0))
  for (let place = 0; place < speech.length; place++) {
    const fromStart = isStart ? (place + 1) / (fadeInSeconds * rate) : 1
    const fromEnd = isEnd ? (speech.length - place) / (fadeOutSeconds * rate) : 1
    const value = speech[place]! * gain * Math.min(1, fromStart, fromEnd)
    samples[place] = Math.round(softened(value) * 32_767)
  }
  return Buffer.from(samples.buffer)
}

/** Compresses rare peaks instead of clipping them. */
function softened(value: number): number {
  const over = Math.abs(value) - knee
  return over <= 0 ? value : Math.sign(value) * (knee + (1 - knee) * Math.tanh(over / (1 - knee)))
}
