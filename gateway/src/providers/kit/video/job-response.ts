/** Reading of what vendors of the common video protocols say of a job: the names vary, the meaning does not. */
import { type AnswerHeaders, one, retryAfterMs } from '../http/classify.ts'
import { member, numberOf, textOf } from '../json/lenient-json.ts'

/** The object that describes the job: the reply itself, or what it wraps when it has no id of its own. */
export function jobIn(body: unknown): unknown {
  const data = member(body, 'data')
  const wrapped = Array.isArray(data) ? data[0] : data
  // A wrapper may carry the id of the request, which is not the job's where there is another.
  return wrapped === undefined || ownIdOf(body) !== undefined ? body : wrapped
}

function ownIdOf(job: unknown): string | undefined {
  return textOf(member(job, 'id')) ?? textOf(member(job, 'task_id')) ?? textOf(member(job, 'video_id'))
}

export function idOf(job: unknown): string | undefined {
  const id = ownIdOf(job) ?? textOf(member(job, 'job_id')) ?? textOf(member(job, 'request_id'))
  return id === undefined || id.length > 512 || id === '.' || id === '..' ? undefined : id
}

/** The vendor's word for how the job stands, in small letters; a number is not one. */
export function stateWordIn(job: unknown): string | undefined {
  return [job, member(job, 'data'), member(job, 'detail')]
    .flatMap((layer) => ['status', 'state', 'task_status'].map((name) => textOf(member(layer, name))))
    .find((word) => word !== undefined && /[a-z]/i.test(word))
    ?.toLowerCase()
}

/** Percent, rounded down and never whole, because what is running is not done. Only a broken number up to 1 can be a fraction. */
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
