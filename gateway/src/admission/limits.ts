/** The limits of admission control from the configuration. */
import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'

import type { AdmissionLimits, ScopeLimits } from './admission.ts'

interface LimitSettings {
  LIMIT_REQUESTS_IN_FLIGHT: ScopeLimits
  LIMIT_UPLOADS_IN_FLIGHT: ScopeLimits
  LIMIT_BODY_BYTES: ScopeLimits
  LIMIT_SPOOL_BYTES: ScopeLimits
}

export const admissionLimitsOf = (settings: LimitSettings): AdmissionLimits => ({
  requests: settings.LIMIT_REQUESTS_IN_FLIGHT,
  uploads: settings.LIMIT_UPLOADS_IN_FLIGHT,
  bodyBytes: settings.LIMIT_BODY_BYTES,
  spoolBytes: settings.LIMIT_SPOOL_BYTES,
})

export const noLimits: ScopeLimits = { address: Infinity, key: Infinity, account: Infinity, total: Infinity }

export const noAdmissionLimits: AdmissionLimits = {
  requests: noLimits,
  uploads: noLimits,
  bodyBytes: noLimits,
  spoolBytes: noLimits,
}

const overloadShare = 0.8

/** 80 % of the memory of the container if it has a limit, and of the machine otherwise. */
export const memoryBytesMax = (): number => {
  const constrainedBytes = process.constrainedMemory()
  const availableBytes = constrainedBytes > 0 ? Math.min(constrainedBytes, totalmem()) : totalmem()
  return Math.floor(availableBytes * overloadShare)
}

/** 80 % of the heap limit, which may be below the available memory. */
export const heapBytesMax = (): number => Math.floor(getHeapStatistics().heap_size_limit * overloadShare)
