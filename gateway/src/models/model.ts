import type { TObject } from 'typebox'

interface AnyModel {
  id: string
  /** Unix seconds. */
  created: number
  /** The paths that take this model. */
  endpoints: string[]
  state: 'active' | 'deprecated' | 'retired'
  shutdownDate: string | undefined
  successor: string | undefined
}

export interface VideoModel extends AnyModel {
  kind: 'video'
  family: 'A' | 'B'
  /** The parameter set that `POST /v1/videos` reads for it, where that endpoint takes it. */
  form: TObject | undefined
  /** The parameter set that `POST /v1/video/create` reads for it, where that endpoint takes it. */
  task: TObject | undefined
  /** How long its videos are where the caller does not say. */
  defaultSeconds: number
  /** Width and height for what the caller calls a size. */
  dimensions: Record<string, { width: number; height: number }>
  referencesMax: number
  /** What several references are to each other; undefined where they only lend their look. */
  referenceMode: 'frames' | 'components' | undefined
  pricePerSecondMicros: number
  /** How long it usually takes; the base of an estimate where a provider reports no progress. */
  usualSeconds: number
}

export interface TranscriptionModel extends AnyModel {
  kind: 'transcription'
  /** True for those that know no answer but JSON. */
  answersJsonOnly: boolean
  pricePerMinuteMicros: number
}

export interface SpeechModel extends AnyModel {
  kind: 'speech'
  voices: string[]
  followsInstructions: boolean
  pricePerMillionCharactersMicros: number
}

/** Prices of a million tokens each. */
interface TokenPrices {
  textInputMicros: number
  audioInputMicros: number
  textOutputMicros: number
  audioOutputMicros: number
}

export interface ChatModel extends AnyModel {
  kind: 'chat'
  voices: string[]
  contextTokens: number
  outputTokensMax: number
  /** How many may be used where the caller does not say. */
  outputTokensDefault: number
  /** What a second of sound counts as. */
  audioTokensPerSecond: number
  prices: TokenPrices
}

export type AudioModel = TranscriptionModel | SpeechModel | ChatModel
export type ModelConfig = VideoModel | AudioModel

export const active = { state: 'active', shutdownDate: undefined, successor: undefined } as const
