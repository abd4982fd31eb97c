/**
 * Admission of media programs in the API process: ffprobe and ffmpeg on files that callers upload or link. They use CPU
 * time before anything is charged, so all of them run in one queue that is fair across accounts. Downloads have queues
 * of their own, because the remote server and its DNS servers determine how long they take.
 */
import { ApiError } from '@kinora/contract/errors'

import { measure, observe, type LabelsOf } from '../platform/metrics/metrics.ts'
import { rejection } from '../platform/metrics/rejections.ts'
import type { ScopeLimits } from './admission.ts'
import { createFairQueue, type FairQueue, type FairQueueLimits } from './fair-queue.ts'
import { noLimits } from './limits.ts'

export interface MediaWork {
  /** For CPU-bound work. Work that waits for the network does not belong here. */
  run: FairQueue
  /** For a video download, until its file is deleted: the queue also bounds the disk space of downloads. */
  fetch: FairQueue
  /** For an image download, with the lookup of its host. Images do not wait for videos, which take much longer. */
  fetchImage: FairQueue
}

const retryAfterSeconds = '5'
/** Disk space limits downloads, at up to 200 MB each, and not the CPU. */
const fetches = { concurrency: 16, runningPerAccount: 2 }
/** One that waits holds only its request, and requests have limits of their own. */
const imageFetches = { concurrency: 64, runningPerAccount: 8, inFlight: noLimits }

const refusalFor = (subject: string) => (scope: keyof ScopeLimits, limit: number) => {
  const headers = { 'retry-after': retryAfterSeconds }
  if (scope === 'total') {
    const message = `Too many ${subject} are being processed at the moment. Try again in ${retryAfterSeconds} s.`
    return rejection('media_work', new ApiError('service_unavailable', { message, headers }))
  }
  const message = `Concurrency limit reached: ${limit} ${subject} in process for this ${scope}. Try again in ${retryAfterSeconds} s.`
  return rejection('media_work', new ApiError('rate_limit_exceeded', { message, headers }))
}

type QueueName = NonNullable<LabelsOf<'kinora.media.queue.entries'>['queue']>

const createQueue = (limits: FairQueueLimits, subject: string, queue: QueueName): FairQueue => {
  const created = createFairQueue(limits, refusalFor(subject), (waitedMs) =>
    measure('kinora.media.queue.duration', waitedMs / 1000, { queue }),
  )
  observe('kinora.media.queue.entries', () => {
    const { running, waiting } = created.entries()
    return [
      [running, { queue, state: 'running' }],
      [waiting, { queue, state: 'waiting' }],
    ]
  })
  return created
}

export const createMediaWork = (limits: FairQueueLimits): MediaWork => ({
  run: createQueue(limits, 'media files', 'programs'),
  fetch: createQueue({ ...limits, ...fetches }, 'downloads', 'downloads'),
  fetchImage: createQueue(imageFetches, 'images', 'images'),
})

/** The same concurrency in order of arrival and without limits per caller. */
export const createUnlimitedMediaWork = (concurrency: number): MediaWork => {
  const limits = { runningPerAccount: Infinity, inFlight: noLimits }
  const inOrder = (queue: FairQueue): FairQueue => {
    const shared = { accountId: '', keyId: '', addressPrefix: '' }
    return (_submitter, signal, work) => queue(shared, signal, work)
  }
  return {
    run: inOrder(createQueue({ ...limits, concurrency }, 'media files', 'programs')),
    fetch: inOrder(createQueue({ ...limits, concurrency: fetches.concurrency }, 'downloads', 'downloads')),
    fetchImage: inOrder(
      createQueue({ ...limits, concurrency: imageFetches.concurrency }, 'images', 'images'),
    ),
  }
}
