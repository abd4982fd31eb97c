/**
 * Streams a task's events to any number of watchers. The watchers of a process share their reads: a notification reads
 * each task that it names once, and every few seconds all watched tasks are read in case a notification was lost. A
 * watcher that reconnects passes the id of its last event and misses none.
 */
import { ApiError } from '@kinora/contract/errors'

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

/** Why the caller may not follow a task any longer; undefined if the signal has another reason, such as a restart. */
export const refusalIn = ({ reason }: AbortSignal): ApiError | undefined =>
  reason instanceof ApiError && reason.code !== 'service_unavailable' ? reason : undefined

export const createFollow = async (
  database: Database,
  pubsub: Pubsub,
  log: Log,
  /** Called before the events of changed tasks are read; with no ids if any task may have changed. */
  onChange: (ids: string[]) => void = () => {},
): Promise<Follow> => {
  const watchers = new Map<string, Set<Watcher>>()
  let requested = new Set<string>()
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

  /** Reads the requested tasks, and those requested meanwhile, one read at a time. */
  const readRequested = async () => {
    while (requested.size > 0) {
      const ids = [...requested]
      requested = new Set()
      for (let index = 0; index < ids.length; index += tasksPerRead) {
        await readSome(ids.slice(index, index + tasksPerRead))
      }
    }
  }
  const requestRead = (ids: Iterable<string>) => {
    for (const id of ids) if (watchers.has(id)) requested.add(id)
    if (requested.size === 0) return
    reading ??= readRequested()
      .catch((error: unknown) => log.warn({ err: error }, 'events.read-failed'))
      .finally(() => {
        reading = undefined
        // A request that came just as the last read ended is still open.
        if (requested.size > 0) requestRead([])
      })
  }

  const subscription = await pubsub.subscribe((ids) => {
    onChange(ids)
    requestRead(ids.length === 0 ? watchers.keys() : ids)
  })
  const timer = setInterval(() => requestRead(watchers.keys()), readAllEveryMs)

  async function* follow(task: { id: string; day: string }, afterEventId: number, signal: AbortSignal) {
    let wake = () => {}
    const watcher: Watcher = { day: task.day, afterId: afterEventId, waiting: [], wake: () => wake() }
    const ofTask = watchers.get(task.id) ?? new Set()
    watchers.set(task.id, ofTask.add(watcher))
    const onAbort = () => wake()
    signal.addEventListener('abort', onAbort)
    try {
      requestRead([task.id])
      while (!signal.aborted) {
        const event = watcher.waiting.shift()
        if (event !== undefined) {
          yield event
          if (isLast(event)) return
          continue
        }
        await new Promise<void>((resolve) => {
          wake = resolve
          // An event may have arrived before `wake` was set.
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
      await subscription.stop()
      await reading
    },
  }
}
