import type { TaskErrorCode } from '@kinora/contract/task-errors'

import { budgetSpent } from '../../provider-budgets/budgets.ts'
import type { WorkState as RecordingWorkState } from '../../transcription-tasks/work-state.ts'
import type { WorkState } from '../../videos/work-state.ts'
import type { TaskAttempt, TaskDetail } from '../tasks/task-store.ts'

/** Everything that is known about a task, in one form for all kinds. */
export interface ExplainedTask {
  id: string
  kind: TaskDetail['kind']
  accountName: string
  model: string
  state: TaskDetail['state']
  errorCode: TaskErrorCode | null
  errorMessage: string | null
  createdAt: Date
  finishedAt: Date | null
  nowMs: number
  /** The milliseconds since its current run was started; undefined if it has none. */
  runAgeMs: number | undefined
  stages: ExplainedStage[]
  attempts: ExplainedAttempt[]
  work: {
    stage: WorkState['stage'] | RecordingWorkState['stage'] | undefined
    lostRuns: number
    failedDownloads: number
    /** A provider has, or had, the job. */
    isSubmitted: boolean
    isOutcomeUnknown: boolean
    outcome: WorkState['outcome']
    outcomeAt: Date | undefined
    deadlineAt: Date | undefined
    health: WorkState['health']
    /** The budget of its provider stopped new work. */
    isStopped: boolean
  }
  /** The action of the operator who ended or moved it, if one did. */
  operatorAction: 'cancelTask' | 'resolveTask' | undefined
  /** The seconds since a worker last reached the engine; undefined if none ever did. */
  heartbeatSeconds: number | undefined
}

interface ExplainedStage {
  name: 'queue' | 'submit' | 'provider' | 'store' | 'transcribe'
  startedAt: Date
  endedAt: Date | undefined
}

export interface ExplainedAttempt {
  provider: string | null
  outcome: TaskAttempt['outcome']
  routeReason: string | null
  skipped: { provider: string; reason: string }[]
  failureReason: string | null
  isDuplicate: boolean
  startedAt: Date | null
  durationMs: number | null
}

const timeOf = (text: string | undefined): Date | undefined =>
  text === undefined ? undefined : new Date(text)

/** The stages that have begun. Each ends where the next one begins; their clocks may differ a little. */
const stagesOf = (
  { createdAt, finishedAt }: TaskDetail,
  begun: [ExplainedStage['name'], Date | undefined][],
): ExplainedStage[] => {
  let latest = createdAt
  const stages = begun.flatMap(([name, at]) => {
    if (at === undefined) return []
    latest = at > latest ? at : latest
    return { name, startedAt: latest }
  })
  return stages.map((stage, index) => ({
    ...stage,
    endedAt: stages[index + 1]?.startedAt ?? finishedAt ?? undefined,
  }))
}

const attemptOf = (attempt: TaskAttempt): ExplainedAttempt => ({
  provider: attempt.provider,
  outcome: attempt.outcome,
  routeReason: attempt.decision?.reason ?? null,
  skipped: attempt.decision?.skipped ?? [],
  failureReason: attempt.failureReason,
  isDuplicate: attempt.isDuplicate,
  startedAt: attempt.startedAt,
  durationMs: Math.max(0, attempt.endedAt.getTime() - attempt.startedAt.getTime()),
})

type Circumstances = Pick<ExplainedTask, 'operatorAction' | 'heartbeatSeconds'>

const commonOf = (task: TaskDetail) => ({
  ...{ id: task.id, kind: task.kind, accountName: task.accountName, model: task.model, state: task.state },
  errorCode: task.errorCode as TaskErrorCode | null,
  errorMessage: task.errorMessage,
  ...{ createdAt: task.createdAt, finishedAt: task.finishedAt, nowMs: task.readAt.getTime() },
  // A run is numbered by the time of its start.
  runAgeMs: task.runs === null || task.runs === 0 ? undefined : task.readAt.getTime() - task.runs,
})

export const explainedVideo = (
  task: TaskDetail,
  recorded: TaskAttempt[],
  circumstances: Circumstances,
): ExplainedTask => {
  const work = task.work as WorkState | null
  const attempts = recorded.map(attemptOf)
  const accepted = recorded.find(({ outcome, isDuplicate }) => outcome === 'accepted' && !isDuplicate)
  const submittedAt = accepted?.endedAt ?? timeOf(work?.submittedAt)
  return {
    ...commonOf(task),
    stages: stagesOf(task, [
      ['queue', task.createdAt],
      ['submit', recorded[0]?.startedAt],
      ['provider', submittedAt],
      ['store', work?.outcome === 'done' ? timeOf(work.outcomeAt) : undefined],
    ]),
    attempts,
    work: {
      stage: work?.stage,
      lostRuns: work?.lostRuns ?? 0,
      failedDownloads: work?.failedDownloads ?? 0,
      isSubmitted: submittedAt !== undefined,
      isOutcomeUnknown: work?.outcomeUnknownSince !== undefined && work.outcome === undefined,
      outcome: work?.outcome,
      outcomeAt: timeOf(work?.outcomeAt),
      deadlineAt: timeOf(work?.deadlineAt),
      health: work?.health,
      isStopped: work?.isStopped === true,
    },
    ...circumstances,
  }
}

export const explainedRecording = (task: TaskDetail, circumstances: Circumstances): ExplainedTask => {
  const work = task.work as RecordingWorkState | null
  const failure = work?.failure
  return {
    ...commonOf(task),
    stages: stagesOf(task, [
      ['queue', task.createdAt],
      ['transcribe', timeOf(work?.startedAt)],
    ]),
    attempts:
      failure === undefined
        ? []
        : [
            {
              provider: failure.provider ?? null,
              outcome: failure.kind,
              ...{ routeReason: null, skipped: [], isDuplicate: false, startedAt: null, durationMs: null },
              failureReason: failure.reason,
            },
          ],
    work: {
      stage: work?.stage,
      lostRuns: work?.lostRuns ?? 0,
      failedDownloads: 0,
      ...{ isSubmitted: false, isOutcomeUnknown: false, outcome: undefined, outcomeAt: undefined },
      health: undefined,
      isStopped: failure?.reason.includes(budgetSpent) === true,
      deadlineAt: timeOf(work?.deadlineAt),
    },
    ...circumstances,
  }
}
