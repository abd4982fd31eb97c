import { ApiError } from '@kinora/contract/errors'

import type { Call } from '../http/call.ts'
import { ProviderFailure } from '../providers/port/failure.ts'
import type { Provider } from '../providers/port/provider.ts'

const retryAfterMs = 5_000

/** Takes a slot of the provider for this call. If none becomes free, the provider counts as busy and the next one is tried. */
export const takeSlot = async (call: Pick<Call, 'takeSlot'>, provider: Provider): Promise<void> => {
  try {
    await call.takeSlot(provider)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'model_overloaded') throw error
    throw new ProviderFailure('busy', `no slot for a synchronous call became free at ${provider.name}`, {
      isLocal: true,
      retryAfterMs,
      cause: error,
    })
  }
}
