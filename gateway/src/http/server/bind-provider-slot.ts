import type { FastifyRequest } from 'fastify'

import { addressPrefixOf } from '../../admission/address-prefix.ts'
import type { ProviderSlots } from '../../admission/provider-slots.ts'
import { watchReader } from '../../admission/slow-readers.ts'
import type { Log } from '../../platform/log.ts'
import { count } from '../../platform/metrics/metrics.ts'
import type { Call } from '../call.ts'

export interface SlotSettings {
  providerSlots: ProviderSlots
  /** The minimum rate at which the client must read a response while it holds a slot. */
  readBytesPerSecondMin: number
  log: Log
}

/** The slot of one call at the provider that serves it. A client that reads too slowly is disconnected. */
export const bindProviderSlot = (
  { providerSlots, readBytesPerSecondMin, log }: SlotSettings,
  { raw: { socket }, id: requestId }: FastifyRequest,
  callOf: () => Call,
): Pick<Call, 'takeSlot' | 'releaseSlot'> => {
  let release: (() => void) | undefined
  const releaseSlot = () => {
    release?.()
    release = undefined
  }
  const takeSlot: Call['takeSlot'] = async (provider) => {
    releaseSlot()
    const { caller, address, signal } = callOf()
    const { accountId, keyId } = caller
    const submitter = { accountId, keyId, addressPrefix: addressPrefixOf(address) }
    const slot = await providerSlots(provider, submitter, signal)
    const stopWatching = watchReader(socket, readBytesPerSecondMin, slot.isWanted, () => {
      count('kinora.admission.rejections', { reason: 'slow_client' })
      const reason = `the client reads less than ${readBytesPerSecondMin} bytes per second`
      log.warn({ requestId, accountId, keyId, provider: provider.name, reason }, 'response.aborted')
      socket.destroy()
    })
    release = () => {
      stopWatching()
      slot.release()
    }
  }
  return { takeSlot, releaseSlot }
}
