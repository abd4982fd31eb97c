import { ApiError } from '@kinora/contract/errors'

import type { Caller } from '../auth/caller.ts'

/** Refuses a subscription key where only pay-as-you-go keys may use sound. */
export const assertPaysAsYouGo = (caller: Pick<Caller, 'kind'>): void => {
  if (caller.kind !== 'payg') throw new ApiError('audio_requires_payg')
}
