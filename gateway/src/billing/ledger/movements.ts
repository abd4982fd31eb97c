/** Money that comes or goes without a task: what operators add and take back, what a cycle brings, what expires. */
import { ApiError } from '@kinora/contract/errors'

import type { Database } from '../../platform/postgres.ts'
import { uuidV7 } from '../../platform/uuid.ts'
import { formatAmount, type Wallet } from '../money/money.ts'
import { lockWallet, openWallet, postMovements, type WalletState } from './ledger-store.ts'
import { findAccountMovement, insertAccountMovement, type AccountMovement } from './movement-store.ts'

export interface MovementOrder {
  accountId: string
  wallet: Wallet
  amountMicros: number
  actor: string
  reason: string
  /** The same one twice for an account is one movement. */
  reference?: string | undefined
}

/** One that an operator makes, who is told amounts in the currency of the instance. */
export type OperatorOrder = MovementOrder & { currency: string }

export interface MovementMade {
  movement: AccountMovement
  /** The wallet after it. */
  balance: WalletState
  /** It had been made before; no money moved this time. */
  isRepeat: boolean
}

type AmountText = (micros: number) => string
const inCurrency =
  ({ currency }: OperatorOrder): AmountText =>
  (micros) =>
    formatAmount(micros, currency)
// A cycle moves money by itself: what is wrong with it is read in the log, where amounts are micros.
const inMicros: AmountText = (micros) => `${micros} micros`

/** What comes back, where the same movement was made before. */
const madeBefore = async (
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
    message: `'${reference}' stands for another movement: ${amountText(earlier.amountMicros)} in the wallet '${earlier.wallet}'.`,
  })
}

/** Makes a movement inside the caller's transaction, under the lock of the wallet. */
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
  const earlier = await madeBefore(database, kind, order, amountText)
  if (earlier !== undefined) return { movement: earlier, balance: state, isRepeat: true }

  const availableMicros = state.availableMicros + amountMicros
  if (availableMicros < 0) {
    throw new ApiError('conflict', {
      message: `Only ${amountText(state.availableMicros)} is available; no more can be taken back.`,
    })
  }
  if (!Number.isSafeInteger(availableMicros + state.heldMicros)) {
    throw new ApiError('conflict', {
      param: 'amount_micros',
      message: 'The wallet cannot hold that much: its sum could no longer be counted exactly.',
    })
  }
  const nowMs = Date.now()
  const id = `mov_${uuidV7(nowMs)}`
  const movement = await insertAccountMovement(database, {
    ...{ id, accountId, wallet, kind, amountMicros, actor, reason, reference: reference ?? null },
  })
  const day = new Date(nowMs).toISOString().slice(0, 10)
  // An expiry takes away by its nature: in the ledger its amount is what went.
  const movedMicros = kind === 'expiry' ? -amountMicros : amountMicros
  await postMovements(database, [{ kind, accountId, wallet, taskId: id, day, amountMicros: movedMicros }])
  return { movement, balance: { ...state, availableMicros }, isRepeat: false }
}

/** Adds money that was paid. */
export const topUp = (database: Database, order: OperatorOrder): Promise<MovementMade> =>
  move(database, 'top_up', order, inCurrency(order))

/** Adds or, with a negative amount, takes back; never more than is available. */
export const adjust = (database: Database, order: OperatorOrder): Promise<MovementMade> =>
  move(database, 'adjustment', order, inCurrency(order))

/** Adds what a plan or an operator gives. */
export const grant = (database: Database, order: MovementOrder): Promise<MovementMade> =>
  move(database, 'grant', order, inMicros)

/** Takes away everything that is available; nothing where there is nothing. */
export const expire = async (
  database: Database,
  order: Omit<MovementOrder, 'amountMicros'>,
): Promise<MovementMade | undefined> => {
  const state = await lockWallet(database, order.accountId, order.wallet)
  if (state === undefined || state.availableMicros === 0) return undefined
  return move(database, 'expiry', { ...order, amountMicros: -state.availableMicros }, inMicros)
}
