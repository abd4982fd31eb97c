/** A model of the catalog. */
interface AnyModel {
  id: string
  description: string | undefined
  /** The organization that offers the model. */
  ownedBy: string
  /** Unix seconds. */
  created: number
  /** Other names under which requests may use the model, and the voices that it has under each, if they differ. */
  aliases: Record<string, { voices: string[] | undefined }>
  /** The paths that serve this model. */
  endpoints: string[]
  state: 'active' | 'deprecated' | 'retired'
  /** The day, in UTC, from which on requests are refused. */
  shutdownDate: string | undefined
  successor: string | undefined
  /** Where its prices come from: the reference, the providers file, or the admin API. */
  priceSource: 'catalog' | 'file' | 'record'
}

export interface Dimensions {
  width: number
  height: number
}

export interface VideoModel extends AnyModel {
  kind: 'video'
  /** The set of parameters and the form of the responses. */
  family: 'A' | 'B'
  /** The durations at `POST /v1/videos`: these, or all from the least to the most. */
  seconds: number[] | { least: number; most: number }
  /** The durations at `POST /v1/video/create`, of which the first is the default. Chats always use the default. */
  durations: [number, ...number[]]
  /** Width and height for each value of the `size` parameter. */
  sizes: Record<string, Dimensions>
  /** The values of the `aspect_ratio` parameter; none if the model has no such parameter. */
  aspectRatios: string[]
  imagesMax: number
  /** How several reference images are used; undefined if they only influence the style. */
  imageRole: 'frames' | 'components' | undefined
  pricePerSecondMicros: number
  /** The usual generation time, for progress estimates if a provider reports no progress. */
  usualSeconds: number
}

export interface TranscriptionModel extends AnyModel {
  kind: 'transcription'
  /** Whether it can time its text. Without timestamps JSON is the only response format. */
  hasTimestamps: boolean
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

export type ModelConfig = VideoModel | TranscriptionModel | SpeechModel | ChatModel
