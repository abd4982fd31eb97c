/** Streams that are open while the processes that serve them are replaced. */
import { expect } from 'vitest'

import { followTask, type Followed } from '../faults/follow-task.ts'
import { dataOf, eventsIn } from '../kit/event-reader.ts'
import type { Customer } from './upgrade-stack.ts'

export interface OpenStream {
  followed: Followed
  ended: Promise<void>
}

/** Follows a task and reconnects after its last event. Resolves when the first event has arrived. */
export const openEventStream = async (
  { origins, key }: Customer,
  taskId: string,
  signal: AbortSignal,
): Promise<OpenStream> => {
  const stream = followTask({ origins, key, taskId, signal })
  await expect.poll(() => stream.followed.eventIds.length).toBeGreaterThan(0)
  return stream
}

interface ChatEvent {
  id?: string
  error?: { code: string; message: string }
  choices?: { delta: { content: string }; finish_reason: string | null }[]
}

/**
 * Creates a video by a streamed chat. If the server ends the reply because it restarts, the stream continues with the
 * events of the task after the last one received, at the URL that the reply names. Resolves when the first line has arrived.
 */
export const openChatStream = async (
  customer: Customer,
  prompt: string,
  signal: AbortSignal,
): Promise<OpenStream> => {
  const { origins, key } = customer
  const response = await fetch(`${origins[0]}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'vidB-2', stream: true, messages: [{ role: 'user', content: prompt }] }),
    signal,
  })
  if (response.status !== 200) throw new Error(`the chat was refused: ${await response.text()}`)
  const followed: Followed = { taskId: '', eventIds: [], hasEnded: false, connections: 1, breaks: 0 }
  const { promise: hasBegun, resolve: onBegun } = Promise.withResolvers<void>()

  const readReply = async (): Promise<string | undefined> => {
    let nextPath: string | undefined
    for await (const event of eventsIn(response.body)) {
      if (event.data === '[DONE]') break
      if (event.id !== undefined) followed.eventIds.push(Number(event.id))
      const { error, choices } = dataOf(event) as ChatEvent
      const line = choices?.[0]?.delta.content ?? ''
      if (line.startsWith('task_id: ')) followed.taskId = line.slice('task_id: '.length).trim()
      if (followed.taskId !== '') onBegun()
      followed.hasEnded ||= choices?.[0]?.finish_reason === 'stop'
      nextPath ??= /\/v1\/videos\/\S+\/events/.exec(error?.message ?? '')?.[0]
    }
    return nextPath
  }
  const read = async () => {
    const nextPath = await readReply().catch(() => undefined)
    onBegun()
    if (followed.hasEnded) return
    if (nextPath !== `/v1/videos/${followed.taskId}/events`) {
      followed.breaks += 1
      return
    }
    const rest = followTask({ ...customer, taskId: followed.taskId, eventIds: followed.eventIds, signal })
    await rest.ended
    followed.hasEnded = rest.followed.hasEnded
    followed.connections += rest.followed.connections
    followed.breaks += rest.followed.breaks
  }
  const ended = read()
  await hasBegun
  return { followed, ended }
}

/** Begins a speech; resolves with its size when the stream has ended, or with undefined if it was cut. */
export const openSpeech = async (
  { key }: Customer,
  origin: string,
  input: string,
): Promise<{ sizeBytes: Promise<number | undefined> }> => {
  const response = await fetch(`${origin}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'chat-4o-mini-tts-2025-12-15',
      voice: 'alloy',
      response_format: 'pcm',
      input,
    }),
  })
  if (response.status !== 200) throw new Error(`the speech was refused: ${await response.text()}`)
  return {
    sizeBytes: response.arrayBuffer().then(
      ({ byteLength }) => byteLength,
      () => undefined,
    ),
  }
}

/** The streams that lack or repeat an event, were cut without notice, or have not ended. */
export const findBroken = (streams: OpenStream[]): string[] =>
  streams.flatMap(({ followed: { taskId, eventIds, hasEnded, breaks } }) => {
    const isWhole = eventIds.every((id, index) => id === index + 1)
    return isWhole && hasEnded && breaks === 0
      ? []
      : `${taskId}: events ${eventIds.join(', ')}${hasEnded ? '' : ', no end'}, ${breaks} cuts`
  })
