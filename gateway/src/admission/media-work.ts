/**
 * Admission of media programs in the API process: ffprobe and ffmpeg on files that callers sent or named. They cost
 * processor time before anything is paid for, so every one of them runs in one queue that is fair across accounts.
 * Videos are downloaded in a queue of their own, because a sender decides how long that takes.
 */
import { ApiError } from '@kinora/contract/errors'

import type { ScopeLimits } from './admission.ts'
import { createFairQueue, type FairQueue, type FairQueueLimits } from './fair-queue.ts'
import { noLimits } from './limits.ts'

export interface MediaWork {
  /** For what uses a processor. Nothing that waits for the network belongs here. */
  run: FairQueue
  /** For the download of a video, and for as long as the file is kept: it also bounds the disk that they take. */
  fetch: FairQueue
}

const retryAfterSeconds = '5'
/** Downloads are bound by the disk, at 200 MB each, not by processors. */
const fetches = { concurrency: 16, runningPerAccount: 2 }

const refusalFor = (subject: string) => (scope: keyof ScopeLimits, limit: number) => {
  const headers = { 'retry-after': retryAfterSeconds }
  if (scope === 'total') {
    const message = `Too many ${subject} are being processed at the moment. Try again in ${retryAfterSeconds} s.`
    return new ApiError('service_unavailable', { message, headers })
  }
  const message = `Concurrency limit reached: ${limit} ${subject} in process for this ${scope}. Try again in ${retryAfterSeconds} s.`
  return new ApiError('rate_limit_exceeded', { message, headers })
}

export const createMediaWork = (limits: FairQueueLimits): MediaWork => ({
  run: createFairQueue(limits, refusalFor('media files')),
  fetch: createFairQueue({ ...limits, ...fetches }, refusalFor('downloads')),
})

/** As many at once, but first come, first served, and without a limit to what one caller may send. */
export const createUnlimitedMediaWork = (concurrency: number): MediaWork => {
  const limits = { runningPerAccount: Infinity, inFlight: noLimits }
  const inOrder = (queue: FairQueue): FairQueue => {
    const everybody = { accountId: '', keyId: '', addressPrefix: '' }
    return (_submitter, signal, work) => queue(everybody, signal, work)
  }
  return {
    run: inOrder(createFairQueue({ ...limits, concurrency }, refusalFor('media files'))),
    fetch: inOrder(createFairQueue({ ...limits, concurrency: fetches.concurrency }, refusalFor('downloads'))),
  }
}
