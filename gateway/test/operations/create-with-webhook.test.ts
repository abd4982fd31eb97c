/** `webhook_url` and `webhook_events` of the operations that create a task. */
import { randomUUID } from 'node:crypto'

import { defaultWebhookEvents, webhookEventsOf } from '@kinora/contract/webhook-parameters'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { askJson, expectProblem } from '../kit/answers.ts'
import { recordTransactions } from '../kit/recorded-transactions.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'
import {
  createCustomer,
  createVideo,
  createVideoByForm,
  creations,
  deliveriesOf,
  endCreated,
  taskEndpointsOf,
  taskOf,
  type Customer,
  type GivenFields,
} from '../kit/webhook-creations.ts'
import { wholeRecordOf } from '../kit/whole-record.ts'

const url = 'https://example.com/done?task=1'

let gateway: TestGateway
let customer: Customer

beforeAll(async () => {
  gateway = await startGateway()
  customer = await createCustomer(gateway)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const query = async <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  (await gateway.database.postgres.query<Row>(text, values)).rows

describe.each(creations)('%s', (_, object, send) => {
  test('the events of its end are delivered to the URL', async () => {
    const by = await createCustomer(gateway)
    const id = taskOf(await send(by, { webhook_url: `${url}#part` }))
    const [endpoint] = await taskEndpointsOf(by)
    expect(endpoint).toMatchObject({ url: 'https://example.com' })
    await endCreated(gateway, object, id)
    const type = object === 'video' ? 'video.failed' : 'transcription_task.completed'
    expect(await deliveriesOf(gateway, id)).toEqual([
      {
        ...{ accountId: by.accountId, endpointId: endpoint?.id, url, type },
        eventId: expect.stringMatching(/^evt_[0-9a-f]{32}$/),
      },
    ])
  })

  test('only the types that it names are delivered', async () => {
    // Not the end that follows.
    const [first, second] = webhookEventsOf(object).filter(
      (type) => type !== (object === 'video' ? 'video.failed' : 'transcription_task.completed'),
    )
    const id = taskOf(await send(customer, { webhook_url: url, webhook_events: [second, first, second] }))
    const table = object === 'video' ? 'video_tasks' : 'transcription_tasks'
    const [row] = await query<{ webhook: { events: string[] } }>(
      `select webhook from ${table} where id = $1`,
      [id],
    )
    expect(row?.webhook.events).toEqual([second, first])
    await endCreated(gateway, object, id)
    expect(await deliveriesOf(gateway, id)).toEqual([])
  })

  test('invalid parameters are refused before anything is created', async () => {
    const other = object === 'video' ? 'transcription_task.completed' : 'video.completed'
    const known = webhookEventsOf(object).join(', ')
    const cases: [fields: GivenFields, param: string, message: string][] = [
      [{ webhook_events: ['video.completed'] }, 'webhook_events', "needs 'webhook_url'"],
      [{ webhook_url: url, webhook_events: ['x'] }, 'webhook_events', `one of ${known} (got 'x')`],
      [{ webhook_url: url, webhook_events: [other] }, 'webhook_events', `one of ${known} (got '${other}')`],
      [{ webhook_url: 'example.com' }, 'webhook_url', 'not a valid URL'],
      [
        { webhook_url: 'http://example.com/' },
        'webhook_url',
        'only https URLs are allowed. Send a public URL',
      ],
      [{ webhook_url: 'https://example.com:444/' }, 'webhook_url', 'use 443 or 8443'],
      [{ webhook_url: 'https://me:pw@example.com/' }, 'webhook_url', 'a user name or password'],
      [{ webhook_url: 'https://receiver/' }, 'webhook_url', 'no public address'],
      [{ webhook_url: 'https://10.0.0.1/' }, 'webhook_url', 'no public address'],
      [{ webhook_url: 'https://[::1]/' }, 'webhook_url', 'no public address'],
      [{ webhook_url: `https://example.com/${'x'.repeat(2_048)}` }, 'webhook_url', 'at most 2048'],
    ]
    const before = await wholeRecordOf(gateway)
    for (const [fields, param, message] of cases) {
      for (const search of ['', '?dry_run=true']) {
        const answer = await send(customer, fields, { search })
        expectProblem(answer, 'invalid_parameter', param)
        expect(answer.body['error']).toHaveProperty('message', expect.stringContaining(message))
      }
    }
    expectProblem(
      await send(customer, {}, { search: `?${String(new URLSearchParams({ webhook_url: url }))}` }),
      'invalid_parameter',
      'webhook_url',
    )
    expect(await wholeRecordOf(gateway)).toEqual(before)
  })

  test('a dry run and a repeat create no endpoint', async () => {
    const by = await createCustomer(gateway)
    const before = await wholeRecordOf(gateway)
    const quote = await send(by, { webhook_url: url }, { search: '?dry_run=true' })
    expect(quote.status).toBe(200)
    expect(await wholeRecordOf(gateway)).toEqual(before)
    const headers = { 'idempotency-key': randomUUID() }
    const ids = [
      taskOf(await send(by, { webhook_url: url }, { headers })),
      taskOf(await send(by, { webhook_url: url }, { headers })),
    ]
    expect(new Set(ids).size).toBe(1)
    expect(await taskEndpointsOf(by)).toHaveLength(1)
    // The URL is a part of the content.
    expectProblem(await send(by, { webhook_url: `${url}0` }, { headers }), 'idempotency_key_reused')
    expect(await taskEndpointsOf(by)).toHaveLength(1)
  })
})

describe('webhook_events', () => {
  const eventsOf = async (id: string) =>
    (
      await query<{ webhook: { events: string[] } | null }>(`select webhook from video_tasks where id = $1`, [
        id,
      ])
    )[0]?.webhook?.events

  test.each<[string, GivenFields, string[]]>([
    ['the ends', {}, ['video.completed', 'video.failed']],
    ['one of a form', { webhook_events: 'video.progress' }, ['video.progress']],
    [
      'several of a form',
      { webhook_events: 'video.progress, video.failed' },
      ['video.progress', 'video.failed'],
    ],
    ['an empty field of a form', { webhook_events: '' }, ['video.completed', 'video.failed']],
  ])('%s', async (_, fields, expected) => {
    const answer = await createVideoByForm(customer, { webhook_url: url, ...fields })
    expect(await eventsOf(taskOf(answer))).toEqual(expected)
    expect(answer.headers.get('x-ignored-params')).toBeNull()
  })

  test('fields with brackets are not ignored', async () => {
    const events = ['video.failed', 'video.processing']
    const answer = await createVideoByForm(customer, { webhook_url: url, webhook_events: events })
    expect(await eventsOf(taskOf(answer))).toEqual(events)
    expect(answer.headers.get('x-ignored-params')).toBeNull()
  })

  test.each([[[]], [{}], [7], [[7]], [[['video.failed']]], [true], ['video.failed,,']])(
    '%j is refused',
    async (given) => {
      const answer = await createVideo(customer, { webhook_url: url, webhook_events: given })
      expectProblem(answer, 'invalid_parameter', 'webhook_events')
      expect(answer.body['error']).toHaveProperty(
        'message',
        expect.stringContaining(webhookEventsOf('video').join(', ')),
      )
    },
  )

  test('the defaults are the ends of a task', () => {
    expect(defaultWebhookEvents('video')).toEqual(['video.completed', 'video.failed'])
    expect(defaultWebhookEvents('transcription_task')).toEqual([
      'transcription_task.completed',
      'transcription_task.failed',
    ])
  })

  test('other creates say where a webhook is supported', async () => {
    for (const [path, body] of [
      ['/v1/chat/completions', { model: 'vidB-2', messages: [{ role: 'user', content: 'A whale' }] }],
      ['/v1/audio/speech', { model: 'chat-4o-mini-tts-2025-12-15', input: 'Hello', voice: 'alloy' }],
    ] as const) {
      const answer = await askJson(`${gateway.url}${path}`, customer.key, { ...body, webhook_url: url })
      expectProblem(answer, 'invalid_parameter', 'webhook_url')
      expect(answer.body['error']).toHaveProperty('message', expect.stringContaining('not supported here'))
    }
  })
})

/** A check of what creates and ends cost: a statement more fails it. */
describe('statements', () => {
  /** How long a queue is counts as known for a few seconds, so some creates count it. `queue-length.ts` */
  const isCountOfQueue = (statement: string) => statement.includes('queue.waiting')
  const statementsOf = async (marker: string, work: () => Promise<unknown>): Promise<string[]> => {
    using recorded = recordTransactions()
    await work()
    const [statements = [], ...others] = recorded.having(marker)
    expect(others).toEqual([])
    // The beginnings, for a readable difference.
    return statements.filter((each) => !isCountOfQueue(each)).map((each) => each.slice(0, 60))
  }
  /** With `begin` and `commit`. */
  const usual = 6
  const more: Record<string, string> = {
    'POST /v1/videos of family A': 'insert into media',
    'POST /v1/videos/{id}/remix as JSON': 'select id, removed_at is null',
    'POST /v1/videos/{id}/remix as a form': 'select id, removed_at is null',
    'POST /v1/videos/edits': 'select id, removed_at is null',
  }

  test.each(creations)('%s: a webhook adds one, and none is added without', async (name, object, send) => {
    const table = object === 'video' ? 'insert into video_tasks' : 'insert into transcription_tasks'
    const create = (fields: GivenFields) =>
      statementsOf(table, async () => taskOf(await send(customer, fields)))
    const plain = await create({})
    const additional = more[name]
    expect(plain, plain.join('\n')).toHaveLength(additional === undefined ? usual : usual + 1)
    if (additional !== undefined) expect(plain.join('\n')).toContain(additional)
    const first = await create({ webhook_url: `https://${randomUUID()}.example.com/` })
    expect(first.filter((each) => !plain.includes(each))).toEqual([
      expect.stringContaining('with given as materialized'),
    ])
    expect(first).toHaveLength(plain.length + 1)
    expect(await create({ webhook_url: url })).toEqual(first)
  })

  test('the end of a task has the same with and without one', async () => {
    const end = async (fields: GivenFields) => {
      const id = taskOf(await createVideo(customer, fields))
      return statementsOf('update video_tasks', () => endCreated(gateway, 'video', id))
    }
    const plain = await end({})
    expect(plain).toHaveLength(usual - 1)
    expect(await end({ webhook_url: url })).toEqual(plain)
  })
})
