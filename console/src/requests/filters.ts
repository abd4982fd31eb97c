/** The filters of requests and errors. They are in the URL, so that a search can be shared. */
import type { ListRequestErrorsParams, ListRequestsParams } from '@kinora/client/admin'

import { formatTime } from '../i18n/format.ts'
import { readWords } from './read-words.ts'

export interface RequestSearch {
  /** The request that is shown in the sheet. */
  id?: string
  view?: string
  q?: string
  status?: string
  code?: string
  operation?: string
  model?: string
  account?: string
  key?: string
  provider?: string
  since?: string
  until?: string
  /** `all`: not only requests to the API of customers. */
  paths?: string
}

export const filterNames = [
  ...(['q', 'status', 'operation', 'model', 'account', 'key', 'code', 'provider'] as const),
  ...(['since', 'until'] as const),
]
export type FilterName = (typeof filterNames)[number]

/** Those of the errors by cause. */
export const errorFilterNames = filterNames.filter((name) => name !== 'q' && name !== 'status')

/** Periods that end now, in seconds. */
export const periods = { '1h': 3_600, '24h': 86_400, '7d': 604_800, '30d': 2_592_000 } as const
export type Period = keyof typeof periods

export const isPeriod = (value: string | undefined): value is Period =>
  value !== undefined && Object.hasOwn(periods, value)

const readTime = (value: string | undefined, now: number): number | undefined => {
  if (isPeriod(value)) return Math.floor(now / 1_000) - periods[value]
  return value !== undefined && /^\d{1,12}$/.test(value) ? Number(value) : undefined
}

const compact = <Params extends object>(params: {
  [Name in keyof Params]?: Params[Name] | undefined
}): Params => Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined)) as Params

/** Consoles and monitors call every few seconds, so their requests are listed only on demand. */
export const hasAllPaths = ({ paths, operation, q }: RequestSearch): boolean =>
  paths === 'all' || operation !== undefined || q !== undefined

const customerPaths = '/v1/'

const classes = ['2xx', '3xx', '4xx', '5xx'] as const

export const buildRequestParams = (search: RequestSearch, now: number): ListRequestsParams => {
  const words = readWords(search.q ?? '')
  const status = search.status ?? ''
  return compact<ListRequestsParams>({
    status_class: classes.find((each) => each === status),
    status: /^[1-5]\d\d$/.test(status) ? Number(status) : undefined,
    path: words.kind === 'path' ? words.value : hasAllPaths(search) ? undefined : customerPaths,
    address: words.kind === 'address' ? words.value : undefined,
    task_id: words.kind === 'task' ? words.value : undefined,
    operation: search.operation,
    model: search.model,
    account_id: search.account,
    key_id: search.key,
    error_code: search.code,
    provider: search.provider,
    from: readTime(search.since, now),
    to: readTime(search.until, now),
  })
}

export const buildErrorParams = (search: RequestSearch, now: number): ListRequestErrorsParams =>
  compact<ListRequestErrorsParams>({
    operation: search.operation,
    model: search.model,
    account_id: search.account,
    key_id: search.key,
    error_code: search.code,
    provider: search.provider,
    from: readTime(search.since, now),
    to: readTime(search.until, now),
  })

/** The value of a filter in words. */
export const describeFilter = (
  name: FilterName,
  value: string,
  texts: typeof import('./texts.en.ts').texts,
): string => {
  if (name === 'since') return isPeriod(value) ? texts.periods[value] : texts.since(formatTime(Number(value)))
  return name === 'until' ? texts.until(formatTime(Number(value))) : value
}

/** For fields of local times, without a zone. */
export const formatLocal = (seconds: string | undefined): string => {
  if (seconds === undefined || !/^\d{1,12}$/.test(seconds)) return ''
  const date = new Date(Number(seconds) * 1_000)
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16)
}

export const parseLocal = (value: string): string | undefined => {
  const time = Date.parse(value)
  return Number.isNaN(time) ? undefined : String(Math.floor(time / 1_000))
}
