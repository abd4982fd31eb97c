/** The settings of a key as text fields, and the request that they make. */
import { keyFields } from '../generated/key-and-webhook-fields.ts'
import type { Role, Scope } from '../session/session.ts'
import type { Key, KeySettings } from './key-access.ts'
import type { Period } from './key-state.ts'

export const periods = keyFields.budgets.items.period.values satisfies readonly Period[]
export const groups = Object.keys(keyFields.limits) as (keyof typeof keyFields.limits)[]
type Group = (typeof groups)[number]
export const scopes = keyFields.scopes.items.values
export const dialects = keyFields.dialect.values

export const expiryDays = ['7', '30', '90', '365'] as const
/** `keep` leaves the time that the key has. */
export type Expiry = 'never' | 'keep' | 'date' | (typeof expiryDays)[number]

export interface KeyForm {
  name: string
  kind: Key['kind']
  accountId: string
  role: Role
  scopes: Scope[]
  models: string[] | null
  /** One per line. */
  addresses: string
  expiry: Expiry
  /** A local time, such as `2026-11-19T10:00`. */
  expiresAt: string
  quota: string
  budgets: Record<Period, string>
  requestsPerMinute: string
  limits: Record<Group, string>
  concurrency: string
  dialect: (typeof dialects)[number]
}

type Numbers = { minimum: number; maximum: number }

export type Problem =
  | { kind: 'amount' }
  | ({ kind: 'integer' } & Numbers)
  | { kind: 'address'; address: string }
  | { kind: 'time' }
  | { kind: 'empty' }

export type Problems = Record<string, Problem>

const blank = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, ''])) as Record<Name, string>

const amountText = (micros: number | null | undefined): string =>
  micros === null || micros === undefined ? '' : (micros / 1_000_000).toFixed(micros % 10_000 === 0 ? 2 : 6)

const numberText = (value: number | null | undefined): string =>
  value === null || value === undefined ? '' : String(value)

const localTime = (seconds: number): string => {
  const date = new Date(seconds * 1_000)
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16)
}

export const emptyForm = (accountId: string, kind: Key['kind']): KeyForm => ({
  ...{ name: '', kind, accountId, role: 'read', scopes: ['create', 'read'], models: null, addresses: '' },
  ...{ expiry: kind === 'admin' ? '90' : 'never', expiresAt: localTime(Date.now() / 1_000 + 90 * 86_400) },
  ...{ quota: '', budgets: blank(periods), requestsPerMinute: '', limits: blank(groups), concurrency: '' },
  dialect: 'reference',
})

export const fillForm = (key: Key): KeyForm => ({
  ...emptyForm(key.account_id ?? '', key.kind),
  name: key.name,
  role: key.role ?? 'read',
  scopes: key.scopes ?? [],
  models: key.models,
  addresses: key.addresses?.join('\n') ?? '',
  expiry: key.expires_at === null ? 'never' : 'keep',
  ...(key.expires_at !== null && { expiresAt: localTime(key.expires_at) }),
  quota: amountText(key.quota_micros),
  budgets: {
    ...blank(periods),
    ...Object.fromEntries(key.budgets.map((each) => [each.period, amountText(each.limit_micros)])),
  },
  requestsPerMinute: numberText(key.requests_per_minute),
  limits: {
    ...blank(groups),
    ...Object.fromEntries(groups.map((group) => [group, numberText(key.limits[group])])),
  },
  concurrency: numberText(key.concurrency),
  dialect: key.dialect,
})

const readAmount = (text: string): number | undefined => {
  const [, whole = '', part = ''] =
    /^(\d{1,9})(?:[.,](\d{1,6}))?$/.exec(text.trim().replaceAll(' ', '')) ?? []
  return whole === '' ? undefined : Number(whole) * 1_000_000 + Number(part.padEnd(6, '0'))
}

const isPart = (text: string | undefined, maximum: number) =>
  text !== undefined && /^\d{1,3}$/.test(text) && Number(text) <= maximum

/** The service decides in the end; this finds typing errors. */
const isAddressRange = (text: string): boolean => {
  const [address = '', bits, more] = text.split('/')
  if (more !== undefined) return false
  if (address.includes(':')) {
    const isWritten = /^[0-9a-f:.]+$/i.test(address) && !address.includes(':::')
    const parts = address.split(':').length
    return isWritten && parts >= 3 && parts <= 9 && (bits === undefined || isPart(bits, 128))
  }
  const bytes = address.split('.')
  return (
    bytes.length === 4 && bytes.every((byte) => isPart(byte, 255)) && (bits === undefined || isPart(bits, 32))
  )
}

export const listAddresses = (text: string): string[] =>
  text.split(/[\s,;]+/).filter((address) => address !== '')

/** The settings that the form has, and what is wrong with it, by the name of the setting in the API. */
export const readForm = (
  form: KeyForm,
  present: Key | null,
): { settings: KeySettings; problems: Problems } => {
  const problems: Problems = {}
  const integer = (name: string, text: string, { minimum, maximum }: Numbers): number | null => {
    if (text.trim() === '') return null
    const value = Number(text)
    if (!Number.isInteger(value) || value < minimum || value > maximum)
      problems[name] = { kind: 'integer', minimum, maximum }
    return value
  }
  const amount = (name: string, text: string): number | null => {
    if (text.trim() === '') return null
    const micros = readAmount(text)
    if (micros === undefined) problems[name] = { kind: 'amount' }
    return micros ?? 0
  }
  const readExpiry = (): number | null => {
    if (form.expiry === 'never') return null
    if (form.expiry === 'keep') return present?.expires_at ?? null
    if (form.expiry !== 'date') return Math.floor(Date.now() / 1_000) + Number(form.expiry) * 86_400
    const at = Math.floor(new Date(form.expiresAt).getTime() / 1_000)
    if (!(at > Date.now() / 1_000)) problems['expires_at'] = { kind: 'time' }
    return at
  }
  if (form.name.trim() === '') problems['name'] = { kind: 'empty' }
  const addresses = listAddresses(form.addresses)
  const wrong = addresses.find((address) => !isAddressRange(address))
  if (wrong !== undefined) problems['addresses'] = { kind: 'address', address: wrong }
  if (form.kind === 'admin') {
    const settings = {
      ...{ name: form.name.trim(), expires_at: readExpiry() },
      addresses: addresses.length === 0 ? null : addresses,
    }
    return { settings, problems }
  }
  if (form.accountId === '') problems['account'] = { kind: 'empty' }
  if (form.scopes.length === 0) problems['scopes'] = { kind: 'empty' }
  if (form.models?.length === 0) problems['models'] = { kind: 'empty' }
  const settings: KeySettings = {
    name: form.name.trim(),
    scopes: form.scopes,
    models: form.models,
    addresses: addresses.length === 0 ? null : addresses,
    expires_at: readExpiry(),
    quota_micros: amount('quota_micros', form.quota),
    budgets: periods.flatMap((period) => {
      const micros = amount(`budgets.${period}`, form.budgets[period])
      return micros === null ? [] : [{ period, limit_micros: micros }]
    }),
    requests_per_minute: integer(
      'requests_per_minute',
      form.requestsPerMinute,
      keyFields.requests_per_minute,
    ),
    limits: Object.fromEntries(
      groups.flatMap((group) => {
        const limit = integer(`limits.${group}`, form.limits[group], keyFields.limits[group])
        return limit === null ? [] : [[group, limit]]
      }),
    ),
    concurrency: integer('concurrency', form.concurrency, keyFields.concurrency),
    dialect: form.dialect,
  }
  return { settings, problems }
}

const comparable = (value: unknown): string =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')
    ? JSON.stringify(value.toSorted())
    : JSON.stringify(value)

/** The settings that differ. A quota that is set again counts from zero, so what did not change is not sent. */
export const findChanges = (settings: KeySettings, present: KeySettings): KeySettings =>
  Object.fromEntries(
    Object.entries(settings).filter(
      ([name, value]) => comparable(value) !== comparable(present[name as keyof KeySettings]),
    ),
  )

/** The settings of a key in the form of a request. */
export const settingsOf = (key: Key): KeySettings => readForm(fillForm(key), key).settings
