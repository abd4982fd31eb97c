/**
 * A task's events as they happen, for any number of watchers. All watchers of this process share their reads:
 * news makes the tasks it names be read once, whoever watches them, and every few seconds all watched tasks are
 * read in case news was lost. A watcher that comes back says which event was its last and misses none.
 */
import type { Log } from '../../platform/log.ts'
import type { Database } from '../../platform/postgres.ts'
import type { Pubsub } from '../../platform/pubsub.ts'
import { findEvents, type TaskEvent } from './task-event-store.ts'

export type FollowTask = (
  task: { id: string; day: string },
  afterEventId: number,
  signal: AbortSignal,
) => AsyncGenerator<TaskEvent, void, undefined>

export interface Follow {
  follow: FollowTask
  stop: () => Promise<void>
}

interface Watcher {
  day: string
  afterId: number
  waiting: TaskEvent[]
  wake: () => void
}

const readAllEveryMs = 5_000
const tasksPerRead = 1_000

export const isLast = ({ kind }: Pick<TaskEvent, 'kind'>): boolean =>
  kind === 'completed' || kind === 'failed'

export const createFollow = async (database: Database, pubsub: Pubsub, log: Log): Promise<Follow> => {
  const watchers = new Map<string, Set<Watcher>>()
  let asked = new Set<string>()
  let reading: Promise<void> | undefined

  const deliver = (event: TaskEvent) => {
    for (const watcher of watchers.get(event.taskId) ?? []) {
      if (event.id <= watcher.afterId) continue
      watcher.afterId = event.id
      watcher.waiting.push(event)
      watcher.wake()
    }
  }

  const readSome = async (ids: string[]) => {
    const wanted = ids.flatMap((taskId) => {
      const each = [...(watchers.get(taskId) ?? [])]
      const [first] = each
      return first === undefined
        ? []
        : [{ day: first.day, taskId, afterId: Math.min(...each.map(({ afterId }) => afterId)) }]
    })
    if (wanted.length === 0) return
    for (const event of await findEvents(database, wanted)) deliver(event)
  }

  /** Reads what was asked for, and what was asked for meanwhile, one read after the other. */
  const readAsked = async () => {
    while (asked.size > 0) {
      const ids = [...asked]
      asked = new Set()
      for (let index = 0; index < ids.length; index += tasksPerRead) {
        await readSome(ids.slice(index, index + tasksPerRead))
      }
    }
  }
  const ask = (ids: Iterable<string>) => {
    for (const id of ids) if (watchers.has(id)) asked.add(id)
    if (asked.size === 0) return
    reading ??= readAsked()
      .catch((error: unknown) => log.warn({ err: error }, 'events.not-read'))
      .finally(() => {
        reading = undefined
        // What was asked for just as the last read ended has not been read yet.
        if (asked.size > 0) ask([])
      })
  }

  const listening = await pubsub.subscribe((ids) => ask(ids.length === 0 ? watchers.keys() : ids))
  const timer = setInterval(() => ask(watchers.keys()), readAllEveryMs)

  async function* follow(task: { id: string; day: string }, afterEventId: number, signal: AbortSignal) {
    let wake = () => {}
    const watcher: Watcher = { day: task.day, afterId: afterEventId, waiting: [], wake: () => wake() }
    const ofTask = watchers.get(task.id) ?? new Set()
    watchers.set(task.id, ofTask.add(watcher))
    const onAbort = () => wake()
    signal.addEventListener('abort', onAbort)
    try {
      ask([task.id])
      while (!signal.aborted) {
        const event = watcher.waiting.shift()
        if (event !== undefined) {
          yield event
          if (isLast(event)) return
          continue
        }
        await new Promise<void>((resolve) => {
          wake = resolve
          // What arrived between the look and the wait must not be slept through.
          if (watcher.waiting.length > 0 || signal.aborted) resolve()
        })
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
      ofTask.delete(watcher)
      if (ofTask.size === 0) watchers.delete(task.id)
    }
  }

  return {
    follow,
    stop: async () => {
      clearInterval(timer)
      await listening.stop()
      await reading
    },
  }
}
