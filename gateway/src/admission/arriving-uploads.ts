/**
 * The uploads whose bodies are arriving, by their owner: an account, or an address without one. If no more uploads fit,
 * the slowest one of the owner with the most is aborted for an owner with fewer. So a few owners with slow uploads cannot
 * keep others out. While uploads fill the total, those of the owners with the most must also arrive faster than usual.
 */
import { ApiError } from '@kinora/contract/errors'

import { rejection } from '../platform/metrics/rejections.ts'

export interface ArrivingUpload {
  /** The rate of the last seconds. */
  bytesPerSecond: () => number
  /** Stops receiving it; its client gets the error. */
  abort: (reason: ApiError) => void
}

export interface ArrivingUploads {
  /** Counts an upload until the returned function is called. */
  add: (owner: string, upload: ArrivingUpload) => () => void
  /** Aborts an upload of another owner, unless no other has at least two more than this one. */
  makeRoomFor: (owner: string) => void
  /** How many times the usual minimum rate the uploads of this owner must have. `usedShare` is the used part of the total. */
  rateFactor: (owner: string, usedShare: number) => number
}

const retryAfterSeconds = '5'
/** The minimum rate rises from this used share of the total on. */
const pressureFrom = 0.5
const rateFactorMax = 4

const aborted = () =>
  rejection(
    'concurrency',
    new ApiError('rate_limit_exceeded', {
      message: `This server receives as many uploads as it can, and most of them are yours, so the slowest one was aborted. Send fewer at once, and try again in ${retryAfterSeconds} s.`,
      headers: { 'retry-after': retryAfterSeconds },
    }),
  )

export const createArrivingUploads = (): ArrivingUploads => {
  const byOwner = new Map<string, Set<ArrivingUpload>>()
  let total = 0

  const countOf = (owner: string) => byOwner.get(owner)?.size ?? 0

  const add: ArrivingUploads['add'] = (owner, upload) => {
    const uploads = byOwner.get(owner) ?? new Set()
    byOwner.set(owner, uploads.add(upload))
    total += 1
    return () => {
      if (!uploads.delete(upload)) return
      total -= 1
      if (uploads.size === 0) byOwner.delete(owner)
    }
  }

  return {
    add,
    makeRoomFor: (owner) => {
      const [most] = [...byOwner.values()].toSorted((one, other) => other.size - one.size)
      if (most === undefined || most.size < countOf(owner) + 2) return
      const [slowest] = [...most]
        .map((upload) => ({ upload, rate: upload.bytesPerSecond() }))
        .toSorted((one, other) => one.rate - other.rate)
      slowest?.upload.abort(aborted())
    },
    rateFactor: (owner, usedShare) => {
      if (usedShare <= pressureFrom || countOf(owner) < total / byOwner.size) return 1
      const pressure = Math.min(1, (usedShare - pressureFrom) / (1 - pressureFrom))
      return 1 + (rateFactorMax - 1) * pressure
    },
  }
}
