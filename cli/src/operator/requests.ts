/** `kinora requests` and `kinora logs`: the request log. */
import { isKinoraError } from '@kinora/client'
import type { KinoraAdmin, LoggedRequest } from '@kinora/client/admin'

import { connectOperator } from '../connection/connect-operator.ts'
import type { OperatorInput } from '../connection/find-operator.ts'
import { UsageError } from '../frame/usage-error.ts'
import { formatTime } from '../terminal/format.ts'
import { printFields } from '../terminal/print-fields.ts'
import { cleanText, print, printJson, style, tell, type Style } from '../terminal/print.ts'
import { findAccountId } from './find-named.ts'
import { createLogReader } from './follow-log.ts'
import { omitAbsent } from './read-amount.ts'

type CommonInput = OperatorInput & { json: boolean }

const styleOfStatus = ({ status }: LoggedRequest): Style => {
  if (status >= 500) return 'red'
  return status >= 400 ? 'yellow' : 'green'
}

export const getRequest = async (input: CommonInput & { id: string }): Promise<void> => {
  const admin = await connectOperator(input)
  const request = await admin.requests.get(input.id)
  if (input.json) return printJson(request)
  printFields([
    ['id', request.id],
    ['time', formatTime(request.at)],
    ['request', `${request.method} ${request.path} (${request.operation})`],
    ['status', [request.status, request.error_code ?? ''].join(' ').trim(), styleOfStatus(request)],
    ['duration', `${request.duration_ms} ms`],
    ['account', request.account_name ?? request.account_id ?? ''],
    ['key', request.key_name ?? request.key_id ?? ''],
    ['model', request.model ?? ''],
    ['provider', request.provider ?? ''],
    ['task', request.task_id ?? ''],
    ['address', request.address],
    ['client', request.user_agent ?? ''],
  ])
  if (request.task_id !== null || request.status >= 400) {
    tell(`What happened, and what to do: kinora tasks why ${cleanText(request.task_id ?? request.id)}`)
  }
}

/** Whether a request has the status of the option: `404`, or `4xx` for a class. */
export const readStatusFilter = (
  text: string | undefined,
): { status?: number; matches: (status: number) => boolean } => {
  if (text === undefined) return { matches: () => true }
  if (/^[1-5]\d\d$/.test(text)) return { status: Number(text), matches: (status) => status === Number(text) }
  const [, first] = /^([1-5])xx$/i.exec(text) ?? []
  if (first === undefined) {
    throw new UsageError(`--status must be a status such as 404, or a class such as 4xx, got "${text}".`)
  }
  return { matches: (status) => Math.floor(status / 100) === Number(first) }
}

const describeTime = (unixSeconds: number) => new Date(unixSeconds * 1000).toTimeString().slice(0, 8)

const showRequest = (request: LoggedRequest, json: boolean): void => {
  if (json) return printJson(request)
  const detail = [request.error_code, request.model, request.task_id].filter((each) => each !== null)
  print(
    [
      describeTime(request.at),
      style(styleOfStatus(request), String(request.status)),
      `${String(request.duration_ms).padStart(5)} ms`,
      cleanText(`${request.method} ${request.path}`),
      style('bold', cleanText(request.account_name ?? '–')),
      ...(detail.length === 0 ? [] : [cleanText(detail.join(' '))]),
      style('dim', cleanText(request.id)),
    ].join('  '),
  )
}

const pollEveryMs = 1_000
const pollEveryMsMax = 15_000

const waitFor = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })

/** A service that restarts is waited for. */
const isTransient = (error: unknown) =>
  isKinoraError(error) && (error.status === undefined || error.status === 429 || error.status >= 500)

const follow = async (
  read: ReturnType<typeof createLogReader>,
  show: (request: LoggedRequest) => void,
  signal: AbortSignal,
): Promise<void> => {
  let waitMs = pollEveryMs
  while (!signal.aborted) {
    try {
      for (const request of await read(signal)) show(request)
      waitMs = pollEveryMs
    } catch (error) {
      if (signal.aborted) return
      if (!isTransient(error)) throw error
      if (waitMs === pollEveryMs) tell('The service does not respond; trying again.')
      waitMs = Math.min(waitMs * 2, pollEveryMsMax)
    }
    await waitFor(waitMs, signal)
  }
}

/** How many requests are read for those that match. */
const scannedMax = 5_000

const findNewest = async (
  admin: KinoraAdmin,
  filter: object,
  matches: (request: LoggedRequest) => boolean,
  count: number,
): Promise<LoggedRequest[]> => {
  const found: LoggedRequest[] = []
  let scanned = 0
  for await (const request of admin.requests.list({ ...filter, limit: 200 })) {
    if (matches(request)) found.push(request)
    scanned += 1
    if (found.length === count) break
    if (scanned === scannedMax) {
      tell(`Only the newest ${scannedMax} requests were searched.`)
      break
    }
  }
  return found.toReversed()
}

export const showLogs = async (
  input: CommonInput & {
    follow: boolean
    status: string | undefined
    account: string | undefined
    path: string | undefined
    error: string | undefined
    model: string | undefined
    limit: number
  },
): Promise<void> => {
  const { status, matches: hasStatus } = readStatusFilter(input.status)
  const admin = await connectOperator(input)
  const accountId = await findAccountId(admin, input.account)
  const filter = omitAbsent({ status, account_id: accountId, error_code: input.error, model: input.model })
  const matches = (request: LoggedRequest) =>
    hasStatus(request.status) &&
    // Following the log would otherwise show itself.
    request.operation !== 'listRequests' &&
    (input.path === undefined || request.path.startsWith(input.path))
  if (!input.follow) {
    const newest = await findNewest(admin, filter, matches, input.limit)
    for (const request of newest) showRequest(request, input.json)
    return
  }
  const read = createLogReader((params, signal) => admin.requests.list({ ...filter, ...params }, { signal }))
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  const recent = (await read(stop.signal)).filter(matches)
  for (const request of recent.slice(-input.limit)) showRequest(request, input.json)
  const show = (request: LoggedRequest) => {
    if (matches(request)) showRequest(request, input.json)
  }
  await follow(read, show, stop.signal)
}
