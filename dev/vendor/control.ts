/** The faults that tests inject into the simulated vendor, and its counters. */
import { internalUrl } from './faults.ts'

/** Faults for all jobs from now on. Counts decrease as they are used. */
export interface VendorFaults {
  /** Cuts every connection without a response, before reading. */
  down: boolean
  busySubmits: number
  failedSubmits: number
  droppedReplies: number
  garbageReplies: number
  unavailablePolls: number
  slowReplyMs: number
  slowPollMs: number
  retryAfterMs: number
  neverFinishes: boolean
  badMedia: boolean
  /** Ends every job accepted from now on with this code; empty for none. */
  failCode: string
  /** Reports all jobs as unknown. */
  forgetful: boolean
  /** One of faults.ts for the next requests, written as `name[@point][xN]`; empty for none. */
  fault: string
  /** The target of `redirect-inside`. */
  redirectTo: string
}

/** Counters. `accepted` is the number of jobs that the vendor would bill. */
export interface VendorCounts {
  submits: number
  accepted: number
  repeated: number
  busy: number
  polls: number
  downloads: number
  deletes: number
  cancels: number
  unauthorized: number
  /** Applied faults of faults.ts. */
  faults: number
  /** Bytes of oversized bodies. */
  pouredBytes: number
  /** Requests in progress. */
  underWay: number
  /** Requests that were cut because the vendor is down, and how many of those were submits. */
  cut: number
  cutSubmits: number
}

export const noFaults: VendorFaults = {
  down: false,
  busySubmits: 0,
  failedSubmits: 0,
  droppedReplies: 0,
  garbageReplies: 0,
  unavailablePolls: 0,
  slowReplyMs: 0,
  slowPollMs: 0,
  retryAfterMs: 100,
  neverFinishes: false,
  badMedia: false,
  failCode: '',
  forgetful: false,
  fault: '',
  redirectTo: internalUrl,
}

export const noCounts: VendorCounts = {
  submits: 0,
  accepted: 0,
  repeated: 0,
  busy: 0,
  polls: 0,
  downloads: 0,
  deletes: 0,
  cancels: 0,
  unauthorized: 0,
  faults: 0,
  pouredBytes: 0,
  underWay: 0,
  cut: 0,
  cutSubmits: 0,
}

/** Account data in the messages of `vendor:tells-too-much`; no message of ours may contain it. */
export const accountSecrets = ['org-Zq81vendoraccount', 'operator@customer.example']
