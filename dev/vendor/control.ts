/** What tests make the simulated vendor do wrong, and what they can read of it afterwards. */
import { insideAddress } from './faults.ts'

/** What goes wrong for every job from now on. The counts run down as they are used up. */
export interface VendorFaults {
  /** Cuts every connection without an answer, before anything is read. */
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
  /** Knows none of its jobs. */
  forgetful: boolean
  /** One of faults.ts for the next requests, written as `name[@occasion][xN]`; empty for none. */
  fault: string
  /** Where `redirect-inside` leads. */
  redirectTo: string
}

/** How often things happened. `accepted` is what the vendor would bill. */
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
  /** Faults of faults.ts that have happened to a request. */
  faults: number
  /** Bytes of bodies that are larger than anybody wants them. */
  pouredBytes: number
  /** Requests whose answers are not over. */
  underWay: number
  /** Requests that were cut because it is down, and how many of those would have made a job. */
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
  redirectTo: insideAddress,
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

/** What `vendor:tells-too-much` tells of our account: no message of ours may repeat it. */
export const accountWords = ['org-Zq81vendoraccount', 'operator@customer.example']
