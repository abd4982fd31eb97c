import type { adminOperations } from '@kinora/contract/admin-operations'

import { readAnyTask } from '../admin/tasks/read-any-task.ts'
import { secondsOf, secondsOrNull } from '../admin/unix-time.ts'
import type { Handler } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'
import { presentAdminSteps } from './present-step.ts'
import { readTimeline } from './read-timeline.ts'

export const getTaskTimeline =
  ({
    database,
    taskDays,
  }: {
    database: Database
    taskDays: () => number
  }): Handler<typeof adminOperations.getTaskTimeline> =>
  async ({ path: { id }, operator: { currency } }) => {
    const task = await readAnyTask(database, id)
    const { createdAt, finishedAt } = task
    const options = { currency, taskDays: taskDays(), isForCustomer: false }
    const { steps, explanation, lineage } = await readTimeline(database, task, options)
    return {
      body: {
        id: task.id,
        object: 'task.timeline',
        kind: task.kind,
        account_id: task.accountId,
        status: task.state,
        created_at: secondsOf(createdAt),
        finished_at: secondsOrNull(finishedAt),
        currency,
        steps: presentAdminSteps(steps, { createdAt, currency }),
        explanation,
        lineage,
      },
    }
  }
