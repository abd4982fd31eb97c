import type { AdjustmentBody, CreatedMovement } from '@kinora/contract/operations/admin/ledger'
import type { Static } from 'typebox'

import type { WalletState } from '../../billing/ledger/ledger-store.ts'
import type { AccountMovement } from '../../billing/ledger/movement-store.ts'
import type { MovementMade, OperatorOrder } from '../../billing/ledger/movements.ts'
import type { Wallet } from '../../billing/money/money.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import { findAccount } from '../accounts/account-store.ts'
import { assertNotErased } from '../accounts/assert-not-erased.ts'
import type { Auditing } from '../admin-call.ts'
import { actorOf } from '../audit-log/audit.ts'
import { givenId, notFound } from '../given-id.ts'
import { presentMovement } from './present-movement.ts'

/** A movement that was just made, with the balance after it. */
export const presentMade = (
  { movement, balance }: { movement: AccountMovement; balance: WalletState },
  { accountName, taskId = null, currency }: { accountName: string; taskId?: string | null; currency: string },
): CreatedMovement => ({
  ...presentMovement({ ...movement, accountName, taskId }, currency),
  balance: {
    wallet: movement.wallet,
    available_micros: balance.availableMicros,
    held_micros: balance.heldMicros,
    currency,
  },
})

/** Makes a movement for the account of the path. A repeated one moves no money and writes no audit entry. */
export const makeMovement = async (
  postgres: Postgres,
  call: Auditing,
  action: string,
  given: Static<typeof AdjustmentBody>,
  move: (database: Database, order: OperatorOrder) => Promise<MovementMade>,
): Promise<CreatedMovement> => {
  const accountId = givenId(call, 'account')
  return postgres.transaction(async (database) => {
    const account = await findAccount(database, accountId)
    if (account === undefined) throw notFound('account')
    // What is left in its wallets can still be paid out.
    if (given.amount_micros > 0) assertNotErased(account)
    const made = await move(database, {
      accountId,
      wallet: (given.wallet ?? 'payg') as Wallet,
      amountMicros: given.amount_micros,
      currency: call.operator.currency,
      actor: actorOf(call.operator),
      reason: given.reason,
      reference: given.reference,
    })
    const after = presentMade(made, { accountName: account.name, currency: call.operator.currency })
    if (!made.isRepeat) await call.audit(database, { action, target: accountId, after })
    return after
  })
}
