/** Movements without a task: top-ups, adjustments, the grants of subscription cycles, and expiries. */
import { ApiError } from '@kinora/contract/errors'

import { uuidV7 } from '../../platform/ids/uuid.ts'
import type { Database } from '../../platform/postgres.ts'
import { formatAmount, type Wallet } from '../money/money.ts'
import { lockWallet, openWallet, postMovements, type WalletState } from './ledger-store.ts'
import {
  findAccountMovement,
  insertAccountMovement,
  readClock,
  type AccountMovement,
} from './movement-store.ts'

export interface MovementOrder {
  accountId: string
  wallet: Wallet
  amountMicros: number
  actor: string
  reason: string
  /** Idempotency: a repeated reference of an account and kind does not move money again. */
  reference?: string | undefined
}

/** A movement made by an operator. Error messages state amounts in this currency. */
export type OperatorOrder = MovementOrder & { currency: string }

export interface MovementMade {
  movement: AccountMovement
  /** The wallet after the movement. */
  balance: WalletState
  /** The movement had already been made; no money moved this time. */
  isRepeat: boolean
}

type AmountText = (micros: number) => string
const inCurrency =
  ({ currency }: OperatorOrder): AmountText =>
  (micros) =>
    formatAmount(micros, currency)
// Errors of automatic movements appear only in the log, where amounts are micros.
const inMicros: AmountText = (micros) => `${micros} micros`

/** The earlier movement with the same reference, if any. */
const findRepeated = async (
  database: Database,
  kind: AccountMovement['kind'],
  { accountId, reference, amountMicros, wallet }: MovementOrder,
  amountText: AmountText,
): Promise<AccountMovement | undefined> => {
  if (reference === undefined) return undefined
  const earlier = await findAccountMovement(database, { accountId, kind, reference })
  if (earlier === undefined) return undefined
  if (earlier.amountMicros === amountMicros && earlier.wallet === wallet) return earlier
  throw new ApiError('conflict', {
    param: 'reference',
    message: `The reference '${reference}' was already used for ${amountText(earlier.amountMicros)} in the wallet '${earlier.wallet}'. Use another reference.`,
  })
}

/** Locks the wallet and makes the movement inside the caller's transaction. */
const move = async (
  database: Database,
  kind: AccountMovement['kind'],
  order: MovementOrder,
  amountText: AmountText,
): Promise<MovementMade> => {
  const { accountId, wallet, amountMicros, actor, reason, reference } = order
  await openWallet(database, accountId, wallet)
  const state = await lockWallet(database, accountId, wallet)
  if (state === undefined) throw new ApiError('resource_not_found')
  const earlier = await findRepeated(database, kind, order, amountText)
  if (earlier !== undefined) return { movement: earlier, balance: state, isRepeat: true }

  const availableMicros = state.availableMicros + amountMicros
  if (availableMicros < 0) {
    throw new ApiError('conflict', {
      message: `The wallet has only ${amountText(state.availableMicros)} available; the adjustment cannot exceed that.`,
    })
  }
  if (!Number.isSafeInteger(availableMicros + state.heldMicros)) {
    throw new ApiError('conflict', {
      param: 'amount_micros',
      message: 'The amount is too large: the balance would exceed the largest exact integer.',
    })
  }
  const createdAt = await readClock(database)
  const id = `mov_${uuidV7(createdAt.getTime())}`
  const movement = await insertAccountMovement(database, {
    ...{ id, accountId, wallet, kind, amountMicros, actor, reason, reference: reference ?? null },
    createdAt,
  })
  const day = createdAt.toISOString().slice(0, 10)
  // The direction of an expiry is fixed, so the ledger takes its amount as a positive number.
  const movedMicros = kind === 'expiry' ? -amountMicros : amountMicros
  await postMovements(database, [{ kind, accountId, wallet, taskId: id, day, amountMicros: movedMicros }])
  return { movement, balance: { ...state, availableMicros }, isRepeat: false }
}

/** Adds paid money. */
export const topUp = (database: Database, order: OperatorOrder): Promise<MovementMade> =>
  move(database, 'top_up', order, inCurrency(order))

/** Adds money or, with a negative amount, removes it, at most the available amount. */
export const adjust = (database: Database, order: OperatorOrder): Promise<MovementMade> =>
  move(database, 'adjustment', order, inCurrency(order))

/** Adds the quota of a subscription cycle. */
export const grant = (database: Database, order: MovementOrder): Promise<MovementMade> =>
  move(database, 'grant', order, inMicros)

/** Removes the available amount of a wallet; undefined if there is none. */
export const expire = async (
  database: Database,
  order: Omit<MovementOrder, 'amountMicros'>,
): Promise<MovementMade | undefined> => {
  const state = await lockWallet(database, order.accountId, order.wallet)
  if (state === undefined || state.availableMicros === 0) return undefined
  return move(database, 'expiry', { ...order, amountMicros: -state.availableMicros }, inMicros)
}
