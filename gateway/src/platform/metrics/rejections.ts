/** Remembers why errors reject requests, so that each rejection is counted once, with its response. */
import { count, type LabelsOf } from './metrics.ts'

export type RejectionReason = NonNullable<LabelsOf<'kinora.admission.rejections'>['reason']>

const reasons = new WeakMap<Error, RejectionReason>()

/** Marks an error as a rejection that protects the service. */
export const rejection = <Refusal extends Error>(reason: RejectionReason, error: Refusal): Refusal => {
  reasons.set(error, reason)
  return error
}

/** Counts the response to a request, if it is such a rejection. */
export const countRejection = (error: Error | undefined): void => {
  const reason = error && reasons.get(error)
  if (reason !== undefined) count('kinora.admission.rejections', { reason })
}
