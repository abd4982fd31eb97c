import type { adminOperations } from '@kinora/contract/admin-operations'
import type { ProviderAttempt } from '@kinora/contract/operations/admin/tasks'

import { priceLine } from '../../billing/ledger/receipt.ts'
import { listRefunds } from '../../billing/ledger/refund-store.ts'
import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { findEvents } from '../../videos/lifecycle/task-event-store.ts'
import { secondsOf, secondsOrNull } from '../unix-time.ts'
import { presentTask } from './present-task.ts'
import { readAnyTask } from './read-any-task.ts'
import { findAttempts, type TaskAttempt, type TaskDetail } from './task-store.ts'

const eventsOf = async (database: Database, { id, day, kind, ...task }: TaskDetail) => {
  if (kind === 'video') {
    const events = await findEvents(database, [{ day, taskId: id, afterId: 0 }])
    return events.map((event) => ({ at: secondsOf(event.createdAt), kind: event.kind, data: event.data }))
  }
  // Transcription tasks have no events; their start and end are in the task itself.
  const accepted = { at: secondsOf(task.createdAt), kind: 'accepted', data: {} }
  if (task.finishedAt === null) return [accepted]
  return [accepted, { at: secondsOf(task.finishedAt), kind: task.state, data: {} }]
}

const attemptsOf = ({ runs, submits, refusals, submittedAt, deadlineAt }: TaskDetail) =>
  runs === null || deadlineAt === null
    ? null
    : {
        runs,
        submits: submits ?? 0,
        refusals: refusals ?? 0,
        submitted_at: secondsOrNull(submittedAt),
        deadline_at: secondsOf(deadlineAt),
      }

const presentAttempt = (attempt: TaskAttempt): ProviderAttempt => ({
  attempt: attempt.attempt,
  provider: attempt.provider,
  upstream_model: attempt.upstreamModel,
  reason: attempt.decision?.reason ?? null,
  skipped: attempt.decision?.skipped ?? [],
  outcome: attempt.outcome,
  is_duplicate: attempt.isDuplicate,
  failure_reason: attempt.failureReason,
  started_at: secondsOf(attempt.startedAt),
  ended_at: secondsOf(attempt.endedAt),
  exchanges: attempt.exchanges.map(({ status, ...exchange }) => ({ ...exchange, status: status ?? null })),
})

export const getTask =
  ({ database }: { database: Database }): Handler<typeof adminOperations.getTask> =>
  async ({ path, operator: { currency } }) => {
    const task = await readAnyTask(database, path.id)
    const { order, prices, costMicros, upstream } = task
    const { retriedFrom } = order
    const refunds = await listRefunds(database, task.id)
    return {
      body: {
        ...presentTask(task, currency),
        prices: prices.map((price) => priceLine(price, currency)),
        refunded_micros: refunds.reduce((sum, { amountMicros }) => sum + amountMicros, 0),
        cost_micros: costMicros,
        retried_from: typeof retriedFrom === 'string' ? retriedFrom : null,
        upstream,
        attempts: attemptsOf(task),
        decision: task.decision,
        provider_attempts: (await findAttempts(database, task.day, task.id)).map(presentAttempt),
        events: await eventsOf(database, task),
      },
    }
  }
