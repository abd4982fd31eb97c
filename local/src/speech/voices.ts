/** The settings of one voice of the API for each engine. */
export interface Voice {
  /** The accent of its English. */
  accent: 'en-us' | 'en-gb'
  kokoro: {
    /** Name of its style file. */
    style: string
    /** Adjusts the voice to the common level of 0.09 of full scale during speech. Measured over four sentences. */
    gain: number
  }
  espeak: {
    variant: string
    /** 0 to 99. */
    pitch: number
    wordsPerMinute: number
    /** 0 to 200. Measured like the gain above. */
    amplitude: number
  }
}

export const voices = new Map<string, Voice>([
  ['alloy', voice('en-us', ['af_alloy', 0.8], ['f2', 45, 170, 75])],
  ['echo', voice('en-us', ['am_echo', 0.89], ['m3', 50, 170, 89])],
  ['fable', voice('en-gb', ['bm_fable', 0.95], ['m1', 70, 165, 75])],
  ['onyx', voice('en-us', ['am_onyx', 0.9], ['m7', 10, 155, 87])],
  ['nova', voice('en-us', ['af_nova', 1.41], ['f3', 60, 175, 80])],
  ['shimmer', voice('en-us', ['af_bella', 0.97], ['f5', 80, 170, 80])],
  ['ash', voice('en-us', ['am_michael', 1.03], ['m5', 40, 165, 104])],
  ['ballad', voice('en-gb', ['bm_lewis', 1.05], ['m2', 60, 165, 73])],
  ['cedar', voice('en-us', ['am_adam', 0.63], ['m1', 35, 160, 108])],
  ['coral', voice('en-us', ['af_heart', 0.96], ['f1', 70, 165, 70])],
  ['marin', voice('en-us', ['af_jessica', 0.91], ['f2', 85, 170, 64])],
  ['sage', voice('en-us', ['af_sarah', 0.88], ['f5', 45, 165, 94])],
  ['verse', voice('en-us', ['am_liam', 0.86], ['m3', 80, 175, 80])],
  ['Aoede', voice('en-us', ['af_aoede', 0.56], ['f4', 65, 160, 68])],
  ['Charon', voice('en-gb', ['bm_george', 0.85], ['m2', 25, 155, 90])],
  ['Fenrir', voice('en-us', ['am_fenrir', 0.68], ['m4', 80, 180, 83])],
  ['Kore', voice('en-us', ['af_kore', 0.64], ['f1', 30, 165, 83])],
  ['Puck', voice('en-us', ['am_puck', 0.61], ['m6', 85, 185, 78])],
])

function voice(
  accent: Voice['accent'],
  [style, gain]: [style: string, gain: number],
  [variant, pitch, wordsPerMinute, amplitude]: [
    variant: string,
    pitch: number,
    wordsPerMinute: number,
    amplitude: number,
  ],
): Voice {
  return { accent, kokoro: { style, gain }, espeak: { variant, pitch, wordsPerMinute, amplitude } }
}
