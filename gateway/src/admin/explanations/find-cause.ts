import type { TaskCause } from '@kinora/contract/operations/admin/task-explanations'

import { heartbeatSecondsMax } from '../../platform/engine/supervise-engine.ts'
import type { ExplainedAttempt, ExplainedTask } from './explained-task.ts'

/** A run starts within milliseconds, and the engine is compared with the tasks every ten seconds. */
const startMsMax = 30_000
/** A result is downloaded, checked and stored within seconds; a large one from a slow host takes longer. */
const storeMsMax = 60_000
/** Tasks end at their deadline, and those whose result came just before it soon afterwards. */
const endMsMax = 180_000

const causeOfAttempt: Partial<Record<ExplainedAttempt['outcome'], TaskCause>> = {
  unauthorized: 'credential_refused',
  busy: 'provider_busy',
  not_delivered: 'provider_unreachable',
  unknown: 'provider_failed',
  rejected: 'provider_failed',
  moderated: 'moderated',
}

export const lastAttemptOf = ({ attempts }: ExplainedTask): ExplainedAttempt | undefined =>
  attempts.findLast(({ isDuplicate }) => !isDuplicate)

/** Why no provider took the task; undefined if nothing is known against any. */
const findObstacle = (task: ExplainedTask): TaskCause | undefined => {
  const { health, isStopped } = task.work
  if (isStopped) return 'budget_spent'
  if (health !== undefined) return health.isUnauthorized ? 'credential_refused' : 'breaker_open'
  const last = lastAttemptOf(task)
  return last === undefined ? undefined : causeOfAttempt[last.outcome]
}

export const isWithoutWorkers = ({ heartbeatSeconds = Infinity }: ExplainedTask): boolean =>
  heartbeatSeconds > heartbeatSecondsMax

const isLost = ({ work: { stage }, runAgeMs = 0 }: ExplainedTask): boolean =>
  stage === 'starting' && runAgeMs > startMsMax

const isPastDeadline = ({ work: { deadlineAt }, nowMs }: ExplainedTask): boolean =>
  deadlineAt !== undefined && nowMs - deadlineAt.getTime() > endMsMax

const isStoredLate = ({ work: { outcome, outcomeAt }, nowMs }: ExplainedTask): boolean =>
  outcome === 'done' && outcomeAt !== undefined && nowMs - outcomeAt.getTime() > storeMsMax

const causeOfOpen = (task: ExplainedTask): TaskCause => {
  const { work } = task
  if (work.isOutcomeUnknown && work.stage !== 'submitting') return 'unknown_outcome'
  if (isWithoutWorkers(task) || isLost(task) || isPastDeadline(task)) return 'engine_lost'
  if (isStoredLate(task) || (work.outcome === 'done' && work.failedDownloads > 0)) return 'download_failed'
  if (work.stage !== 'accepted') return 'running'
  return findObstacle(task) ?? 'queued'
}

/** A task that ended at its deadline. */
const causeOfTimeout = (task: ExplainedTask): TaskCause => {
  const { work } = task
  if (work.isSubmitted || work.stage === 'working') return findObstacle(task) ?? 'deadline'
  const obstacle = findObstacle(task)
  if (obstacle !== undefined) return obstacle
  return work.lostRuns > 0 ? 'engine_lost' : 'queue_full'
}

const causeOfFailed = (task: ExplainedTask): TaskCause => {
  const { work, errorCode, operatorAction } = task
  if (errorCode === 'task_cancelled') return 'cancelled'
  if (errorCode === 'content_policy_violation') return 'moderated'
  if (errorCode === 'invalid_image' || errorCode === 'invalid_parameter') return 'request_invalid'
  if (work.isOutcomeUnknown || (operatorAction === 'resolveTask' && errorCode === 'upstream_error')) {
    return 'unknown_outcome'
  }
  if (work.outcome === 'done') return 'download_failed'
  if (errorCode === 'task_timeout') return causeOfTimeout(task)
  const obstacle = lastAttemptOf(task) === undefined ? undefined : findObstacle(task)
  return obstacle ?? 'provider_failed'
}

export const findCause = (task: ExplainedTask): TaskCause => {
  if (task.state === 'completed') return 'completed'
  return task.state === 'failed' ? causeOfFailed(task) : causeOfOpen(task)
}
