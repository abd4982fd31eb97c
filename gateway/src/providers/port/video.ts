import type { Readable } from 'node:stream'

/** The provider's reference of a job or result. Only its own adapter interprets it. */
export type Opaque = null | boolean | number | string | Opaque[] | { [name: string]: Opaque }

/** A file of the caller, which can be opened repeatedly. */
export interface ReferenceFile {
  contentType: string
  sizeBytes: number
  open: () => Promise<Readable>
}

/** How an image is used: shown first or last, as something that the video shows, or for the style. */
export type ImageRole = 'first_frame' | 'last_frame' | 'reference' | 'style'

/** The source video of a remix. */
export interface SourceVideo {
  contentType: string
  sizeBytes: number
  open: () => Promise<Readable>
  /** This provider's reference of the job that made it; undefined if another provider made it. */
  ref: Opaque | undefined
}

/** A video request to a provider, with every default resolved. */
export interface VideoJob {
  /** Our task id, sent as idempotency key and correlation id if the protocol supports it. */
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
  references: (ReferenceFile & { role: ImageRole })[]
  referenceVideo: ReferenceFile | undefined
  referenceAudio: ReferenceFile | undefined
  /** Whether the video has sound; undefined if the provider's model decides. */
  sound: boolean | undefined
  /** Set for a remix. */
  source: SourceVideo | undefined
  /** The characters that the prompt mentions as `@username`, with their portraits. */
  characters: { username: string; image: ReferenceFile }[]
  /**
   * The URL for webhooks of this job; undefined if the provider must not send them. An adapter may add data that it needs
   * to read them as `note` in the query.
   */
  webhookUrl: string | undefined
}

/** A webhook delivery as received. */
export interface Delivery {
  headers: Record<string, string | string[] | undefined>
  /** The `note` that the adapter added to the URL. */
  note: string | undefined
  body: Buffer
}

/** The content of a verified webhook. It is only a hint: the job is polled before anything changes. */
export interface WebhookEvent {
  /** The reference of the job. */
  ref: Opaque
  /** The id of the event; a repeated delivery has the same. */
  id: string
}

export type VideoJobStatus =
  | { kind: 'running'; progress: number | undefined; pollAfterMs?: number | undefined }
  | { kind: 'done'; result: Opaque }
  | { kind: 'refused'; code: RefusalCode; message: string }
  /** The provider does not have the job. Right after a submit this may still change; later it is final. */
  | { kind: 'missing' }

/** Public error codes for jobs that end without a video. */
export type RefusalCode =
  | 'content_policy_violation'
  | 'invalid_image'
  | 'invalid_parameter'
  | 'upstream_error'

/**
 * A video provider. Adapters only submit, poll and download; timeouts, retries,
 * billing and states belong to the task. Every method throws only `ProviderFailure`.
 */
export interface VideoProvider {
  /** Whether submitting the same `taskId` twice yields one job; then a submit with an unknown outcome may be repeated. */
  readonly submitsAreIdempotent: boolean
  /** Whether it supports `source`; otherwise remixes are not routed to it. */
  readonly canRemix: boolean
  /** Whether `sound` has an effect for this model; without it, videos without sound are not routed to it. */
  readonly canChooseSound?: (model: string) => boolean
  /** Whether it uses `referenceVideo` and `referenceAudio` for this model; other work is not routed to it. */
  readonly usesVideo?: (model: string) => boolean
  readonly usesAudio?: (model: string) => boolean
  /** Whether a remix needs the job of its source; then finished jobs are not discarded. */
  readonly remixesOwnJobs?: boolean
  submit: (job: VideoJob, signal: AbortSignal) => Promise<Opaque>
  poll: (ref: Opaque, signal: AbortSignal) => Promise<VideoJobStatus>
  /** Opens the finished video as a stream; the signal covers the whole download. */
  openResult: (ref: Opaque, result: Opaque, signal: AbortSignal) => Promise<Readable>
  /** Finds a job by our task id after a submit with an unknown outcome; returns undefined if there is none. */
  lookup?: (taskId: string, signal: AbortSignal) => Promise<Opaque | undefined>
  /** Deletes the job and its result at the provider. */
  discard?: (ref: Opaque, signal: AbortSignal) => Promise<void>
  /** Verifies and reads a webhook; throws a `rejected` failure if it is forged, stale or unreadable. */
  readWebhook?: (delivery: Delivery, signal: AbortSignal) => Promise<WebhookEvent>
  /** Whether two references are of the same job. If absent, references are compared for equality. */
  isSameJob?: (one: Opaque, other: Opaque) => boolean
  /** Cancels a job; best effort, it may finish anyway. */
  cancel?: (ref: Opaque, signal: AbortSignal) => Promise<void>
}
