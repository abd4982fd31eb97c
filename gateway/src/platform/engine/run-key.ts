/** One hand-over of a task to the engine. */
export interface Run {
  taskId: string
  run: number
}

/** The engine's idempotency key of a run. */
export const runKey = ({ taskId, run }: Run): string => `${taskId}~${run}`

/** The engine's idempotency key of runs that are started together. */
export const keyOfRuns = (runs: Run[]): string => runs.map(runKey).join(' ')

/** The keys of the single runs. */
export const runKeysIn = (key: string): string[] => key.split(' ')

export const parseRunKey = (key: string): Run => {
  const at = key.lastIndexOf('~')
  return { taskId: key.slice(0, at), run: Number(key.slice(at + 1)) }
}

/**
 * The number of a task's next run, as SQL: the time in milliseconds. A counter would repeat numbers that the engine
 * knows already once the database is restored from a backup.
 */
export const nextRunAfter = (run: string): string =>
  `greatest(${run} + 1, (extract(epoch from clock_timestamp()) * 1000)::bigint)`
