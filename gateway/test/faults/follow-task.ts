/** Follows the event stream of a task and reconnects after the last event, as a browser does. */
import { setTimeout as sleep } from 'node:timers/promises'

import { eventsIn } from '../kit/event-reader.ts'
import { headersOf, type Sender } from './retrying.ts'

export interface Followed {
  taskId: string
  /** The ids of the events, in the order in which they arrived. */
  eventIds: number[]
  hasEnded: boolean
  connections: number
  /** Connections that ended in the middle of the stream, without a notice. */
  breaks: number
}

const reconnectAfterMs = 300
/** The server sends a comment after a few seconds of silence, so a longer silence means a lost connection. */
const silenceMsMax = 20_000

export const followTask = ({
  origins,
  taskId,
  eventIds = [],
  signal,
  ...sender
}: Sender & {
  origins: string[]
  taskId: string
  /** The ids of the events that were received before. */
  eventIds?: number[]
  signal: AbortSignal
}): { followed: Followed; ended: Promise<void> } => {
  const followed: Followed = { taskId, eventIds, hasEnded: false, connections: 0, breaks: 0 }

  const readOnce = async (origin: string) => {
    const silence = new AbortController()
    const timer = setTimeout(() => silence.abort(), silenceMsMax)
    let isOpen = false
    try {
      const last = followed.eventIds.at(-1)
      const response = await fetch(`${origin}/v1/videos/${taskId}/events`, {
        headers: {
          ...headersOf(sender),
          ...(last !== undefined && { 'last-event-id': String(last) }),
        },
        signal: AbortSignal.any([signal, silence.signal]),
      })
      if (response.status !== 200) {
        await response.body?.cancel()
        followed.hasEnded = response.status === 204
        return
      }
      followed.connections += 1
      isOpen = true
      const watched = new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) => {
          timer.refresh()
          controller.enqueue(chunk)
        },
      })
      for await (const { id, event } of eventsIn(response.body?.pipeThrough(watched) ?? null)) {
        if (id !== undefined) followed.eventIds.push(Number(id))
        followed.hasEnded ||= event === 'completed' || event === 'failed'
      }
    } catch (error) {
      if (isOpen && !signal.aborted) followed.breaks += 1
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  const follow = async () => {
    for (let connection = 0; !followed.hasEnded && !signal.aborted; connection += 1) {
      // A broken connection is the fault that is tested; the stream continues after the next connect.
      await readOnce(origins[connection % origins.length] ?? '').catch(() => undefined)
      if (!followed.hasEnded) await sleep(reconnectAfterMs, undefined, { signal }).catch(() => undefined)
    }
  }
  return { followed, ended: follow() }
}
