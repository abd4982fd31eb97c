/** The special token ids of the multilingual Whisper models. */
export const token = {
  end: 50_257,
  start: 50_258,
  firstLanguage: 50_259,
  translate: 50_358,
  transcribe: 50_359,
  previous: 50_361,
  noSpeech: 50_362,
  noTimes: 50_363,
  /** The token for 0.00 s. Each following one is 0.02 s later. */
  firstTime: 50_364,
} as const

export const vocabularySize = 51_865
export const secondsPerTime = 0.02
/** The number of encoder positions of a window. Time tokens are multiples of a position. */
export const positionsPerWindow = 1500
/** The context size of the decoder, including prompt and special tokens. */
export const mostTokens = 448
/** The part of the context that the prompt may use. */
export const mostPromptTokens = mostTokens / 2 - 1

/** In the order of their tokens. `jw` is Whisper's own code for Javanese. */
export const languageCodes = (
  'en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg lt la mi ml ' +
  'cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so af oc ka be tg sd gu am ' +
  'yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt haw ln ha ba jw su'
).split(' ')

export function languageToken(code: string): number | undefined {
  const place = languageCodes.indexOf(code === 'jv' ? 'jw' : code)
  return place === -1 ? undefined : token.firstLanguage + place
}

export function languageOf(id: number): string {
  const code = languageCodes[id - token.firstLanguage] ?? 'en'
  return code === 'jw' ? 'jv' : code
}

/** Languages without spaces between words. Each character counts as a word. */
export const unspacedLanguages = new Set(['zh', 'ja', 'th', 'lo', 'my', 'km', 'bo'])
