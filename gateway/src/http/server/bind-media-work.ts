import { addressPrefixOf } from '../../admission/address-prefix.ts'
import type { FairQueue } from '../../admission/fair-queue.ts'
import type { MediaWork } from '../../admission/media-work.ts'
import type { Call } from '../call.ts'

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
      const { accountId, keyId } = call.caller
      return queue({ accountId, keyId, addressPrefix: addressPrefixOf(call.address) }, signal, work, {
        isLong,
      })
    }
  return {
    mediaWork: bind(mediaWork.run),
    mediaFetch: bind(mediaWork.fetch),
    imageFetch: bind(mediaWork.fetchImage),
  }
}
