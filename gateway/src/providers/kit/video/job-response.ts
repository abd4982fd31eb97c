/** Reads the job in responses of common video protocols, which use different names for the same fields. */
import { type AnswerHeaders, one, retryAfterMs } from '../http/classify.ts'
import { member, numberOf, textOf } from '../json/lenient-json.ts'

/** Returns the object of the job: the response itself, or its `data` if the response has no id. */
export function jobIn(body: unknown): unknown {
  const data = member(body, 'data')
  const wrapped = Array.isArray(data) ? data[0] : data
  // `request_id` and `job_id` of a wrapper do not count as its own id.
  return wrapped === undefined || ownIdOf(body) !== undefined ? body : wrapped
}

function ownIdOf(job: unknown): string | undefined {
  return textOf(member(job, 'id')) ?? textOf(member(job, 'task_id')) ?? textOf(member(job, 'video_id'))
}

export function idOf(job: unknown): string | undefined {
  const id = ownIdOf(job) ?? textOf(member(job, 'job_id')) ?? textOf(member(job, 'request_id'))
  return id === undefined || id.length > 512 || id === '.' || id === '..' ? undefined : id
}

/** Returns the vendor's status in lower case; numbers are ignored. */
export function statusTextIn(job: unknown): string | undefined {
  return [job, member(job, 'data'), member(job, 'detail')]
    .flatMap((layer) => ['status', 'state', 'task_status'].map((name) => textOf(member(layer, name))))
    .find((word) => word !== undefined && /[a-z]/i.test(word))
    ?.toLowerCase()
}

/** Percent, rounded down and at most 99 while running. A non-integer up to 1 is read as a fraction. */
export function progressIn(job: unknown): number | undefined {
  const given = numberOf(member(job, 'progress') ?? member(member(job, 'data'), 'progress'))
  if (given === undefined) return undefined
  const percent = given <= 1 && !Number.isInteger(given) ? given * 100 : given
  return Math.min(Math.max(Math.floor(Number(percent.toFixed(6))), 0), 99)
}

export function pollAfterMs(headers: AnswerHeaders): number | undefined {
  const given = numberOf(one(headers['openai-poll-after-ms']))
  return given === undefined || given < 0 ? retryAfterMs(headers) : given
}
