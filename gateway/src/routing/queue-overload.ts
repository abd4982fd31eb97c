/** Refuses tasks that would wait so long for a slot that they could not finish before their deadline. */
import { ApiError } from '@kinora/contract/errors'

// Client libraries wait up to a minute.
const retryAfterSecondsMax = 60

const inWords = (ms: number): string => {
  const minutes = Math.round(ms / 60_000)
  return minutes > 1 ? `${minutes} minutes` : `${Math.ceil(ms / 1000)} s`
}

/** The refusal of a task with this expected wait; undefined if it may wait. `what` begins the message. */
export const refusalOfWait = (
  waitMs: number | undefined,
  waitMsMax: number,
  what: string,
): ApiError | undefined => {
  if (waitMs === undefined || waitMs <= waitMsMax) return undefined
  const seconds = Math.min(retryAfterSecondsMax, Math.ceil((waitMs - waitMsMax) / 1000))
  return new ApiError('model_overloaded', {
    message: `${what} overloaded: a new task would wait for about ${inWords(waitMs)}, longer than allowed. Try again in ${seconds} s.`,
    headers: { 'retry-after': String(seconds) },
  })
}
