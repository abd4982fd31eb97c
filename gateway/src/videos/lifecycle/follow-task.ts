/**
 * Tells any number of watchers about the events of their tasks. The watchers of a process share their reads: a notification
 * reads each task that it names once. Every few seconds, one statement finds all tasks that have changed, in case a
 * notification was lost, so the watchers that wait cost the database nothing. A watcher that reconnects passes the id of its
 * last event and misses none.
 */
import { ApiError } from '@kinora/contract/errors'

import type { Log } from '../../platform/log.ts'
import type { Database } from '../../platform/postgres.ts'
import type { Pubsub } from '../../platform/pubsub.ts'
import { findChangedTasks, findEvents, type TaskEvent } from './task-event-store.ts'

interface WatchedTask {
  id: string
  day: string
}

/** Calls back with every event of a task after the given one, in their order. Returns the function that ends the watch. */
export type WatchTask = (
  task: WatchedTask,
  afterEventId: number,
  onEvent: (event: TaskEvent) => void,
) => () => void

/** The same as a generator, which ends after the last event of the task, or when the signal is aborted. */
export type FollowTask = (
  task: WatchedTask,
  afterEventId: number,
  signal: AbortSignal,
) => AsyncGenerator<TaskEvent, void, undefined>

export interface Follow {
  watch: WatchTask
  follow: FollowTask
  stop: () => Promise<void>
}

interface Watcher {
  day: string
  afterId: number
  onEvent: (event: TaskEvent) => void
}

const lookEveryMs = 5_000
const tasksPerRead = 1_000

export const isLast = ({ kind }: Pick<TaskEvent, 'kind'>): boolean =>
  kind === 'completed' || kind === 'failed'

/** Why the caller may not follow a task any longer; undefined if the signal has another reason, such as a restart. */
export const refusalIn = ({ reason }: AbortSignal): ApiError | undefined =>
  reason instanceof ApiError && reason.code !== 'service_unavailable' ? reason : undefined

const createFollowOn = (watch: WatchTask): FollowTask =>
  async function* follow(task, afterEventId, signal) {
    // A task has about a hundred events, so those that wait for a slow reader are few.
    const waiting: TaskEvent[] = []
    let wake = () => {}
    const onAbort = () => wake()
    signal.addEventListener('abort', onAbort)
    const stop = watch(task, afterEventId, (event) => {
      waiting.push(event)
      wake()
    })
    try {
      while (!signal.aborted) {
        const event = waiting.shift()
        if (event !== undefined) {
          yield event
          if (isLast(event)) return
          continue
        }
        await new Promise<void>((resolve) => {
          wake = resolve
          // An event may have arrived before `wake` was set.
          if (waiting.length > 0 || signal.aborted) resolve()
        })
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
      stop()
    }
  }

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
  /** Events may have been missed, so the next look reads all watched tasks. */
  let isUncertain = true
  /** Up to where changes were found. */
  let position: string | undefined
  let looking: Promise<void> | undefined

  const deliver = (event: TaskEvent, readAfterId: number) => {
    for (const watcher of watchers.get(event.taskId) ?? []) {
      // A watcher that came during the read and lacks earlier events has requested a read of its own.
      if (event.id <= watcher.afterId || watcher.afterId < readAfterId) continue
      watcher.afterId = event.id
      watcher.onEvent(event)
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
    const readAfter = new Map(wanted.map(({ taskId, afterId }) => [taskId, afterId]))
    for (const event of await findEvents(database, wanted)) deliver(event, readAfter.get(event.taskId) ?? 0)
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
      .catch((error: unknown) => {
        isUncertain = true
        log.warn({ err: error }, 'events.read-failed')
      })
      .finally(() => {
        reading = undefined
        // A request that came just as the last read ended is still open.
        if (requested.size > 0) requestRead([])
      })
  }

  const findChanges = async () => {
    const readsAll = isUncertain
    // What is missed from here on sets it again, for the next look.
    isUncertain = false
    try {
      const changes = await findChangedTasks(database, readsAll ? undefined : position)
      // A server that was promoted may not have the latest transactions of the one before it.
      const hasGoneBack = position !== undefined && BigInt(changes.position) < BigInt(position)
      position = changes.position
      requestRead(readsAll || hasGoneBack ? watchers.keys() : changes.taskIds)
    } catch (error) {
      isUncertain ||= readsAll
      throw error
    }
  }
  const look = () => {
    // A watcher that comes later reads its task itself.
    if (watchers.size === 0) isUncertain = true
    else {
      looking ??= findChanges()
        .catch((error: unknown) => log.warn({ err: error }, 'events.read-failed'))
        .finally(() => {
          looking = undefined
        })
    }
  }

  const subscription = await pubsub.subscribe((ids) => {
    onChange(ids)
    if (ids.length === 0) {
      isUncertain = true
      look()
    } else requestRead(ids)
  })
  const timer = setInterval(look, lookEveryMs)

  const watch: WatchTask = (task, afterEventId, onEvent) => {
    const watcher: Watcher = { day: task.day, afterId: afterEventId, onEvent }
    const ofTask = watchers.get(task.id) ?? new Set()
    watchers.set(task.id, ofTask.add(watcher))
    requestRead([task.id])
    return () => {
      ofTask.delete(watcher)
      if (ofTask.size === 0 && watchers.get(task.id) === ofTask) watchers.delete(task.id)
    }
  }

  return {
    watch,
    follow: createFollowOn(watch),
    stop: async () => {
      clearInterval(timer)
      await subscription.stop()
      await looking
      await reading
    },
  }
}
