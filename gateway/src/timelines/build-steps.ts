/** The steps of a task, from the rows that its work has left. Each function builds the steps of one part. */
import { stepKinds } from '@kinora/contract/operations/video-timelines'

import type { TaskAttempt, TaskDetail } from '../admin/tasks/task-store.ts'
import type { ReceiptEntry } from '../billing/ledger/receipt-store.ts'
import type { Refund } from '../billing/ledger/refund-store.ts'
import type { WorkState as RecordingWorkState } from '../transcription-tasks/work-state.ts'
import type { WorkState } from '../videos/work-state.ts'
import type { TimelineStep } from './timeline-step.ts'
import type { DeliveryStep } from './timeline-store.ts'

/** Everything that the database knows about a task. */
export interface TaskFacts {
  task: TaskDetail
  attempts: TaskAttempt[]
  requestId: string | null
  entries: ReceiptEntry[]
  refunds: Pick<Refund, 'amountMicros' | 'createdAt'>[]
  deliveries: DeliveryStep[]
}

const timeOf = (text: string | undefined): Date | undefined =>
  text === undefined ? undefined : new Date(text)

const settledBy: Record<string, string> = { capture: 'captured', release: 'released', expiry: 'released' }

const moneySteps = ({ entries, refunds }: TaskFacts): TimelineStep[] => [
  ...entries.flatMap(({ movement, amountMicros, createdAt }): TimelineStep[] => {
    const step = { startedAt: createdAt, endedAt: createdAt, amountMicros }
    if (movement === 'hold') return [{ ...step, kind: 'hold', outcome: 'held' }]
    const outcome = settledBy[movement]
    if (outcome === undefined) return []
    return [
      {
        ...{ ...step, kind: 'settle', outcome },
        ...(movement === 'expiry' && {
          detail: 'The hold was of an earlier cycle of the subscription, so it did not return to the quota.',
        }),
      },
    ]
  }),
  ...refunds.map(({ amountMicros, createdAt }): TimelineStep => ({
    ...{ kind: 'refund', startedAt: createdAt, endedAt: createdAt, outcome: 'refunded', amountMicros },
  })),
]

const deliverySteps = ({ deliveries }: TaskFacts): TimelineStep[] =>
  deliveries.flatMap((each, index): TimelineStep[] => {
    const { id, type, state, attempt, startedAt, durationMs, status, error } = each
    const isLast = deliveries[index + 1]?.id !== id
    const steps: TimelineStep[] = []
    let endedAt = each.occurredAt
    if (attempt !== null && startedAt !== null) {
      endedAt = new Date(startedAt.getTime() + (durationMs ?? 0))
      const isDelivered = status !== null && status >= 200 && status < 300
      steps.push({
        ...{ kind: 'webhook', startedAt, endedAt, attempt, outcome: isDelivered ? 'delivered' : 'failed' },
        ...(error !== null && { detail: error }),
        delivery: { id, type, status },
      })
    }
    if (isLast && state === 'pending') {
      steps.push({
        ...{ kind: 'webhook', startedAt: endedAt, endedAt: null, attempt: (attempt ?? 0) + 1, outcome: null },
        detail: `The next attempt is due at ${each.nextAttemptAt.toISOString()}.`,
        delivery: { id, type, status: null },
      })
    }
    return steps
  })

/** The waits in the queue and the submits. The task waits again between two submits. */
const submitSteps = ({ task, attempts }: TaskFacts): TimelineStep[] => {
  const work = task.work as WorkState | null
  const steps: TimelineStep[] = []
  let waitsSince: Date | undefined = task.createdAt
  const endWait = (endedAt: Date | null, outcome: string | null, provider: string | null) => {
    if (waitsSince === undefined || (endedAt !== null && steps.length > 0 && endedAt <= waitsSince)) return
    steps.push({ kind: 'queue', startedAt: waitsSince, endedAt, outcome, provider })
  }
  for (const each of attempts) {
    const { startedAt, endedAt, provider, outcome, attempt } = each
    endWait(startedAt, 'started', provider)
    steps.push({ kind: 'submit', startedAt, endedAt, attempt, outcome, provider, submit: each })
    // With an unknown outcome the task stays with its provider.
    waitsSince =
      outcome === 'accepted' || (outcome === 'unknown' && work?.outcomeUnknownSince !== undefined)
        ? undefined
        : endedAt
  }
  const begunAt = timeOf(work?.outcomeUnknownSince)
  const isSubmitting = task.finishedAt === null && work?.stage === 'submitting' && begunAt !== undefined
  const lastEnd = attempts.at(-1)?.endedAt
  if (isSubmitting && (lastEnd === undefined || begunAt >= lastEnd)) {
    endWait(begunAt, 'started', task.provider)
    steps.push({
      ...{ kind: 'submit', startedAt: begunAt, endedAt: null, attempt: attempts.length + 1, outcome: null },
      provider: task.provider,
    })
  } else if (timeOf(work?.submittedAt) === undefined) {
    endWait(task.finishedAt, task.finishedAt === null ? null : 'failed', task.provider)
  }
  return steps
}

/** What the provider did, and what was done with its result. */
const resultSteps = ({ task, attempts }: TaskFacts): TimelineStep[] => {
  const work = task.work as WorkState | null
  const accepted = attempts.find(({ outcome, isDuplicate }) => outcome === 'accepted' && !isDuplicate)
  const unknown = attempts.findLast(({ outcome }) => outcome === 'unknown')
  const isUnknown = work?.outcomeUnknownSince !== undefined && work.stage !== 'submitting'
  const startedAt =
    accepted?.endedAt ?? timeOf(work?.submittedAt) ?? (isUnknown ? unknown?.endedAt : undefined)
  if (startedAt === undefined) return []
  const outcomeAt = timeOf(work?.outcomeAt)
  const isDone = work?.outcome === 'done' || task.state === 'completed'
  const endedAt = outcomeAt ?? task.finishedAt
  const generate: TimelineStep = {
    ...{ kind: 'generate', startedAt, endedAt, provider: accepted?.provider ?? task.provider },
    outcome: endedAt === null ? null : isDone ? 'done' : 'failed',
    ...(endedAt === null && {
      detail: isUnknown
        ? 'The response to the submit was lost, so it is not known whether the video is being made.'
        : `${task.progress} % are done.`,
    }),
    polls:
      work?.polls === undefined ? undefined : { count: work.polls, lastAt: timeOf(work.polledAt) ?? null },
  }
  if (!isDone || outcomeAt === undefined) return [generate]
  const failures = work?.failedDownloads ?? 0
  const store: TimelineStep = {
    ...{ kind: 'store', startedAt: timeOf(work?.storingAt) ?? outcomeAt, endedAt: task.finishedAt },
    outcome: task.finishedAt === null ? null : task.state === 'completed' ? 'stored' : 'failed',
    ...(failures > 0 && { detail: `Downloads that failed: ${failures}.` }),
  }
  return [generate, store]
}

const recordingSteps = ({ task }: TaskFacts): TimelineStep[] => {
  const { createdAt, finishedAt, state } = task
  const startedAt = timeOf((task.work as RecordingWorkState | null)?.startedAt)
  const ending = finishedAt === null ? null : state === 'completed' ? 'done' : 'failed'
  if (startedAt === undefined) {
    return [{ kind: 'queue', startedAt: createdAt, endedAt: finishedAt, outcome: ending && 'failed' }]
  }
  return [
    { kind: 'queue', startedAt: createdAt, endedAt: startedAt, outcome: 'started' },
    { kind: 'transcribe', startedAt, endedAt: finishedAt, outcome: ending },
  ]
}

/** No step begins before the task or ends before it begins: the clocks of processes and the database may differ a little. */
const inOrder = (steps: TimelineStep[], createdAt: Date): TimelineStep[] =>
  steps
    .map((step) => {
      const startedAt = step.startedAt < createdAt ? createdAt : step.startedAt
      const isEarly = step.endedAt !== null && step.endedAt < startedAt
      return { ...step, startedAt, endedAt: isEarly ? startedAt : step.endedAt }
    })
    .toSorted(
      (one, other) =>
        one.startedAt.getTime() - other.startedAt.getTime() ||
        stepKinds.indexOf(one.kind) - stepKinds.indexOf(other.kind),
    )

export const buildSteps = (facts: TaskFacts): TimelineStep[] => {
  const { task, requestId } = facts
  const { createdAt } = task
  const accepted: TimelineStep = {
    ...{ kind: 'accepted', startedAt: createdAt, endedAt: createdAt, outcome: 'accepted', requestId },
  }
  const work = task.kind === 'video' ? [...submitSteps(facts), ...resultSteps(facts)] : recordingSteps(facts)
  return inOrder([accepted, ...moneySteps(facts), ...work, ...deliverySteps(facts)], createdAt)
}
