export const kokoroSamplesPerSecond = 24_000

/** Below this part of its peak a clause is silent. Kokoro leaves more of that at its edges than a speaker would. */
const quiet = 0.02
const leadSeconds = 0.02
const tailSeconds = 0.05
const fadeInSeconds = 0.005
const fadeOutSeconds = 0.04
const knee = 0.8

/** A clause as it joins the next: edges cut to the speech and faded, at the common level, with its pause. */
export function finishClause(waveform: Float32Array, gain: number, pause: number): Buffer {
  const rate = kokoroSamplesPerSecond
  const peak = waveform.reduce((highest, value) => Math.max(highest, Math.abs(value)), 0)
  const isSpeech = (value: number) => Math.abs(value) > quiet * peak
  const first = Math.max(0, waveform.findIndex(isSpeech) - leadSeconds * rate)
  const end = Math.min(waveform.length, waveform.findLastIndex(isSpeech) + 1 + tailSeconds * rate)
  const speech = waveform.subarray(first, end)
  const samples = new Int16Array(speech.length + Math.round(pause * rate))
  for (let place = 0; place < speech.length; place++) {
    const fromStart = (place + 1) / (fadeInSeconds * rate)
    const fromEnd = (speech.length - place) / (fadeOutSeconds * rate)
    const value = speech[place]! * gain * Math.min(1, fromStart, fromEnd)
    samples[place] = Math.round(softened(value) * 32_767)
  }
  return Buffer.from(samples.buffer)
}

/** A voice's rare peaks are rounded off rather than cut. */
function softened(value: number): number {
  const over = Math.abs(value) - knee
  return over <= 0 ? value : Math.sign(value) * (knee + (1 - knee) * Math.tanh(over / (1 - knee)))
}
