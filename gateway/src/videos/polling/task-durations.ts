/**
 * How long tasks are in progress, from the submit until their result is stored, by what was ordered. Workers learn it from
 * the tasks that they complete; API processes show estimates with it.
 */
import type { Log } from '../../platform/log.ts'
import type { Database } from '../../platform/postgres.ts'
import { histogramOf, weightOf, type DurationHistogram } from './duration-histogram.ts'
import { readTaskDurations, taskDurationRatio, type TaskKind } from './task-duration-store.ts'

/** Durations of the tasks that resemble this one most and are enough; undefined if too few are known. */
export type TaskDurationsOf = (
  kind: Pick<TaskKind, 'provider' | 'model'> & Partial<TaskKind>,
) => DurationHistogram | undefined

const tasksNeeded = 8
const freshMs = 30_000

/** What is known of a kind of tasks is also known of all sizes, and of all lengths. */
const namesOf = ({ provider, model, seconds, pixels }: Parameters<TaskDurationsOf>[0]): string[] => [
  ...(seconds !== undefined && pixels !== undefined
    ? [JSON.stringify([provider, model, seconds, pixels])]
    : []),
  ...(seconds !== undefined ? [JSON.stringify([provider, model, seconds])] : []),
  JSON.stringify([provider, model]),
]

export const loadTaskDurations = async (database: Database): Promise<TaskDurationsOf> => {
  const named = (await readTaskDurations(database)).flatMap((row) =>
    namesOf(row).map((name) => ({ name, row })),
  )
  const known = new Map(
    [...Map.groupBy(named, ({ name }) => name)].map(([name, each]) => [
      name,
      histogramOf(
        taskDurationRatio,
        each.map(({ row }) => row),
      ),
    ]),
  )
  return (kind) =>
    namesOf(kind)
      .map((name) => known.get(name))
      .find((histogram) => histogram !== undefined && weightOf(histogram) >= tasksNeeded)
}

/** Reads the durations in the background when they are needed. */
export const createCachedTaskDurations = (database: Database, log: Log): TaskDurationsOf => {
  let known: TaskDurationsOf = () => undefined
  let readAtMs = -Infinity
  const refresh = async () => {
    known = await loadTaskDurations(database)
  }
  return (kind) => {
    if (performance.now() - readAtMs > freshMs) {
      readAtMs = performance.now()
      refresh().catch((error: unknown) => log.warn({ err: error }, 'task-durations.not-read'))
    }
    return known(kind)
  }
}
