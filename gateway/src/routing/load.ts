/**
 * The number of open tasks per provider and model. Reading the counts triggers a refresh in the background, at most once
 * a second, and never waits for it.
 */
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import { countOpenTasks } from './route-load-store.ts'

const freshMs = 1_000

export interface Load {
  tasksAt: (provider: string) => number
  tasksOf: (provider: string, model: string) => number
  /** Counts a task that was just routed there, until the next refresh. */
  add: (provider: string, model: string) => void
}

export const createLoad = ({ postgres, log }: { postgres: Postgres; log: Log }): Load => {
  let counts = new Map<string, { all: number; models: Map<string, number> }>()
  let readAtMs = -Infinity
  let isReading = false

  const add = (to: typeof counts, provider: string, model: string, tasks: number) => {
    const { all, models } = to.get(provider) ?? { all: 0, models: new Map<string, number>() }
    to.set(provider, { all: all + tasks, models: models.set(model, (models.get(model) ?? 0) + tasks) })
  }

  const read = async () => {
    const read: typeof counts = new Map()
    for (const { provider, model, tasks } of await countOpenTasks(postgres)) add(read, provider, model, tasks)
    counts = read
  }

  const refresh = () => {
    if (isReading || performance.now() - readAtMs < freshMs) return
    isReading = true
    readAtMs = performance.now()
    read()
      .catch((error: unknown) => log.warn({ err: error }, 'load.not-read'))
      .finally(() => {
        isReading = false
      })
  }

  return {
    tasksAt: (provider) => {
      refresh()
      return counts.get(provider)?.all ?? 0
    },
    tasksOf: (provider, model) => {
      refresh()
      return counts.get(provider)?.models.get(model) ?? 0
    },
    add: (provider, model) => add(counts, provider, model, 1),
  }
}
