/** Jobs of the simulated vendor as its protocols see them. */
import type { IncomingMessage, ServerResponse } from 'node:http'

import type { FaultPoint, Refuse } from './faults.ts'

export type VendorJobState = 'queued' | 'in_progress' | 'completed' | 'failed' | 'cancelled' | 'deleted'

/** A submit as read by a protocol. */
export interface JobOrder {
  /** The provider kind of the protocol, so that tests can tell jobs apart. */
  kind: string
  prompt: string
  model: string
  seconds: string
  size: string
  /** Undefined if the protocol does not support it. */
  idempotencyKey: string | undefined
  clientReference: string | undefined
  referenceBytes: number
  /** The id of the job it is a remix of. */
  remixOf: string | undefined
  /** The URL for webhooks. */
  webhookUrl: string | undefined
}

export interface AcceptedJob extends JobOrder {
  id: string
  submits: number
  acceptedAtMs: number
  /** From acceptance to the end. */
  durationMs: number
  state: () => VendorJobState
  /** 0 to 1. */
  doneShare: () => number
  /** The error code of a failed job: `content_policy_violation`, `server_error`, … */
  failCode: string | undefined
}

export interface JobStore {
  /** The base URL of this vendor, for links in responses. */
  url: () => string
  /** The required key; undefined if any is accepted. */
  apiKey: string | undefined
  /**
   * Accepts a job after applying faults. Returns undefined if a fault responds or cuts the connection; the protocol must
   * not respond then.
   */
  submit: (
    request: IncomingMessage,
    response: ServerResponse,
    order: JobOrder,
    refuse: Refuse,
    /** Called when a job is accepted, whatever happens to the response. */
    onAccepted?: (job: AcceptedJob) => void,
  ) => Promise<AcceptedJob | undefined>
  /** Returns undefined for an id that is unknown, deleted or, as a fault, forgotten. */
  find: (id: string) => AcceptedJob | undefined
  findByReference: (reference: string) => AcceptedJob | undefined
  /**
   * Must be called before any other response about a job. Returns false if a fault has responded; the protocol must not
   * respond then.
   */
  mayAnswer: (
    point: Exclude<FaultPoint, 'submit' | 'download'>,
    job: AcceptedJob,
    request: IncomingMessage,
    response: ServerResponse,
    refuse: Refuse,
  ) => Promise<boolean>
  /** Sends the video of a finished job, after applying faults. */
  sendVideo: (
    job: AcceptedJob,
    request: IncomingMessage,
    response: ServerResponse,
    refuse: Refuse,
  ) => Promise<void>
  /** The bytes of the video, for protocols with inline videos. */
  videoOf: (job: AcceptedJob) => Buffer
  cancel: (job: AcceptedJob) => void
  remove: (job: AcceptedJob) => void
  /** Calls the listener when a job ends, for vendors with webhooks. */
  onEnd: (job: AcceptedJob, listener: () => void) => void
}

export interface JobStoreOptions {
  /** The base URL; called once the server listens. */
  url: () => string
  apiKey: string | undefined
  durationMs: number
  honoursIdempotencyKey: boolean
  /** The video of every job. */
  sample: Buffer
  /** Whether each job has a video of its own, made from the sample. */
  hasDistinctVideos: boolean
  /** Files that jobs deliver if their prompt says so. They are streamed from the disk. */
  videoDirectory: string | undefined
}

/** An accepted job, which the vendor would bill. */
export interface VendorJob extends Omit<AcceptedJob, 'state' | 'doneShare' | 'failCode' | 'durationMs'> {
  state: VendorJobState
}
