/**
 * Refunds of tasks and metered requests. Money returns to the wallet that paid, and to the limits that the charge counted
 * against. The wallet's lock serializes the refunds of a charge, so that together they never exceed it.
 */
import { ApiError } from '@kinora/contract/errors'

import { uuidV7 } from '../../platform/ids/uuid.ts'
import type { Database } from '../../platform/postgres.ts'
import { lockWallet, postMovements, type WalletState } from '../ledger/ledger-store.ts'
import {
  findAccountMovement,
  insertAccountMovement,
  readClock,
  type AccountMovement,
} from '../ledger/movement-store.ts'
import { findCharged } from '../ledger/receipt-store.ts'
import { dayOfId } from '../ledger/receipt.ts'
import { findCharge, insertRefund, listRefunds, type Charge } from '../ledger/refund-store.ts'
import { formatAmount } from '../money/money.ts'
import { lockSubscription } from '../subscriptions/subscription-store.ts'
import { renewCycle } from '../subscriptions/subscriptions.ts'

interface RefundOrder {
  /** The task or metered request. */
  taskId: string
  /** Everything that was not refunded yet if undefined. */
  amountMicros: number | undefined
  currency: string
  actor: string
  reason: string
  /** Idempotency: a repeated reference of an account does not move money again. */
  reference: string | undefined
}

export interface RefundMade {
  movement: AccountMovement
  /** The wallet after the refund. */
  balance: WalletState
  capturedMicros: number
  /** The sum of all refunds of the task or request. */
  refundedMicros: number
  /** The refund had already been made; no money moved this time. */
  isRepeat: boolean
}

const conflict = (message: string, param?: string) =>
  new ApiError('conflict', { message, ...(param !== undefined && { param }) })

const chargeOf = async (database: Database, id: string): Promise<Charge & { taskDay: string }> => {
  const taskDay = dayOfId(id)
  const charge = taskDay === undefined ? undefined : await findCharge(database, { id, day: taskDay })
  if (charge !== undefined && taskDay !== undefined) return { ...charge, taskDay }
  const found =
    taskDay === undefined
      ? undefined
      : await findCharged(database, { id, day: taskDay, accountId: undefined })
  if (found === undefined) throw new ApiError('task_not_found')
  throw conflict(
    found.capturedMicros === null
      ? 'This has not ended, so nothing was charged yet. To return the held amount, cancel it.'
      : 'Nothing was charged for this, so there is nothing to refund.',
  )
}

/** The earlier refund with the same reference, if any. */
const findRepeated = async (
  database: Database,
  accountId: string,
  { taskId, reference, amountMicros, currency }: RefundOrder,
): Promise<AccountMovement | undefined> => {
  if (reference === undefined) return undefined
  const earlier = await findAccountMovement(database, { accountId, kind: 'refund', reference })
  if (earlier === undefined) return undefined
  const isOfTask = (await listRefunds(database, taskId)).some(({ id }) => id === earlier.id)
  if (isOfTask && (amountMicros ?? earlier.amountMicros) === earlier.amountMicros) return earlier
  throw conflict(
    `The reference '${reference}' was already used for a refund of ${formatAmount(earlier.amountMicros, currency)}${isOfTask ? '' : ' of another task or request'}. Use another reference.`,
    'reference',
  )
}

/** Starts a due cycle first, because the refund would expire with the old one. */
const assertSpendable = async (database: Database, { accountId, wallet }: Charge): Promise<void> => {
  if (wallet === 'payg') return
  await renewCycle(database, accountId)
  const subscription = await lockSubscription(database, accountId)
  if (subscription === undefined || subscription.hasEnded) {
    throw conflict(
      'The subscription that paid for this has ended, so the account could not spend the refund. Subscribe the account first, or credit its payg wallet with an adjustment.',
    )
  }
}

const amountOf = (
  { amountMicros, currency }: RefundOrder,
  capturedMicros: number,
  refundedMicros: number,
): number => {
  const leftMicros = capturedMicros - refundedMicros
  const text = (micros: number) => formatAmount(micros, currency)
  if (leftMicros <= 0) throw conflict(`The charge of ${text(capturedMicros)} was already refunded.`)
  if (amountMicros === undefined || amountMicros <= leftMicros) return amountMicros ?? leftMicros
  throw conflict(
    `Only ${text(leftMicros)} can be refunded: ${text(capturedMicros)} was charged and ${text(refundedMicros)} refunded.`,
    'amount_micros',
  )
}

/** Refunds a charge in full or in part, inside the caller's transaction. */
export const refund = async (database: Database, order: RefundOrder): Promise<RefundMade> => {
  const { taskId, actor, reason, reference } = order
  const charge = await chargeOf(database, taskId)
  const { accountId, wallet, keyId, capturedMicros, taskDay, usageDay } = charge
  const lock = async (): Promise<WalletState> => {
    const state = await lockWallet(database, accountId, wallet)
    if (state === undefined) throw new Error(`The wallet that paid for ${taskId} is missing.`)
    return state
  }
  const before = await lock()
  const made = await listRefunds(database, taskId)
  const refundedMicros = made.reduce((sum, each) => sum + each.amountMicros, 0)
  const earlier = await findRepeated(database, accountId, order)
  if (earlier !== undefined) {
    return { movement: earlier, balance: before, capturedMicros, refundedMicros, isRepeat: true }
  }

  const amountMicros = amountOf(order, capturedMicros, refundedMicros)
  await assertSpendable(database, charge)
  const { availableMicros, heldMicros } = await lock()
  const createdAt = await readClock(database)
  const id = `mov_${uuidV7(createdAt.getTime())}`
  const day = createdAt.toISOString().slice(0, 10)
  const movement = await insertAccountMovement(database, {
    ...{ id, accountId, wallet, kind: 'refund', amountMicros, actor, reason, reference: reference ?? null },
    createdAt,
  })
  await insertRefund(database, { id, day, taskId, taskDay, usageDay })
  await postMovements(
    database,
    [{ kind: 'refund', accountId, wallet, taskId: id, day, amountMicros, keyId }],
    {
      heldSince: new Map([[id, charge.heldSince]]),
    },
  )
  return {
    ...{ movement, capturedMicros, isRepeat: false },
    balance: { availableMicros: availableMicros + amountMicros, heldMicros },
    refundedMicros: refundedMicros + amountMicros,
  }
}
