import { addressPrefixOf } from '../../admission/address-prefix.ts'
import type { FairQueue } from '../../admission/fair-queue.ts'
import type { MediaWork } from '../../admission/media-work.ts'
import type { Call } from '../call.ts'

/** For whom the work of a call is queued. An operator has no account, and is one of its own. */
const submitterOf = ({ caller, operator, address }: Call) => ({
  // An operation that takes an operator's key has no caller.
  ...((caller as Call['caller'] | undefined) === undefined
    ? { accountId: operator.keyId, keyId: operator.keyId }
    : { accountId: caller.accountId, keyId: caller.keyId }),
  addressPrefix: addressPrefixOf(address),
})

/** The media work of one call, submitted for its account, key and address prefix. */
export const bindMediaWork = (
  mediaWork: MediaWork,
  /** Runs before any media work or download of a call is queued; it throws to refuse it. */
  beforeExpensive: () => Promise<void>,
  callOf: () => Call,
): Pick<Call, 'mediaWork' | 'mediaFetch' | 'imageFetch'> => {
  const bind =
    (queue: FairQueue): Call['mediaWork'] =>
    async (work, { signal = callOf().signal, isLong = false } = {}) => {
      const call = callOf()
      await beforeExpensive()
      return queue(submitterOf(call), signal, work, { isLong })
    }
  return {
    mediaWork: bind(mediaWork.run),
    mediaFetch: bind(mediaWork.fetch),
    imageFetch: bind(mediaWork.fetchImage),
  }
}
