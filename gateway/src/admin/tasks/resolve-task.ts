/**
 * Decides about a task whose provider may or may not have a job for it. Both decisions lock the task first, so that a webhook,
 * a lookup or another operator is either earlier, and nothing is done, or later, and finds the decision.
 */
import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'
import { TaskResolution } from '@kinora/contract/operations/admin/tasks'
import { taskErrors } from '@kinora/contract/task-errors'

import type { Database } from '../../platform/postgres.ts'
import type { Router } from '../../routing/route.ts'
import { settleVideo, type SettleDependencies } from '../../videos/lifecycle/settle-video.ts'
import {
  lockUnknownOutcome,
  moveUnknownOutcome,
  type UnknownOutcome,
} from '../../videos/lifecycle/submit-store.ts'
import { costAt } from '../../videos/priced-work.ts'
import { findTask } from '../../videos/task-store.ts'
import { requirementsOf } from '../../videos/video-requirements.ts'
import type { AdminHandler } from '../admin-call.ts'
import { presentTask } from './present-task.ts'
import { readAnyTask } from './read-any-task.ts'
import type { TaskDetail } from './task-store.ts'

export interface ResolveDependencies {
  settle: SettleDependencies
  router: Pick<Router, 'choose'>
  wakeDispatcher: (provider: string) => void
}

const conflict = (message: string) => new ApiError('conflict', { message })

/** Another provider for the task. */
const chooseOther = async (
  { router }: ResolveDependencies,
  database: Database,
  { id, day }: TaskDetail,
  { provider, tried }: UnknownOutcome,
) => {
  const task = await findTask(database, day, id)
  if (task === undefined) throw new ApiError('task_not_found')
  const requirements = requirementsOf(task.order, provider)
  const chosen = router.choose(task.model, { ...requirements, tried: [...tried, provider] })
  if (chosen === undefined || chosen.route.provider.name === provider) {
    throw conflict('No other route can take this task. Resolve it with `action: "fail"` instead.')
  }
  const { name, shards } = chosen.route.provider
  const costMicros = costAt(chosen.route, task.order)
  return { provider: name, shards, decision: chosen.decision, costMicros }
}

export const resolveTask =
  (dependencies: ResolveDependencies): AdminHandler<typeof adminOperations.resolveTask> =>
  async (call) => {
    const { settle, wakeDispatcher } = dependencies
    const { postgres } = settle
    const { action } = call.read(TaskResolution)
    const task = await readAnyTask(postgres, call.path.id)
    const { id, day } = task
    if (task.stage === 'submitting' || task.stage === 'starting') {
      throw conflict('A submit of this task is in progress. Try again in a minute.')
    }
    const noteDown = (database: Database, before: UnknownOutcome, after: object) =>
      call.audit(database, {
        ...{ action: 'resolveTask', target: id },
        before: { status: task.state, provider: before.provider },
        after: { action, ...after },
      })
    if (action === 'fail') {
      let unknown: UnknownOutcome | undefined
      await settleVideo(
        settle,
        id,
        { kind: 'failed', code: 'upstream_error', message: taskErrors.upstream_error },
        async (database) => {
          if (unknown !== undefined) await noteDown(database, unknown, { status: 'failed' })
        },
        async (database) => {
          unknown = await lockUnknownOutcome(database, id)
          return unknown !== undefined
        },
      )
    } else {
      const to = await postgres.transaction(async (database) => {
        const unknown = await lockUnknownOutcome(database, id)
        if (unknown === undefined) return undefined
        const other = await chooseOther(dependencies, database, task, unknown)
        await moveUnknownOutcome(database, { taskId: id, day }, other)
        await noteDown(database, unknown, { provider: other.provider })
        return other.provider
      })
      if (to !== undefined) {
        settle.announce([id])
        wakeDispatcher(to)
      }
    }
    return { body: presentTask(await readAnyTask(postgres, id), call.operator.currency) }
  }
