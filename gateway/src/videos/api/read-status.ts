/**
 * Shared by all endpoints that return a task's status: the signed link, the ETag, the hints for the next poll, and the
 * optional wait for the end or for a change.
 */
import { hash } from 'node:crypto'

import type { Call, NotModified, Reply } from '../../http/call.ts'
import type { Catalog } from '../../models/catalog.ts'
import { isKnownTag } from '../../platform/entity-tag.ts'
import type { LinkSigner } from '../../storage/signed-link.ts'
import { isFinal } from '../../tasks/task.ts'
import { pollAfterMs } from '../polling/poll-schedule.ts'
import type { Estimate, EstimateTask } from '../queue/estimate-task.ts'
import type { VideoTask } from '../task.ts'
import { dialectOf, videoUrlOf, type Dialect } from './present-video.ts'
import type { ReadTask } from './read-task.ts'
import type { WaitForTask, WaitUntil } from './wait-for-task.ts'

export interface StatusDependencies {
  readTask: ReadTask
  waitForTask: WaitForTask
  links: LinkSigner
  catalog: Catalog
  estimateTask: EstimateTask
}

const waitSecondsMax = 60
// The poll helper of the client has a request timeout of its own, which the wait must not exceed.
const pollHelperSecondsMax = 10

/** One preference of a `Prefer` header (RFC 7240): the first with this name, without quotes and parameters. */
const preferenceOf = (prefer: string | undefined, name: string, value: RegExp): string | undefined =>
  prefer === undefined
    ? undefined
    : new RegExp(`(?:^|[,;])\\s*${name}\\s*=\\s*"?(${value.source})"?\\s*(?:[,;]|$)`, 'i').exec(prefer)?.[1]

export interface Wait {
  seconds: number
  until: WaitUntil
  /** For the response header `Preference-Applied`; undefined if no preference took effect. */
  applied: string | undefined
}

/** How long and for what the client wants to wait. A preference is capped here; a query parameter is validated before. */
export const waitOf = ({ header, query }: Pick<Call, 'header' | 'query'>): Wait => {
  const prefer = header('prefer')
  const preferredSeconds = query['wait'] === undefined ? preferenceOf(prefer, 'wait', /\d{1,9}/) : undefined
  const preferredUntil =
    query['until'] === undefined ? preferenceOf(prefer, 'until', /change|final/) : undefined
  const allowed = header('x-stainless-poll-helper') === 'true' ? pollHelperSecondsMax : waitSecondsMax
  const seconds = Math.min(allowed, Number(query['wait'] ?? preferredSeconds ?? 0))
  const until = (query['until'] ?? preferredUntil?.toLowerCase()) === 'change' ? 'change' : 'final'
  const applied = [
    ...(preferredSeconds === undefined ? [] : [`wait=${seconds}`]),
    ...(preferredUntil === undefined || seconds === 0 ? [] : [`until=${until}`]),
  ]
  return { seconds, until, applied: applied.length === 0 ? undefined : applied.join(', ') }
}

/** `openai-poll-after-ms` is what the client libraries of OpenAI follow. */
export const hintHeaders = (
  task: VideoTask,
  catalog: Catalog,
  { timeLeftSeconds }: Estimate,
): Record<string, string> => {
  if (isFinal(task.state)) return {}
  const elapsedMs = Date.now() - task.createdAt.getTime()
  const usualSeconds = catalog.usualSeconds(task.model)
  const afterMs = pollAfterMs(elapsedMs, task.progress, usualSeconds, timeLeftSeconds)
  return {
    'x-poll-after': String(afterMs / 1000),
    'openai-poll-after-ms': String(afterMs),
    'retry-after': String(Math.ceil(afterMs / 1000)),
    'retry-after-ms': String(afterMs),
  }
}

/** Estimates are in headers, because the reference defines the bodies. */
const estimateHeaders = ({ queuePosition, timeLeftSeconds }: Estimate): Record<string, string> => ({
  ...(queuePosition !== undefined && { 'x-queue-position': `${queuePosition.min}-${queuePosition.max}` }),
  ...(timeLeftSeconds !== undefined && { 'x-time-left': `${timeLeftSeconds.min}-${timeLeftSeconds.max}` }),
})

/** The tags of tasks that are read repeatedly. */
const lastTags = new WeakMap<VideoTask, { variant: string; etag: string }>()

const etagFor = (task: VideoTask, linkPeriod: number | '', dialect: Dialect): string => {
  const variant = `${linkPeriod} ${dialect}`
  const last = lastTags.get(task)
  if (last?.variant === variant) return last.etag
  const { state, progress, statusUpdatedAt, enhancedPrompt } = task
  const shown = [state, progress, statusUpdatedAt.getTime(), enhancedPrompt, linkPeriod, dialect]
  const etag = `W/"${hash('sha256', shown.join('\n'), 'base64url').slice(0, 22)}"`
  lastTags.set(task, { variant, etag })
  return etag
}

/** Reads the task, waits if requested, and responds with its representation by `present`. */
export const readStatus = async <Body>(
  { readTask, waitForTask, links, catalog, estimateTask }: StatusDependencies,
  call: Call,
  id: string,
  present: (task: VideoTask, videoUrl: string | null, dialect: Dialect, estimate: Estimate) => Body,
): Promise<Reply<Body> | NotModified> => {
  const dialect = dialectOf(call)
  const known = call.header('if-none-match')
  // Each response has a newly signed link. The ETag changes with the period, before the link of an earlier response expires.
  const etagOf = (task: VideoTask) => etagFor(task, task.mediaId === null ? '' : links.period(), dialect)
  const { seconds, until, applied } = waitOf(call)
  const isOther = (task: VideoTask) => known !== undefined && !isKnownTag(known, etagOf(task))
  let task = await readTask(id, call.caller.accountId, {
    isFresh: seconds > 0,
    // Another process may have told the client a newer state than the one cached here.
    ...(known !== undefined && { accepts: (cached) => !isOther(cached) }),
  })
  // If the client's ETag is out of date, the task has changed already.
  const hasChanged = until === 'change' && isOther(task)
  if (seconds > 0 && !hasChanged) task = await waitForTask(task, until, seconds * 1000, call.waitSignal())

  const etag = etagOf(task)
  const estimate = await estimateTask(task)
  const headers = {
    etag,
    vary: 'Accept, Prefer, X-API-Dialect',
    ...(applied !== undefined && { 'preference-applied': applied }),
    'cache-control': 'private, no-cache',
    ...hintHeaders(task, catalog, estimate),
    ...estimateHeaders(estimate),
    ...(task.mediaExpiresAt !== null && { 'x-media-expires-at': task.mediaExpiresAt.toISOString() }),
  }
  if (isKnownTag(known, etag)) return { status: 304, headers, body: undefined }
  return { headers, body: present(task, videoUrlOf(links, task.mediaId), dialect, estimate) }
}
