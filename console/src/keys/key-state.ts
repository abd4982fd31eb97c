/** What a key is in, and how much of its limits is used. */
import type { Key } from './key-access.ts'

const keyStates = ['active', 'expiring', 'disabled', 'expired'] as const
export type KeyState = (typeof keyStates)[number]

const expiringSeconds = 7 * 86_400

export const findState = ({ disabled, expires_at: expiresAt }: Key, now = Date.now() / 1_000): KeyState => {
  if (expiresAt !== null && expiresAt <= now) return 'expired'
  if (disabled) return 'disabled'
  return expiresAt !== null && expiresAt - now < expiringSeconds ? 'expiring' : 'active'
}

export const keyFilters = ['all', 'expiring', 'unused', 'disabled', 'expired'] as const
export type KeyFilter = (typeof keyFilters)[number]

export const isInFilter = (key: Key, filter: KeyFilter): boolean => {
  if (filter === 'all') return true
  if (filter === 'unused') return key.last_used_at === null
  return findState(key) === filter
}

export const isMatch = (key: Key, words: string): boolean =>
  words
    .toLowerCase()
    .split(/\s+/)
    .every((word) =>
      [key.name, key.hint, key.id, key.account_name ?? ''].some((text) => text.toLowerCase().includes(word)),
    )

export type Period = 'hour' | 'day' | 'week' | 'month'

export interface Spending {
  /** `total` for the quota. */
  period: Period | 'total'
  usedMicros: number
  limitMicros: number
  /** Unix time in seconds. */
  resetsAt: number | undefined
}

/** The quota and the budgets of a key. */
export const listSpending = (key: Key): Spending[] => {
  const { quota_micros: quota, used_micros: used, budgets, budget_usage: usage } = key
  const periods = budgets.map(({ period, limit_micros: limitMicros }): Spending => {
    const found = usage.find((each) => each.period === period)
    return { period, limitMicros, usedMicros: found?.used_micros ?? 0, resetsAt: found?.resets_at }
  })
  return quota === null
    ? periods
    : [...periods, { period: 'total', limitMicros: quota, usedMicros: used, resetsAt: undefined }]
}

export const shareOf = ({ usedMicros, limitMicros }: Spending): number =>
  limitMicros === 0 ? 1 : usedMicros / limitMicros

/** The limit that is reached first. */
export const findTightest = (key: Key): Spending | undefined =>
  listSpending(key).toSorted((one, other) => shareOf(other) - shareOf(one))[0]

/** Amber from 90 %, red when requests are refused. */
export const colorOf = (spending: Spending): 'grey' | 'amber' | 'red' => {
  const share = shareOf(spending)
  return share >= 1 ? 'red' : share >= 0.9 ? 'amber' : 'grey'
}
