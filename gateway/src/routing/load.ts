/**
 * How many tasks each provider has or has waiting, as far as this process knows: read again in the background when
 * somebody asks, at most once a second, and never waited for.
 */
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import { countOpenTasks } from './route-load-store.ts'

const freshMs = 1_000

export interface Load {
  tasksAt: (provider: string) => number
  tasksOf: (provider: string, model: string) => number
  /** Counts one that is on its way there, until the record is read again. */
  note: (provider: string, model: string) => void
}

export const createLoad = (
  { postgres, log }: { postgres: Postgres; log: Log },
  now: () => number = Date.now,
): Load => {
  let counts = new Map<string, Map<string, number>>()
  let readAtMs = -Infinity
  let isReading = false

  const add = (to: typeof counts, provider: string, model: string, tasks: number) => {
    const models = to.get(provider) ?? new Map<string, number>()
    to.set(provider, models.set(model, (models.get(model) ?? 0) + tasks))
  }

  const read = async () => {
    const read = new Map<string, Map<string, number>>()
    for (const { provider, model, tasks } of await countOpenTasks(postgres)) add(read, provider, model, tasks)
    counts = read
  }

  const readSoon = () => {
    if (isReading || now() - readAtMs < freshMs) return
    isReading = true
    readAtMs = now()
    read()
      .catch((error: unknown) => log.warn({ err: error }, 'load.not-read'))
      .finally(() => {
        isReading = false
      })
  }

  return {
    tasksAt: (provider) => {
      readSoon()
      return [...(counts.get(provider)?.values() ?? [])].reduce((sum, tasks) => sum + tasks, 0)
    },
    tasksOf: (provider, model) => {
      readSoon()
      return counts.get(provider)?.get(model) ?? 0
    },
    note: (provider, model) => add(counts, provider, model, 1),
  }
}
