/** How one voice of the API sounds with each engine. */
export interface Voice {
  /** Accent of the English it speaks. */
  accent: 'en-us' | 'en-gb'
  kokoro: {
    /** Name of its file of styles. */
    style: string
    /** Brings all voices to the same level, 0.09 of full scale while they speak; measured over four sentences. */
    gain: number
  }
  espeak: {
    variant: string
    /** 0 to 99. */
    pitch: number
    /** Words a minute. */
    pace: number
    /** 0 to 200; measured, like the gain above. */
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
  ['Aoede', voice('en-us', ['af_aoede', 0.56], ['f4', 65, 160, 68])],
  ['Charon', voice('en-gb', ['bm_george', 0.85], ['m2', 25, 155, 90])],
  ['Fenrir', voice('en-us', ['am_fenrir', 0.68], ['m4', 80, 180, 83])],
  ['Kore', voice('en-us', ['af_kore', 0.64], ['f1', 30, 165, 83])],
  ['Puck', voice('en-us', ['am_puck', 0.61], ['m6', 85, 185, 78])],
])

function voice(
  accent: Voice['accent'],
  [style, gain]: [style: string, gain: number],
  [variant, pitch, pace, amplitude]: [variant: string, pitch: number, pace: number, amplitude: number],
): Voice {
  return { accent, kokoro: { style, gain }, espeak: { variant, pitch, pace, amplitude } }
}
