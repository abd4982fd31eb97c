import type { ImageRole } from '@kinora/contract/operations/video-fields'

import type { PriceRule } from './price-rule.ts'

/** A model of the catalog. */
interface AnyModel {
  id: string
  /** The name that a request uses: the id or an alias. What the caller gets names the model so, too. */
  name: string
  description: string | undefined
  /** The organization that offers the model. */
  ownedBy: string
  /** Unix seconds. */
  created: number
  /** Other names under which requests may use the model, and what is different under each. */
  aliases: Record<string, AliasChanges>
  /** The paths that serve this model. */
  endpoints: string[]
  state: 'active' | 'deprecated' | 'retired'
  /** The day, in UTC, on which it was deprecated. */
  deprecationDate: string | undefined
  /** The day, in UTC, from which on requests are refused. */
  shutdownDate: string | undefined
  successor: string | undefined
  /** For each measure of its kind there is one without conditions; only images may have none. */
  prices: PriceRule[]
  /** Where its prices come from: the reference, the providers file, or the admin API. */
  priceSource: 'catalog' | 'file' | 'record'
}

/** A voice of a model that speaks. What the configuration does not state is null. */
export interface Voice {
  name: string
  /** A language tag such as `en-US`: the language in which the voice sounds native. */
  language: string | null
  gender: 'female' | 'male' | 'neutral' | null
  /** The URL of a recording of it. Without one, the service makes a recording. */
  sample: string | null
}

export interface Dimensions {
  width: number
  height: number
}

/** A width and height as text, such as `1280x720`. */
export const frameSize = ({ width, height }: Dimensions): string => `${width}x${height}`

/** What requests for a video may ask for. */
export interface VideoRequests {
  /** The durations at `POST /v1/videos`: these, or all from the least to the most. */
  seconds: number[] | { least: number; most: number }
  /** The durations at `POST /v1/video/create`, of which the first is the default. Chats always use the default. */
  durations: [number, ...number[]]
  /** Width and height for each value of the `size` parameter. */
  sizes: Record<string, Dimensions>
  /** What `POST /v1/video/create` and chats make. */
  frames: Dimensions[]
  imagesMax: number
  /** The roles that reference images may have. Without roles in the request, the first image has the first one, and so on. */
  imageRoles: [ImageRole, ...ImageRole[]]
  /** Whether requests may have a reference video, and a reference audio. */
  usesVideo: boolean
  usesAudio: boolean
}

/** What a model can have differently under an alias: what requests may ask for, or its voices. */
export type AliasChanges = Partial<VideoRequests & { voices: Voice[] }>

export interface VideoModel extends AnyModel, VideoRequests {
  kind: 'video'
  /** The set of parameters and the form of the responses. */
  family: 'A' | 'B'
  /** The values of the `aspect_ratio` parameter; none if the model has no such parameter. */
  aspectRatios: string[]
  /** Whether its videos have sound; `optional` if the request decides. */
  sound: 'always' | 'never' | 'optional'
  /** The usual generation time, for progress estimates if a provider reports no progress. */
  usualSeconds: number
}

export interface TranscriptionModel extends AnyModel {
  kind: 'transcription'
  /** Whether it can time its text. Without timestamps JSON is the only response format. */
  hasTimestamps: boolean
}

export interface SpeechModel extends AnyModel {
  kind: 'speech'
  voices: Voice[]
  followsInstructions: boolean
}

export interface ChatModel extends AnyModel {
  kind: 'chat'
  voices: Voice[]
  contextTokens: number
  outputTokensMax: number
  /** The default limit of output tokens. */
  outputTokensDefault: number
  audioTokensPerSecond: number
}

export type ModelConfig = VideoModel | TranscriptionModel | SpeechModel | ChatModel
