/** `kinora keys`: of all accounts for an operator, of their own account for a customer. */
import type { AccountKey } from '@kinora/client'
import type { CreateKeyParams, Key } from '@kinora/client/admin'

import { connectEither, type EitherClient } from '../connection/connect-operator.ts'
import type { OperatorInput } from '../connection/find-operator.ts'
import { UsageError } from '../frame/usage-error.ts'
import { confirmChange } from '../terminal/ask.ts'
import { formatMoney, formatTime } from '../terminal/format.ts'
import { printFields } from '../terminal/print-fields.ts'
import { print, printJson, tell, type Style } from '../terminal/print.ts'
import { printTable } from '../terminal/text-table.ts'
import { findAccount, findAccountId, findKey, findOwnKey } from './find-named.ts'
import { omitAbsent, readAmount, readBudget, splitList } from './read-amount.ts'

type CommonInput = OperatorInput & { json: boolean }
type OneInput = CommonInput & { key: string; account: string | undefined }
type AnyKey = Key | AccountKey

const daySeconds = 86_400

const nowSeconds = () => Math.floor(Date.now() / 1000)

const describeState = ({ disabled, expires_at: expiresAt }: AnyKey): string => {
  if (disabled) return 'disabled'
  return expiresAt !== null && expiresAt <= nowSeconds() ? 'expired' : 'active'
}

const styleOfKey = (key: AnyKey): Style => (describeState(key) === 'active' ? 'green' : 'red')

const nameAccount = (key: AnyKey): string => {
  if (!('account_name' in key)) return ''
  return key.account_name ?? `operator (${key.role ?? 'admin'})`
}

const showKey = (key: AnyKey): void => {
  const { currency } = key
  printFields([
    ['id', key.id],
    ['name', key.name, 'bold'],
    ['account', nameAccount(key)],
    ['kind', key.kind],
    ['state', describeState(key), styleOfKey(key)],
    ['secret', `ends with ${key.hint}`],
    ['scopes', key.scopes?.join(', ') ?? ''],
    ['models', key.models?.join(', ') ?? ''],
    ['addresses', key.addresses?.join(', ') ?? ''],
    [
      'quota',
      key.quota_micros === null
        ? ''
        : `${formatMoney(key.used_micros, currency)} of ${formatMoney(key.quota_micros, currency)} used`,
    ],
    [
      'budgets',
      key.budgets
        .map(({ period, limit_micros: micros }) => `${formatMoney(micros, currency)} per ${period}`)
        .join(', '),
    ],
    ['requests per minute', key.requests_per_minute === null ? '' : String(key.requests_per_minute)],
    ['tasks at once', key.concurrency === null ? '' : String(key.concurrency)],
    ['expires', key.expires_at === null ? 'never' : formatTime(key.expires_at)],
    [
      'previous secret',
      key.previous_secret_expires_at === null ? '' : `until ${formatTime(key.previous_secret_expires_at)}`,
    ],
    ['last used', key.last_used_at === null ? 'never' : formatTime(key.last_used_at)],
    ['created', formatTime(key.created_at)],
  ])
}

/** The secret is the result, so that it can be piped; what it is, is a message. */
const showSecret = ({ key, secret }: { key: AnyKey; secret: string }): void => {
  print(secret)
  tell(`The secret of the key ${key.id}. Save it now: only its hash is stored, so it cannot be shown again.`)
}

const refuseAccount = (account: string | undefined) => {
  if (account !== undefined) {
    throw new UsageError(
      'The key of a customer manages only the keys of their own account. Leave --account out.',
    )
  }
}

export const listKeys = async (
  input: CommonInput & { account: string | undefined; limit: number },
): Promise<void> => {
  const client = await connectEither(input)
  const { limit } = input
  if (client.admin === undefined) refuseAccount(input.account)
  const page =
    client.admin === undefined
      ? await client.kinora.keys.list({ limit })
      : await client.admin.keys.list({
          limit,
          ...omitAbsent({ account_id: await findAccountId(client.admin, input.account) }),
        })
  if (input.json) return printJson(page)
  printTable<AnyKey>(page.data, [
    { title: 'id', cell: ({ id }) => id },
    { title: 'name', cell: ({ name }) => name, isFlexible: true },
    { title: 'account', cell: nameAccount },
    { title: 'secret', cell: ({ hint }) => hint },
    { title: 'state', cell: describeState, style: styleOfKey },
  ])
}

const findAnyKey = (client: EitherClient, { key, account }: OneInput): Promise<AnyKey> => {
  if (client.admin !== undefined) return findKey(client.admin, key, account)
  refuseAccount(account)
  return findOwnKey(client.kinora, key)
}

export const getKey = async (input: OneInput): Promise<void> => {
  const key = await findAnyKey(await connectEither(input), input)
  return input.json ? printJson(key) : showKey(key)
}

export interface CreateKeyInput extends CommonInput {
  name: string
  account: string | undefined
  kind: 'payg' | 'subscription' | undefined
  scopes: string | undefined
  models: string | undefined
  budget: string[]
  quota: string | undefined
  expires: number | undefined
  requestsPerMinute: number | undefined
  concurrency: number | undefined
  currency: string | undefined
}

const readSettings = (input: CreateKeyInput) => {
  const { currency } = input
  const budgets = input.budget.map((text) => ({ ...readBudget(text), ...omitAbsent({ currency }) }))
  return {
    name: input.name,
    ...omitAbsent({
      // The service refuses unknown scopes, and names the known ones.
      scopes: splitList(input.scopes) as CreateKeyParams['scopes'],
      models: splitList(input.models),
      budgets: budgets.length === 0 ? undefined : budgets,
      quota_micros: input.quota === undefined ? undefined : readAmount('--quota', input.quota),
      expires_at: input.expires === undefined ? undefined : nowSeconds() + input.expires * daySeconds,
      requests_per_minute: input.requestsPerMinute,
      concurrency: input.concurrency,
      currency,
    }),
  }
}

export const createKey = async (input: CreateKeyInput): Promise<void> => {
  const settings = readSettings(input)
  const client = await connectEither(input)
  if (client.admin === undefined) {
    refuseAccount(input.account)
    if (input.kind !== undefined)
      throw new UsageError('A key that a customer creates is of the kind of their own.')
    const created = await client.kinora.keys.create(settings)
    return input.json ? printJson(created) : showSecret(created)
  }
  if (input.account === undefined) {
    throw new UsageError('--account is missing: the account that the key is for.')
  }
  const { id } = await findAccount(client.admin, input.account)
  const created = await client.admin.keys.create(id, { kind: input.kind ?? 'payg', ...settings })
  return input.json ? printJson(created) : showSecret(created)
}

const describeKey = (key: AnyKey): string => {
  const account = nameAccount(key)
  return `the key ${key.name} (${key.hint})${account === '' ? '' : ` of ${account}`}`
}

export const rotateKey = async (input: OneInput & { overlap: number; yes: boolean }): Promise<void> => {
  const client = await connectEither(input)
  const key = await findAnyKey(client, input)
  if (input.overlap === 0) {
    await confirmChange(
      `Give ${describeKey(key)} a new secret? The present one stops to work at once; --overlap keeps it for a while.`,
      input.yes,
    )
  }
  const body = { overlap_seconds: input.overlap }
  const rotated = await (client.admin === undefined
    ? client.kinora.keys.rotate(key.id, body)
    : client.admin.keys.rotate(key.id, body))
  return input.json ? printJson(rotated) : showSecret(rotated)
}

export const revokeKey = async (input: OneInput & { yes: boolean }): Promise<void> => {
  const client = await connectEither(input)
  const key = await findAnyKey(client, input)
  await confirmChange(
    `Revoke ${describeKey(key)}? It is deleted, and requests with it are rejected at once.`,
    input.yes,
  )
  const revoked = await (client.admin === undefined
    ? client.kinora.keys.delete(key.id)
    : client.admin.keys.delete(key.id))
  return input.json ? printJson(revoked) : print(`Revoked ${revoked.id}.`)
}
