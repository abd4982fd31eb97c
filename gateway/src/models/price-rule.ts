/**
 * Price rules: the price of a unit, and the conditions under which it applies. The prices of models and the costs of
 * routes have this form.
 */

/**
 * How many counted items (seconds, characters, tokens) make up a unit, and what they measure. Of the rules that measure the
 * same, one applies to a request.
 */
export const priceUnits = {
  second: { counted: 1, measures: 'video' },
  call: { counted: 1, measures: 'video' },
  image: { counted: 1, measures: 'images' },
  minute: { counted: 60, measures: 'audio' },
  million_characters: { counted: 1_000_000, measures: 'characters' },
  million_text_input_tokens: { counted: 1_000_000, measures: 'text input' },
  million_audio_input_tokens: { counted: 1_000_000, measures: 'audio input' },
  million_text_output_tokens: { counted: 1_000_000, measures: 'text output' },
  million_audio_output_tokens: { counted: 1_000_000, measures: 'audio output' },
} as const

export type PriceUnit = keyof typeof priceUnits

/** The units for each kind of model. */
export const unitsOfKinds = {
  video: ['second', 'call', 'image'],
  transcription: ['minute'],
  speech: ['million_characters'],
  chat: [
    'million_text_input_tokens',
    'million_audio_input_tokens',
    'million_text_output_tokens',
    'million_audio_output_tokens',
  ],
} as const satisfies Record<string, PriceUnit[]>

export const videoInputs = ['text', 'image', 'video'] as const
/** What a video is made from, besides its prompt. */
type VideoInput = (typeof videoInputs)[number]

/** When a rule applies; null for always. */
export interface PriceConditions {
  /** A width and height such as `1280x720`, or a number of lines such as `720p`, whichever side is the shorter. */
  resolution: string | null
  sound: boolean | null
  input: VideoInput | null
}

export interface PriceRule extends PriceConditions {
  unit: PriceUnit
  unitMicros: number
  /** The version of an operator's price. */
  version?: number
}

/** What a request amounts to. */
export interface PricedWork extends Partial<{
  [Condition in 'sound' | 'input']: PriceConditions[Condition]
}> {
  counted: Partial<Record<PriceUnit, number>>
  width?: number
  height?: number
}

const isLines = (resolution: string) => resolution.endsWith('p')

const hasResolution = (resolution: string, width: number, height: number): boolean =>
  resolution === (isLines(resolution) ? `${Math.min(width, height)}p` : `${width}x${height}`)

/** Whether a rule applies to a request. */
export const appliesTo = (
  { resolution, sound, input }: PriceConditions,
  { width = 0, height = 0, ...work }: PricedWork,
): boolean =>
  (resolution === null || hasResolution(resolution, width, height)) &&
  (sound === null || sound === work.sound) &&
  (input === null || input === work.input)

/** Whether a rule applies to every request that another one applies to. */
export const covers = (wide: PriceConditions, narrow: PriceConditions): boolean => {
  const [width = 0, height = 0] = narrow.resolution?.split('x').map(Number) ?? []
  return (
    (wide.resolution === null ||
      wide.resolution === narrow.resolution ||
      (narrow.resolution !== null && hasResolution(wide.resolution, width, height))) &&
    (wide.sound === null || wide.sound === narrow.sound) &&
    (wide.input === null || wide.input === narrow.input)
  )
}

export const hasSameConditions = (one: PriceConditions, other: PriceConditions): boolean =>
  one.resolution === other.resolution && one.sound === other.sound && one.input === other.input

/**
 * The rank of a rule among those that apply: the number of its conditions, then a resolution before an input before a
 * sound. Two rules with different conditions that apply to the same request never have the same rank.
 */
export const rankOf = ({ resolution, sound, input }: PriceConditions): number => {
  const ofResolution = resolution === null ? 0 : isLines(resolution) ? 16 : 19
  return ofResolution + (input === null ? 0 : 12) + (sound === null ? 0 : 11)
}
