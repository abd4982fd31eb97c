import type { Caller } from '../../src/auth/caller.ts'

/** The caller that a pay-as-you-go key without limits is, for tests that call no endpoint. */
export const callerOf = (accountId: string, keyId: string): Caller => ({
  ...{ accountId, keyId, kind: 'payg', scopes: [], models: undefined, addresses: undefined },
  ...{ requestsPerMinute: undefined, limits: {}, dialect: 'reference', hasQuota: false, currency: 'USD' },
})
