/** What `kinora dev` shows of the structured logs. Other events below a warning are not shown. */
import { errors } from '@kinora/contract/errors'
import { printable } from '@kinora/gateway/readable-log'

import { formatMoney, formatSeconds } from '../../terminal/format.ts'
import type { LimitedLine, LineRate } from './limit-lines.ts'

export type Tone = 'good' | 'bad' | 'warning' | 'quiet'

export interface EventLine extends LimitedLine {
  tone: Tone
  /** What a count of such lines is called: `vidB-2 completed`. */
  name: string
  text: string
  /** Shown as far as they fit. */
  more: string[]
  /** What to do. */
  hint?: string
}

type LogFields = Record<string, unknown>

export interface LineContext {
  currency: string
  /** The command's own requests have this client request id, and are shown only if they fail. */
  ownRequestId: string
  /** For hints: where the logs of the roles are. */
  logDirectory: string
}

type Show = (fields: LogFields, context: LineContext) => EventLine | undefined

const warningLevel = 40

const ends: LineRate = { burst: 5, windowMs: 1_000 }
const reads: LineRate = { burst: 1, windowMs: 10_000 }
const problems: LineRate = { burst: 2, windowMs: 30_000 }

/** Ids and names may come from callers and from configuration. */
const textOf = (fields: LogFields, name: string): string | undefined => {
  const value = fields[name]
  return typeof value === 'string' && value !== '' ? printable(value) : undefined
}
const numberOf = (fields: LogFields, name: string): number | undefined => {
  const value = fields[name]
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

const hintOf = (code: string | undefined): string | undefined =>
  code === undefined ? undefined : (errors as Record<string, { hint: string } | undefined>)[code]?.hint

const present = (parts: (string | undefined)[]): string[] => parts.filter((part) => part !== undefined)

const line = (
  tone: Tone,
  rate: LineRate,
  { name, text = name, more = [], hint }: { name: string; text?: string; more?: string[]; hint?: string },
): EventLine => ({
  ...{ key: `${tone} ${name}`, tone, rate, name, text, more },
  ...(hint !== undefined && { hint }),
})

const showEnd =
  (kind: string, ending: 'completed' | 'failed'): Show =>
  (fields, { currency }) => {
    const what = textOf(fields, 'model') ?? kind
    const taskId = textOf(fields, 'taskId')
    const seconds = numberOf(fields, 'seconds')
    const after =
      seconds === undefined ? '' : ` ${ending === 'failed' ? 'after' : 'in'} ${formatSeconds(seconds)}`
    if (ending === 'completed') {
      const micros = numberOf(fields, 'chargedMicros')
      const price = micros === undefined ? '' : `, ${formatMoney(micros, currency)}`
      const name = `${what} completed`
      return line('good', ends, { name, text: `${name}${after}${price}`, more: present([taskId]) })
    }
    const code = textOf(fields, 'code')
    if (code === 'task_cancelled')
      return line('quiet', ends, { name: `${what} cancelled`, more: present([taskId]) })
    const name = `${what} failed${code === undefined ? '' : `: ${code}`}`
    const hint = taskId === undefined ? hintOf(code) : `kinora tasks why ${taskId}`
    return line('bad', ends, { name, text: `${name}${after}`, ...(hint !== undefined && { hint }) })
  }

const toneOf = (status: number): Tone => {
  if (status >= 500) return 'bad'
  return status >= 400 ? 'warning' : 'quiet'
}

const showRequest: Show = (fields, { ownRequestId }) => {
  const status = numberOf(fields, 'status') ?? 0
  const tone = toneOf(status)
  if (tone === 'quiet' && fields['clientRequestId'] === ownRequestId) return undefined
  const method = textOf(fields, 'method') ?? ''
  const code = textOf(fields, 'code')
  const request = `${method} ${textOf(fields, 'path') ?? ''}`
  const name = `${request} ${status}${code === undefined ? '' : ` ${code}`}`
  const ms = numberOf(fields, 'ms')
  const hint = tone === 'quiet' ? undefined : hintOf(code)
  return line(tone, tone === 'quiet' && method === 'GET' ? reads : ends, {
    name,
    more: present([
      textOf(fields, 'model'),
      ms === undefined ? undefined : `${Math.round(ms)} ms`,
      textOf(fields, 'taskId'),
    ]),
    ...(hint !== undefined && { hint }),
  })
}

/** A warning or an error whose own text says what is wrong and what to do. */
const showField =
  (field: string): Show =>
  (fields) =>
    line(toneOfLevel(fields), problems, { name: textOf(fields, field) ?? String(fields['msg']) })

const toneOfLevel = (fields: LogFields): Tone =>
  (numberOf(fields, 'level') ?? 0) > warningLevel ? 'bad' : 'warning'

const showProblem =
  (
    text: (name: (field: string) => string) => string,
    hint: (context: LineContext, fields: LogFields) => string,
  ): Show =>
  (fields, context) =>
    line(toneOfLevel(fields), problems, {
      name: text((field) => textOf(fields, field) ?? '?'),
      hint: hint(context, fields),
    })

const seeLog =
  (file: string) =>
  ({ logDirectory }: LineContext): string =>
    `See ${logDirectory}/${file}.log.`

const databaseDown = showProblem(() => 'PostgreSQL does not respond.', seeLog('postgres'))

const hidden: Show = () => undefined

export const eventLines: Record<string, Show> = {
  'request.completed': showRequest,
  'video.completed': showEnd('video', 'completed'),
  'video.failed': showEnd('video', 'failed'),
  'transcription.completed': showEnd('transcription', 'completed'),
  'transcription.failed': showEnd('transcription', 'failed'),

  'config.warning': showField('warning'),
  'models.not-offered': showField('warning'),
  'sandbox.unavailable': showField('problem'),
  'local.sandbox_unavailable': showField('problem'),
  'provider-config.invalid': showProblem(
    (field) => `Invalid configuration in ${field('source')}: ${field('problem')}`,
    () => 'The last valid configuration stays in use. Correct the file; it is read again by itself.',
  ),
  'provider.credential-refused': showProblem(
    (field) => `${field('provider')} refuses its API key.`,
    (_context, fields) => textOf(fields, 'remedy') ?? 'Set another one.',
  ),
  'route.unhealthy': showProblem(
    (field) => `${field('model')} does not work at ${field('provider')}: ${field('reason')}.`,
    () => 'Requests go to other providers of the model until it works again.',
  ),
  'route.recovered': (fields) =>
    line('good', problems, {
      name: `${textOf(fields, 'model')} works again at ${textOf(fields, 'provider')}.`,
    }),
  'provider-budget.spent': showProblem(
    (field) => `The budget of ${field('provider')} for today is spent.`,
    () => 'Raise it with the admin API, or wait until tomorrow.',
  ),
  'webhook.endpoint-disabled': showProblem(
    (field) => `The webhook endpoint ${field('endpointId')} was disabled after failed deliveries.`,
    () => 'Correct the receiver, then enable the endpoint.',
  ),
  'request.failed': showProblem(() => 'A request failed with an internal error.', seeLog('api')),
  'process.crashed': showProblem(
    () => 'A process crashed, and is started again.',
    (context, fields) => seeLog(textOf(fields, 'role') ?? 'api')(context),
  ),
  'engine.unreachable': showProblem(() => 'Restate does not respond. Tasks wait.', seeLog('restate')),
  'postgres.connection-lost': databaseDown,
  'postgres.no-response': databaseDown,
  'postgres.stalled': databaseDown,
  // The failure of the task follows.
  'local.render_failed': hidden,
  // Already in order again.
  'engine.repaired': hidden,
}

/** A warning or an error that the table does not have. */
const showUnknown: Show = (fields, context) => {
  const role = textOf(fields, 'role') ?? 'api'
  const { code, type } = (fields['err'] ?? {}) as { code?: unknown; type?: unknown }
  const reasons = [type, code].filter((each) => typeof each === 'string').map((each) => printable(each))
  return line(toneOfLevel(fields), problems, {
    name: `${role}: ${textOf(fields, 'msg') ?? 'error'}`,
    more: reasons.length === 0 ? [] : [`(${reasons.join(' ')})`],
    hint: seeLog(role)(context),
  })
}

/** The line for a line of a log, or undefined if it is not shown. */
export const toEventLine = (json: string, context: LineContext): EventLine | undefined => {
  if (!json.startsWith('{')) return undefined
  let fields: LogFields
  try {
    fields = JSON.parse(json) as LogFields
  } catch {
    return undefined
  }
  const event = fields['msg']
  if (typeof event !== 'string') return undefined
  const show = Object.hasOwn(eventLines, event) ? eventLines[event] : undefined
  if (show !== undefined) return show(fields, context)
  return (numberOf(fields, 'level') ?? 0) >= warningLevel ? showUnknown(fields, context) : undefined
}
