import type { AccountMovement } from '@kinora/contract/operations/admin/ledger'

import type { AccountMovement as MovementRecord } from '../../billing/ledger/movement-store.ts'
import { secondsOf } from '../unix-time.ts'

/** A movement with the name of its account and, if it is a refund, the task or request that was refunded. */
type NamedMovement = MovementRecord & { accountName: string; taskId: string | null }

export const presentMovement = (movement: NamedMovement, currency: string): AccountMovement => ({
  id: movement.id,
  object: 'movement',
  account_id: movement.accountId,
  account_name: movement.accountName,
  kind: movement.kind,
  task_id: movement.taskId,
  wallet: movement.wallet,
  amount_micros: movement.amountMicros,
  currency,
  actor: movement.actor,
  reason: movement.reason,
  reference: movement.reference,
  created_at: secondsOf(movement.createdAt),
})
