import type { TObject } from 'typebox'

interface AnyModel {
  id: string
  /** Unix seconds. */
  created: number
  /** The paths that serve this model. */
  endpoints: string[]
  state: 'active' | 'deprecated' | 'retired'
  shutdownDate: string | undefined
  successor: string | undefined
}

export interface VideoModel extends AnyModel {
  kind: 'video'
  family: 'A' | 'B'
  /** The parameters of `POST /v1/videos`; undefined if that endpoint does not serve the model. */
  form: TObject | undefined
  /** The parameters of `POST /v1/video/create`; undefined if that endpoint does not serve the model. */
  task: TObject | undefined
  /** The default duration of a video. */
  defaultSeconds: number
  /** Width and height for each value of the `size` parameter. */
  dimensions: Record<string, { width: number; height: number }>
  referencesMax: number
  /** How several reference images are used; undefined if they only influence the style. */
  referenceMode: 'frames' | 'components' | undefined
  pricePerSecondMicros: number
  /** The usual generation time, for progress estimates if a provider reports no progress. */
  usualSeconds: number
}

export interface TranscriptionModel extends AnyModel {
  kind: 'transcription'
  /** Whether JSON is the only response format. */
  answersJsonOnly: boolean
  pricePerMinuteMicros: number
}

export interface SpeechModel extends AnyModel {
  kind: 'speech'
  voices: string[]
  followsInstructions: boolean
  pricePerMillionCharactersMicros: number
}

/** Prices per million tokens. */
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
  /** The default limit of output tokens. */
  outputTokensDefault: number
  audioTokensPerSecond: number
  prices: TokenPrices
}

export type AudioModel = TranscriptionModel | SpeechModel | ChatModel
export type ModelConfig = VideoModel | AudioModel

export const active = { state: 'active', shutdownDate: undefined, successor: undefined } as const
