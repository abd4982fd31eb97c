/** The filters of the list. They are in the URL, so that a list can be shared. */
import type { ListVideosParams } from '@kinora/client'
import type { ListTasksParams } from '@kinora/client/admin'

import { formatTime } from '../i18n/format.ts'

export interface TaskSearch {
  view?: string
  status?: string
  model?: string
  q?: string
  since?: string
  until?: string
  key?: string
  account?: string
  provider?: string
  all?: string
}

const filterNames = ['status', 'model', 'key', 'since', 'until', 'q', 'account', 'provider'] as const
export type FilterName = (typeof filterNames)[number]

/** Periods that end now, in seconds. */
export const periods = { '1h': 3_600, '24h': 86_400, '7d': 604_800, '30d': 2_592_000 } as const
type Period = keyof typeof periods

const isPeriod = (value: string | undefined): value is Period =>
  value !== undefined && Object.hasOwn(periods, value)

/** A Unix time in seconds, or a period that ends now. */
const readTime = (value: string | undefined, now: number): number | undefined => {
  if (isPeriod(value)) return Math.floor(now / 1_000) - periods[value]
  return value !== undefined && /^\d{1,12}$/.test(value) ? Number(value) : undefined
}

/** Which filters apply. Those for operators have no effect on the tasks of the own account. */
export const findActiveFilters = (search: TaskSearch, isOperatorView: boolean): FilterName[] =>
  filterNames.filter(
    (name) =>
      search[name] !== undefined &&
      (isOperatorView ? name !== 'q' : name !== 'account' && name !== 'provider'),
  )

/** Without the parameters that have no value. */
const compact = <Params extends object>(params: {
  [Name in keyof Params]?: Params[Name] | undefined
}): Params =>
  Object.fromEntries(
    Object.entries(params).filter(([, value]) => value !== undefined && value !== ''),
  ) as Params

export const buildVideoParams = (search: TaskSearch, now: number): ListVideosParams =>
  compact<ListVideosParams>({
    status: search.status,
    model: search.model,
    key_id: search.key,
    q: search.q,
    created_after: readTime(search.since, now),
    created_before: readTime(search.until, now),
  })

export const buildTaskParams = (search: TaskSearch, now: number): ListTasksParams =>
  compact<ListTasksParams>({
    status: search.status,
    model: search.model,
    key_id: search.key,
    account_id: search.account,
    provider: search.provider,
    from: readTime(search.since, now),
    to: readTime(search.until, now),
  })

/** Whether the text is the id of a task instead of words of a prompt. */
export const isTaskId = (words: string): boolean => /^\S+:\d{6,}-\S{6,}$/.test(words)

/** The value of a filter in words. Ids of keys and accounts are named by the screen. */
export const describeFilter = (
  name: FilterName,
  value: string,
  texts: typeof import('./texts.en.ts').texts,
): string => {
  if (name === 'since') {
    if (isPeriod(value)) return texts.periods[value]
    return texts.since(formatTime(Number(value)))
  }
  return name === 'until' ? texts.until(formatTime(Number(value))) : value
}
