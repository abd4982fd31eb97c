import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError, errors, type ErrorCode } from '@kinora/contract/errors'
import { errorsOfSpending } from '@kinora/contract/operation'
import type { TaskExplanation } from '@kinora/contract/operations/admin/task-explanations'

import { listRefunds } from '../../billing/ledger/refund-store.ts'
import type { Handler } from '../../http/call.ts'
import { heartbeat } from '../../platform/engine/supervise-engine.ts'
import { findJobAge } from '../../platform/engine/tick-store.ts'
import { timeOfRequestId } from '../../platform/ids/request-id.ts'
import type { Database } from '../../platform/postgres.ts'
import { findStoppedProviders } from '../../provider-budgets/spend-store.ts'
import { findRequest } from '../../request-log/request-log-store.ts'
import { listAuditRecords } from '../audit-log/audit-store.ts'
import { readAnyTask } from '../tasks/read-any-task.ts'
import { findAttempts, type TaskDetail } from '../tasks/task-store.ts'
import { secondsOf, secondsOrNull } from '../unix-time.ts'
import { describeCause } from './cause-texts.ts'
import { explainedRecording, explainedVideo, type ExplainedTask } from './explained-task.ts'
import { findCause } from './find-cause.ts'
import { sentencesOf, stageMs } from './sentences.ts'

const entriesMax = 10

/** The last action of an operator on the task that could have ended it. */
const findOperatorAction = async (
  database: Database,
  target: string,
): Promise<ExplainedTask['operatorAction']> => {
  const filter = { action: undefined, from: undefined, to: undefined, after: undefined }
  const entries = await listAuditRecords(database, { ...filter, target, limit: entriesMax })
  const actions = ['cancelTask', 'resolveTask'] as const
  return entries.flatMap(({ action }) => actions.find((each) => each === action) ?? [])[0]
}

const gather = async (database: Database, task: TaskDetail): Promise<ExplainedTask> => {
  const circumstances = {
    operatorAction: await findOperatorAction(database, task.id),
    heartbeatSeconds: await findJobAge(database, heartbeat.loop, heartbeat.key),
  }
  if (task.kind === 'transcription') return explainedRecording(task, circumstances)
  return explainedVideo(task, await findAttempts(database, task.day, task.id), circumstances)
}

const moneyOf = async (
  database: Database,
  task: TaskDetail,
  currency: string,
): Promise<NonNullable<TaskExplanation['money']>> => ({
  hold_micros: task.holdMicros,
  captured_micros: task.capturedMicros,
  refunded_micros: (await listRefunds(database, task.id)).reduce(
    (sum, { amountMicros }) => sum + amountMicros,
    0,
  ),
  cost_micros: task.costMicros,
  currency,
})

const present = (
  record: TaskDetail,
  task: ExplainedTask,
  money: NonNullable<TaskExplanation['money']>,
): TaskExplanation => {
  const code = findCause(task)
  const { text, fix } = describeCause(code, task)
  const cause = { code, text }
  return {
    id: task.id,
    object: 'task.explanation',
    kind: record.kind,
    status: task.state,
    error_code: task.errorCode,
    ...{ cause, fix },
    stages: task.stages.map((stage) => ({
      name: stage.name,
      started_at: secondsOf(stage.startedAt),
      ended_at: secondsOrNull(stage.endedAt ?? null),
      duration_ms: stageMs(task, stage),
    })),
    attempts: task.attempts.map((attempt) => ({
      provider: attempt.provider,
      outcome: attempt.outcome,
      route_reason: attempt.routeReason,
      skipped: attempt.skipped,
      failure_reason: attempt.failureReason,
      started_at: secondsOrNull(attempt.startedAt),
      duration_ms: attempt.durationMs,
    })),
    money,
    sentences: sentencesOf(task, { cause, fix, money }),
  }
}

const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(errors, code)

/** Why a request created no task. If it created one, that is explained by the id of the task. */
const explainRequest = async (database: Database, id: string): Promise<TaskExplanation> => {
  const request = await findRequest(database, id)
  if (request === undefined) {
    throw new ApiError('task_not_found', {
      message:
        'There is no request with this id in the request log. Requests appear there a moment after their response.',
    })
  }
  const { errorCode, taskId, accountName } = request
  if (errorCode === null || !isErrorCode(errorCode)) {
    const hint = taskId === null ? 'It was not rejected.' : `Explain its task instead: ${taskId}.`
    throw new ApiError('task_not_found', { message: `This request is no task. ${hint}` })
  }
  const { hint } = errors[errorCode]
  const stopped = errorCode === 'model_overloaded' ? await findStoppedProviders(database) : []
  const budgets =
    stopped.length === 0 ? '' : ` Providers whose budget of the day is spent now: ${stopped.join(', ')}.`
  const message = `${errors[errorCode].message}${budgets}`
  const isAboutMoney = errorsOfSpending.some((code) => code === errorCode)
  const cause = { code: isAboutMoney ? 'insufficient_funds' : 'request_rejected', text: message }
  const topUp =
    request.accountId === null
      ? ''
      : ` Operators credit an account with POST /admin/v1/accounts/${request.accountId}/top-ups.`
  const fix = isAboutMoney ? `${hint}${topUp}` : hint
  return {
    id,
    object: 'task.explanation',
    kind: 'request',
    status: 'rejected',
    error_code: errorCode,
    ...{ cause, fix, stages: [], attempts: [], money: null },
    sentences: [
      `Request ${id}${accountName === null ? '' : ` of ${accountName}`} (${request.method} ${request.path}) was rejected with ${request.status} ${errorCode} and created no task.`,
      ...[message, `What to do: ${fix}`],
      ...(isAboutMoney ? ['Nothing was held or charged, and no provider was called.'] : []),
    ],
  }
}

export const explainTask =
  ({ database }: { database: Database }): Handler<typeof adminOperations.explainTask> =>
  async ({ path: { id }, operator: { currency } }) => {
    if (timeOfRequestId(id) !== undefined) return { body: await explainRequest(database, id) }
    const record = await readAnyTask(database, id)
    const task = await gather(database, record)
    return { body: present(record, task, await moneyOf(database, record, currency)) }
  }
