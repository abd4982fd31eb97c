/** The event feed of a running service whose connections break. `npm run prove:events` runs the long form. */
import { expect, test } from 'vitest'

import { dataOf, eventsIn, nextOf } from '../kit/event-reader.ts'
import { createKey } from '../kit/factories.ts'
import { manyRequests, startStack, type Stack } from '../kit/stack.ts'
import { minutes } from '../kit/time-limits.ts'

const tasks = Number(process.env['EVENT_TASKS'] ?? 60)
const cuts = Number(process.env['EVENT_CUTS'] ?? 10)
/** How many cuts come before each kill of the API process. */
const killEvery = 5
const createsAtOnce = 20

/** The API is killed now and then. */
const untilServed = (stack: Stack) =>
  stack.until('the API responds', () =>
    fetch(`${stack.url}/openapi.json`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )

const createAll = async (stack: Stack) => {
  let next = 0
  const createSome = async () => {
    for (let number = (next += 1); number <= tasks; number = next += 1) {
      for (;;) {
        try {
          await stack.create(`A whale, number ${number}`)
          break
        } catch {
          // What the API accepted without a response runs as well.
          await untilServed(stack)
        }
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(tasks, createsAtOnce) }, createSome))
}

/** A client that remembers the id of the last event, like a browser. */
const createClient = (url: string, key: string) => {
  const received: string[] = []
  let ended = 0
  let lastId: string | undefined
  const connect = async (isEnough: () => boolean, stopped?: AbortSignal) => {
    const connection = new AbortController()
    const response = await fetch(url, {
      signal: AbortSignal.any([connection.signal, ...(stopped === undefined ? [] : [stopped])]),
      headers: {
        authorization: `Bearer ${key}`,
        accept: 'text/event-stream',
        ...(lastId !== undefined && { 'last-event-id': lastId }),
      },
    })
    expect(response.status).toBe(200)
    const events = eventsIn(response.body)
    try {
      while (lastId === undefined || !isEnough()) {
        const event = await nextOf(events)
        lastId = event.id
        if (event.data === undefined) continue
        const { id, type } = dataOf(event) as { id: string; type: string }
        received.push(id)
        if (type === 'video.completed') ended += 1
      }
    } finally {
      connection.abort()
    }
  }
  return { received, connect, ended: () => ended }
}

/** An operator who reconnects when the API was killed. */
const followAll = async (stack: Stack) => {
  const { text } = await createKey(stack.database.postgres, '', { kind: 'admin', role: 'read' })
  const { connect, received } = createClient(`${stack.url}/admin/v1/events`, text)
  await connect(() => true)
  const stopping = new AbortController()
  const follow = async () => {
    while (!stopping.signal.aborted) {
      try {
        await connect(() => false, stopping.signal)
      } catch {
        await untilServed(stack)
      }
    }
  }
  const following = follow()
  return {
    received,
    stop: async () => {
      stopping.abort()
      await following
    },
  }
}

test(
  `a client whose stream is cut ${cuts} times while ${tasks} tasks run gets every event once`,
  { timeout: minutes(30) },
  async () => {
    await using stack = await startStack({ slots: 200, workers: 2, environment: manyRequests })
    const client = createClient(`${stack.url}/v1/events`, stack.key)
    await client.connect(() => true)
    const operator = await followAll(stack)
    const creating = createAll(stack)
    const step = Math.floor((2 * tasks) / (cuts + 1))
    for (let cut = 1; cut <= cuts; cut += 1) {
      await client.connect(() => client.received.length >= cut * step)
      if (cut % killEvery === 0) {
        await stack.api.kill()
        await stack.api.start()
      }
    }
    await creating
    const { postgres } = stack.database
    const count = async () => {
      const { rows } = await postgres.query<{ count: number }>('select count(*) from video_tasks')
      return rows[0]?.count ?? 0
    }
    const created = await count()
    await client.connect(() => client.ended() >= created)
    const { rows } = await postgres.query<{ id: string }>(
      `select task_event_id(e.task_id, e.id) as id from task_events e
        where kind in ('processing', 'completed', 'failed') or kind = 'progress' and (data ->> 'progress')::integer / 10 > coalesce((
          select max((x.data ->> 'progress')::integer) from task_events x
           where x.task_id = e.task_id and x.id < e.id and x.kind = 'progress'), 0) / 10
        order by e.position, e.number`,
    )
    const ids = rows.map(({ id }) => id)
    expect(client.received).toEqual(ids)
    await stack.until('the operator has received as many', async () => operator.received.length >= ids.length)
    await operator.stop()
    expect(operator.received).toEqual(ids)
    expect(new Set(client.received).size).toBe(client.received.length)
    console.log(
      `${created} tasks, ${cuts} cuts, ${Math.floor(cuts / killEvery)} kills: ${client.received.length} events, each once`,
    )
  },
)
