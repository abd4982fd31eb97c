import type { AccountMovement } from '@kinora/contract/operations/admin/ledger'

import type { AccountMovement as MovementRecord } from '../../billing/ledger/movement-store.ts'
import { secondsOf } from '../unix-time.ts'

export const presentMovement = (movement: MovementRecord, currency: string): AccountMovement => ({
  id: movement.id,
  object: 'movement',
  account_id: movement.accountId,
  kind: movement.kind,
  wallet: movement.wallet,
  amount_micros: movement.amountMicros,
  currency,
  actor: movement.actor,
  reason: movement.reason,
  reference: movement.reference,
  created_at: secondsOf(movement.createdAt),
})
