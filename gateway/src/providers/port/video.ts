import type { Readable } from 'node:stream'

/** What a provider leaves with us to find its job or result again. Opaque to everyone but its own adapter. */
export type Opaque = null | boolean | number | string | Opaque[] | { [name: string]: Opaque }

/** A picture the caller sent along, readable as often as needed. */
export interface ReferencePicture {
  contentType: string
  sizeBytes: number
  open: () => Promise<Readable>
}

/** A finished video to make a new one from. */
export interface SourceVideo {
  contentType: string
  sizeBytes: number
  open: () => Promise<Readable>
  /** The same provider's reference of the job that made it; undefined when another one made it. */
  ref: Opaque | undefined
}

/** One video to make, in a provider's terms: everything is resolved, nothing is optional by accident. */
export interface VideoJob {
  /** Ours. Sent as the idempotency key and correlation id wherever the protocol has room for one. */
  taskId: string
  /** The provider's own name for the model. */
  model: string
  prompt: string
  seconds: number
  width: number
  height: number
  watermark: boolean
  isPrivate: boolean
  style: string | undefined
  references: ReferencePicture[]
  /** What several references are to each other; undefined where they only lend their look. */
  referenceMode: 'frames' | 'components' | undefined
  /** Set for a remix. */
  source: SourceVideo | undefined
  /** Those that the prompt names as `@username`, each with its portrait. */
  characters: { username: string; picture: ReferencePicture }[]
}

export type VideoJobStatus =
  | { kind: 'running'; progress: number | undefined; checkAfterMs?: number | undefined }
  | { kind: 'done'; result: Opaque }
  | { kind: 'refused'; code: RefusalCode; message: string }
  /** The provider has no such job: right after a submit that may still change, later it is final. */
  | { kind: 'missing' }

/** Why a provider ended a job without a video; each is a public error code. */
export type RefusalCode =
  | 'content_policy_violation'
  | 'invalid_image'
  | 'invalid_parameter'
  | 'upstream_error'

/**
 * A provider of videos. Submitting, checking and fetching are all it does: the clock, retries,
 * money and states belong to the task. Every method throws only `ProviderFailure`.
 */
export interface VideoProvider {
  /** True when submitting the same `taskId` twice yields the one job; then an unknown outcome may be repeated. */
  readonly submitsAreIdempotent: boolean
  /** True when it can make a video from `source`; a remix is refused at its door otherwise. */
  readonly canRemix: boolean
  /** True when a remix needs the job that made its source to be there still; such a job is not discarded. */
  readonly remixesOwnJobs?: boolean
  submit: (job: VideoJob, signal: AbortSignal) => Promise<Opaque>
  check: (ref: Opaque, signal: AbortSignal) => Promise<VideoJobStatus>
  /** Opens the finished video as a stream; the signal covers the whole download. */
  openResult: (ref: Opaque, result: Opaque, signal: AbortSignal) => Promise<Readable>
  /** Finds a job by our task id after a submit with an unknown outcome; `undefined` when there is none. */
  lookup?: (taskId: string, signal: AbortSignal) => Promise<Opaque | undefined>
  /** Tells the provider that its job and result are no longer needed. */
  discard?: (ref: Opaque, signal: AbortSignal) => Promise<void>
  /** Asks the provider to stop a job; best effort, it may finish all the same. */
  cancel?: (ref: Opaque, signal: AbortSignal) => Promise<void>
}
