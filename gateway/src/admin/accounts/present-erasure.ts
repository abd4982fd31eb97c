import type { Erasure } from '@kinora/contract/operations/admin/accounts'

import type { Erasure as ErasureRecord } from '../../erasure/erasure-store.ts'
import { secondsOf } from '../unix-time.ts'

export const presentErasure = (erasure: ErasureRecord): Erasure => ({
  account_id: erasure.accountId,
  object: 'account.erasure',
  status: erasure.finishedAt === null ? 'erasing' : 'erased',
  requested_at: secondsOf(erasure.requestedAt),
  finished_at: erasure.finishedAt === null ? null : secondsOf(erasure.finishedAt),
  counts: erasure.counts,
  certificate: erasure.certificate as Erasure['certificate'],
})
