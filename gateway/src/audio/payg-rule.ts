import { ApiError } from '@kinora/contract/errors'

import type { Caller } from '../auth/caller.ts'

/** Refuses subscription keys, for requests that only pay-as-you-go keys may send. */
export const assertPaysAsYouGo = (caller: Pick<Caller, 'kind'>): void => {
  if (caller.kind !== 'payg') throw new ApiError('audio_requires_payg')
}
