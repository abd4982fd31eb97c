/**
 * The spans of a video task. Steps are spans while they run. The span of the whole task is added at its end, from the times in its
 * row, so it does not depend on a process that has lived as long as the task.
 */
import {
  addSpan,
  addTask,
  inTask,
  isTracing,
  withSpan,
  type PastSpan,
} from '../../platform/tracing/tracing.ts'
import type { OpenTask } from '../open-task-store.ts'
import type { FinishedTask } from '../task-store.ts'
import type { Ending } from '../task.ts'

const attributesOf = ({ provider, model }: { provider: string; model: string }) => ({
  'gen_ai.provider.name': provider,
  'gen_ai.request.model': model,
})

/** The wall clock at a time of `performance.now()`; collectors compare the times of all processes. */
const wallClockAt = (atMs: number): number => Date.now() - performance.now() + atMs

/** How long the run of this step has waited: in the queue before its hand-over, and then for the engine and a worker. */
const addWaits = (open: OpenTask, runStartedMs: number): void => {
  // The number of a run is the time of its hand-over.
  const { run, submits, refusals, stage } = open
  if (stage === 'starting' && submits === 0 && refusals === 0)
    addSpan({ name: 'queue', startMs: wallClockAt(open.acceptedAtMs), endMs: run })
  // An execution that repeats an interrupted one has been waiting since the hand-over too.
  addSpan({ name: 'dispatch', startMs: run, endMs: wallClockAt(runStartedMs) })
}

/** Runs a step on a task in its trace. `runStartedMs` is given for the first step of a run. */
export const traceStep = <Result>(
  name: string,
  open: OpenTask,
  runStartedMs: number | undefined,
  step: () => Promise<Result>,
): Promise<Result> => {
  if (!isTracing()) return step()
  return inTask(open, () => {
    if (runStartedMs !== undefined) addWaits(open, runStartedMs)
    return withSpan(name, attributesOf(open), step)
  })
}

/** A cancelled task has not failed. */
const isAlwaysSampled = (ending: Ending): boolean =>
  ending.kind === 'failed' && ending.code !== 'task_cancelled'

const timeOf = (time: string | undefined): number | null => (time === undefined ? null : Date.parse(time))

/** Adds the span of an ended task. Its settle step began at `settleStartedMs`. */
export const traceEnd = (
  taskId: string,
  { provider, model, createdAt, finishedAt, endState, traceContext }: FinishedTask,
  ending: Ending,
  settleStartedMs: number,
): void => {
  if (!isTracing() || traceContext === null) return
  const attributes = attributesOf({ provider, model })
  const settled = { startMs: wallClockAt(settleStartedMs), endMs: wallClockAt(performance.now()) }
  const startMs = createdAt.getTime()
  // The time in the row is that of the begin of its transaction.
  const endMs = Math.max(finishedAt.getTime(), settled.endMs)
  const [submittedAtMs, outcomeAtMs] = [timeOf(endState?.submittedAt), timeOf(endState?.outcomeAt)]
  const stage = (name: string, from: number | null, to: number | null): PastSpan[] =>
    from === null ? [] : [{ name, startMs: from, endMs: to ?? endMs, attributes }]
  addTask(
    { taskId, traceContext },
    {
      ...{ name: 'video task', startMs, endMs },
      attributes: {
        ...attributes,
        'kinora.task.submits': endState?.submits ?? 0,
        'kinora.task.lost_runs': endState?.lostRuns ?? 0,
        'kinora.task.failed_downloads': endState?.failedDownloads ?? 0,
      },
      ...(ending.kind === 'failed' && { errorType: ending.code }),
      isAlwaysSampled: isAlwaysSampled(ending),
      stages: [...stage('job', submittedAtMs, outcomeAtMs), { name: 'settle', ...settled, attributes }],
      unsampledStages: [...stage('queue', startMs, submittedAtMs), ...stage('store', outcomeAtMs, null)],
    },
  )
}
