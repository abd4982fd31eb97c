/** Refuses tasks that would wait so long for a slot that they could not finish before their deadline. */
import { ApiError } from '@kinora/contract/errors'

import { rejection } from '../platform/metrics/rejections.ts'
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
  return rejection(
    'queue_wait',
    new ApiError('model_overloaded', {
      message: `${what} overloaded: a new task would wait for about ${inWords(waitMs)}, longer than allowed. Try again in ${seconds} s.`,
      headers: { 'retry-after': String(seconds) },
    }),
  )
}

/** The refusal of work that no provider may do today. Operators may raise a budget at any time. */
export const refusalOfStop = (model: string): ApiError =>
  new ApiError('model_overloaded', {
    message: `'${model}' has no capacity left at the moment. Try again in ${retryAfterSecondsMax} s.`,
    headers: { 'retry-after': String(retryAfterSecondsMax) },
  })
