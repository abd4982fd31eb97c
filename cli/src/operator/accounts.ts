/** `kinora accounts`. */
import type { OwnAccount } from '@kinora/client'
import type { Account } from '@kinora/client/admin'

import { connectEither, connectOperator } from '../connection/connect-operator.ts'
import type { OperatorInput } from '../connection/find-operator.ts'
import { UsageError } from '../frame/usage-error.ts'
import { confirmChange } from '../terminal/ask.ts'
import { formatMoney, formatTime } from '../terminal/format.ts'
import { printFields } from '../terminal/print-fields.ts'
import { printJson } from '../terminal/print.ts'
import { printTable } from '../terminal/text-table.ts'
import { findAccount, findAccountId } from './find-named.ts'
import { omitAbsent, readAmount, readCount, readNullable } from './read-amount.ts'

type CommonInput = OperatorInput & { json: boolean }

interface LimitInput {
  spendCap: string | undefined
  concurrency: string | undefined
  mediaRetention: string | undefined
  taskRetention: string | undefined
  currency: string | undefined
}

const styleOfAccount = ({ status }: Account) => (status === 'active' ? 'green' : 'red')

/** An account without a wallet has had no money yet. */
const describeBalances = ({ balances, currency: ofService }: Account): string =>
  balances.length === 0
    ? formatMoney(0, ofService)
    : balances
        .map(({ wallet, available_micros: micros, currency }) => {
          const name = wallet === 'payg' ? '' : ` (${wallet})`
          return `${formatMoney(micros, currency)}${name}`
        })
        .join(', ')

const describeCap = (micros: number | null, currency: string) =>
  micros === null ? '' : `${formatMoney(micros, currency)} per month`

const showAccount = (account: Account): void => {
  const { currency, subscription } = account
  const numbers = { concurrency: account.concurrency, media: account.media_retention_days }
  printFields([
    ['id', account.id],
    ['name', account.name, 'bold'],
    ['status', account.erased_at === null ? account.status : 'erased', styleOfAccount(account)],
    ['payment', account.payment_state === 'ok' ? '' : account.payment_state, 'red'],
    ['balance', describeBalances(account)],
    ['held', account.balances.map((each) => formatMoney(each.held_micros, each.currency)).join(', ')],
    ['spend cap', describeCap(account.spend_cap_micros, currency)],
    ['tasks at once', numbers.concurrency === null ? '' : String(numbers.concurrency)],
    ['media kept', numbers.media === null ? '' : `${numbers.media} days`],
    ['tasks kept', account.task_retention_days === null ? '' : `${account.task_retention_days} days`],
    [
      'subscription',
      subscription === null
        ? ''
        : `${formatMoney(subscription.cycle_quota_micros, currency)} per cycle, until ${formatTime(subscription.ends_at)}`,
    ],
    ['created', formatTime(account.created_at)],
  ])
}

const showOwnAccount = (account: OwnAccount): void => {
  const { balance, currency } = account
  printFields([
    ['id', account.id],
    ['name', account.name, 'bold'],
    ['balance', formatMoney(balance.available_micros, balance.currency)],
    ['held', formatMoney(balance.held_micros, balance.currency)],
    ['spent this month', formatMoney(account.spent_micros, currency)],
    ['spend cap', describeCap(account.spend_cap_micros, currency)],
    ['cap of the operator', describeCap(account.operator_spend_cap_micros, currency)],
    [
      'alert below',
      account.balance_alert_micros === null ? '' : formatMoney(account.balance_alert_micros, currency),
    ],
  ])
}

export const listAccounts = async (
  input: CommonInput & {
    name: string | undefined
    status: 'active' | 'suspended' | undefined
    limit: number
  },
): Promise<void> => {
  const admin = await connectOperator(input)
  const filter = omitAbsent({ name: input.name, status: input.status })
  const page = await admin.accounts.list({ limit: input.limit, ...filter })
  if (input.json) return printJson(page)
  printTable(page.data, [
    { title: 'id', cell: ({ id }) => id },
    { title: 'name', cell: ({ name }) => name, isFlexible: true },
    { title: 'status', cell: ({ status }) => status, style: styleOfAccount },
    { title: 'balance', cell: describeBalances, isRight: true },
  ])
}

export const getAccount = async (input: CommonInput & { account: string | undefined }): Promise<void> => {
  const client = await connectEither(input)
  if (client.admin === undefined) {
    if (input.account !== undefined) {
      throw new UsageError('The key of a customer shows only their own account. Leave <account> out.')
    }
    const own = await client.kinora.account.get()
    return input.json ? printJson(own) : showOwnAccount(own)
  }
  if (input.account === undefined)
    throw new UsageError('<account> is missing. kinora accounts list shows them.')
  const account = await findAccount(client.admin, input.account)
  return input.json ? printJson(account) : showAccount(account)
}

const readLimits = (input: LimitInput) =>
  omitAbsent({
    spend_cap_micros: readNullable(input.spendCap, (text) => readAmount('--spend-cap', text)),
    concurrency: readNullable(input.concurrency, (text) => readCount('--concurrency', text)),
    media_retention_days: readNullable(input.mediaRetention, (text) => readCount('--media-retention', text)),
    task_retention_days: readNullable(input.taskRetention, (text) => readCount('--task-retention', text)),
    currency: input.currency,
  })

export const createAccount = async (input: CommonInput & LimitInput & { name: string }): Promise<void> => {
  const limits = readLimits(input)
  const admin = await connectOperator(input)
  const account = await admin.accounts.create({ name: input.name, ...limits })
  return input.json ? printJson(account) : showAccount(account)
}

const changesOf = (change: object) => Object.keys(change).filter((name) => name !== 'currency')

const nothingToChange = () => new UsageError('There is nothing to change. Name an option.')

export const updateAccount = async (
  input: CommonInput &
    LimitInput & {
      account: string | undefined
      name: string | undefined
      payment: 'ok' | 'failed' | undefined
      balanceAlert: string | undefined
    },
): Promise<void> => {
  const change = { ...readLimits(input), ...omitAbsent({ name: input.name, payment_state: input.payment }) }
  const alert = readNullable(input.balanceAlert, (text) => readAmount('--balance-alert', text))
  const client = await connectEither(input)
  if (client.admin === undefined) {
    const { spend_cap_micros, currency, ...others } = change
    if (input.account !== undefined || changesOf(others).length > 0) {
      throw new UsageError(
        'The key of a customer changes only --spend-cap and --balance-alert of their own account.',
      )
    }
    const own = omitAbsent({ spend_cap_micros, balance_alert_micros: alert, currency })
    if (changesOf(own).length === 0) throw nothingToChange()
    const account = await client.kinora.account.update(own)
    return input.json ? printJson(account) : showOwnAccount(account)
  }
  if (alert !== undefined) throw new UsageError('Only the customer sets --balance-alert, with their own key.')
  if (input.account === undefined)
    throw new UsageError('<account> is missing. kinora accounts list shows them.')
  if (changesOf(change).length === 0) throw nothingToChange()
  const id = (await findAccountId(client.admin, input.account)) ?? ''
  const account = await client.admin.accounts.update(id, change)
  return input.json ? printJson(account) : showAccount(account)
}

export const suspendAccount = async (
  input: CommonInput & { account: string; yes: boolean },
): Promise<void> => {
  const admin = await connectOperator(input)
  const { id, name } = await findAccount(admin, input.account)
  await confirmChange(`Suspend the account ${name}? Its keys stop to work at once.`, input.yes)
  const account = await admin.accounts.update(id, { status: 'suspended' })
  return input.json ? printJson(account) : showAccount(account)
}

export const resumeAccount = async (input: CommonInput & { account: string }): Promise<void> => {
  const admin = await connectOperator(input)
  const { id } = await findAccount(admin, input.account)
  const account = await admin.accounts.update(id, { status: 'active' })
  return input.json ? printJson(account) : showAccount(account)
}
