import type { Readable } from 'node:stream'

/** What a provider leaves with us to find its job or result again. Opaque to everyone but its own adapter. */
export type Opaque = null | boolean | number | string | Opaque[] | { [name: string]: Opaque }

/** A picture the caller sent along, readable as often as needed. */
export interface ReferenceImage {
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
  references: ReferenceImage[]
  /** What several references are to each other; undefined where they only lend their look. */
  referenceMode: 'frames' | 'components' | undefined
  /** Set for a remix. */
  source: SourceVideo | undefined
  /** Those that the prompt names as `@username`, each with its portrait. */
  characters: { username: string; image: ReferenceImage }[]
  /**
   * Where the provider may bring its news of this job; undefined where it is not to. What an adapter needs to read them
   * it may add to the query as `note`.
   */
  webhookUrl: string | undefined
}

/** A delivery to a job's news address, as it came. */
export interface Delivery {
  headers: Record<string, string | string[] | undefined>
  /** What the adapter added to the address. */
  note: string | undefined
  body: Buffer
}

/** What a genuine delivery tells. It is a hint: the job is checked before anything is believed of it. */
export interface WebhookEvent {
  /** The job it is about. */
  ref: Opaque
  /** The delivery's own id: the same news brought twice has the same. */
  id: string
}

export type VideoJobStatus =
  | { kind: 'running'; progress: number | undefined; pollAfterMs?: number | undefined }
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
  poll: (ref: Opaque, signal: AbortSignal) => Promise<VideoJobStatus>
  /** Opens the finished video as a stream; the signal covers the whole download. */
  openResult: (ref: Opaque, result: Opaque, signal: AbortSignal) => Promise<Readable>
  /** Finds a job by our task id after a submit with an unknown outcome; `undefined` when there is none. */
  lookup?: (taskId: string, signal: AbortSignal) => Promise<Opaque | undefined>
  /** Tells the provider that its job and result are no longer needed. */
  discard?: (ref: Opaque, signal: AbortSignal) => Promise<void>
  /** Reads a delivery to a job's news address; throws a `rejected` failure where it is forged, stale or unreadable. */
  readWebhook?: (delivery: Delivery, signal: AbortSignal) => Promise<WebhookEvent>
  /** Whether two references are of one job; absent where that is so when they are equal. */
  isSameJob?: (one: Opaque, other: Opaque) => boolean
  /** Asks the provider to stop a job; best effort, it may finish all the same. */
  cancel?: (ref: Opaque, signal: AbortSignal) => Promise<void>
}
