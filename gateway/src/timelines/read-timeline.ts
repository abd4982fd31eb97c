/** Reads the timeline of a task from the rows that its work has left. Nothing is written for it. */
import { adminOperations } from '@kinora/contract/admin-operations'
import type { Operation } from '@kinora/contract/operation'
import { operations } from '@kinora/contract/operations'
import {
  promptExcerptCharacters,
  remixesMax,
  type FailureExplanation,
  type Lineage,
} from '@kinora/contract/operations/video-timelines'

import { findAttempts, type TaskDetail } from '../admin/tasks/task-store.ts'
import { secondsOf } from '../admin/unix-time.ts'
import { receiptEntries } from '../billing/ledger/receipt-store.ts'
import { listRefunds } from '../billing/ledger/refund-store.ts'
import type { Database } from '../platform/postgres.ts'
import { dayOfTaskId } from '../videos/task-id.ts'
import { buildSteps } from './build-steps.ts'
import { explainFailure } from './explain-failure.ts'
import type { TimelineStep } from './timeline-step.ts'
import { findCreatingRequest, findDeliveries, findRemixes, findSource } from './timeline-store.ts'

/** More attempts of deliveries than these are left out, the oldest first. */
const deliveryStepsMax = 200

const creatingOperations = [
  ...Object.values<Operation>(operations).filter(({ creates }) => creates === true),
  adminOperations.retryTask,
].map(({ id }) => id)

interface Timeline {
  steps: TimelineStep[]
  explanation: FailureExplanation | null
  lineage: Lineage
}

/** The id in an order, which has no schema. */
const sourceIdOf = ({ order }: TaskDetail): string | undefined => {
  const remixOf = order['remixOf'] as { taskId?: string } | undefined
  return remixOf?.taskId
}

const readLineage = async (
  database: Database,
  task: TaskDetail,
  { taskDays, showsPrompts }: { taskDays: number; showsPrompts: boolean },
): Promise<Lineage> => {
  if (task.kind !== 'video') return { source: null, remixes: [] }
  const sourceId = sourceIdOf(task)
  const sourceDay = sourceId === undefined ? undefined : dayOfTaskId(sourceId)
  const source =
    sourceId === undefined || sourceDay === undefined
      ? undefined
      : await findSource(
          database,
          { id: sourceId, day: sourceDay, accountId: task.accountId },
          taskDays,
          promptExcerptCharacters,
        )
  const remixes = await findRemixes(database, task, taskDays, remixesMax)
  return {
    source:
      sourceId === undefined
        ? null
        : {
            id: sourceId,
            prompt: showsPrompts ? (source?.prompt ?? null) : null,
            status: source?.state ?? null,
          },
    remixes: remixes.map(({ id, createdAt, state }) => ({
      id,
      created_at: secondsOf(createdAt),
      status: state,
    })),
  }
}

interface TimelineOptions {
  currency: string
  /** The default retention of tasks, for accounts without their own. */
  taskDays: number
  /** Customers see their prompts, and only requests of their account. */
  isForCustomer: boolean
}

export const readTimeline = async (
  database: Database,
  task: TaskDetail,
  { currency, taskDays, isForCustomer }: TimelineOptions,
): Promise<Timeline> => {
  const request = await findCreatingRequest(database, task, creatingOperations)
  const mayShow = request !== undefined && (!isForCustomer || request.accountId === task.accountId)
  const steps = buildSteps({
    task,
    attempts: task.kind === 'video' ? await findAttempts(database, task.day, task.id) : [],
    requestId: mayShow ? request.id : null,
    entries: await receiptEntries(database, task),
    refunds: await listRefunds(database, task.id),
    deliveries: await findDeliveries(database, task, deliveryStepsMax),
  })
  return {
    steps,
    explanation: explainFailure(task, steps, currency),
    lineage: await readLineage(database, task, { taskDays, showsPrompts: isForCustomer }),
  }
}
