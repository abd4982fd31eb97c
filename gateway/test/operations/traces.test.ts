/** Traces of requests: what a caller can do to them, what they contain, and which tasks are always traced. */
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'

import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'

import { currentIds, logOptions } from '../../src/platform/log.ts'
import { startTracing } from '../../src/platform/tracing/start-tracing.ts'
import { createFinishTask, settleVideo } from '../../src/videos/lifecycle/settle-video.ts'
import type { Ending } from '../../src/videos/task.ts'
import { ask, form } from '../kit/answers.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { startOtlpReceiver, type OtlpReceiver } from '../kit/otlp-receiver.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'

const output = new PassThrough()
const log = pino({ ...logOptions('info', 'api'), mixin: currentIds }, output)
let receiver: OtlpReceiver
let gateway: TestGateway
let key: string
let stopTracing: () => Promise<void>

const startWith = async (ratio: number) => {
  stopTracing = await startTracing({ url: `${receiver.url}/v1/traces`, role: 'api', ratio }, log)
}
/** The spans so far, complete. */
const received = async () => {
  await stopTracing()
  return receiver.spans()
}

beforeAll(async () => {
  receiver = await startOtlpReceiver()
  // The server looks at its start whether it is to trace.
  await startWith(1)
  gateway = await startGateway({}, undefined, log)
  await stopTracing()
  const { postgres } = gateway.database
  key = (await createKey(postgres, await createAccount(postgres, { balance: 100 }))).text
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})
beforeEach(() => receiver.clear())
afterEach(() => stopTracing())

const prompt = 'A whale named Quetzalcoatlus'

const create = async (headers: Record<string, string> = {}) => {
  const order = { model: 'vidB-2', prompt, seconds: '4', size: '480x480' }
  const { status, body } = await ask(`${gateway.url}/v1/videos`, key, {
    method: 'POST',
    body: form(order),
    headers,
  })
  expect(status).toBe(200)
  return String(body['id'])
}

const storedContextOf = async (id: string) => {
  const { rows } = await gateway.database.postgres.query<{ context: string | null }>(
    'select trace_context as context from open_tasks where task_id = $1',
    [id],
  )
  return rows[0]?.context
}

const settle = (id: string, ending: Ending) => {
  const { postgres } = gateway.database
  return settleVideo(
    {
      postgres,
      log,
      mediaStore: gateway.mediaStore,
      finishTask: createFinishTask(postgres),
      providers: { all: () => [], known: () => [], find: () => undefined, get: () => expect.fail() },
      onSlotFreed: () => undefined,
      announce: () => undefined,
      discardJob: async () => undefined,
      forgetCharacters: async () => [],
    },
    id,
    ending,
  )
}

const failed: Ending = { kind: 'failed', code: 'upstream_error', message: `It broke: ${prompt}` }

test('a request is a span, and its context is stored with the task', async () => {
  await startWith(1)
  const id = await create()
  const context = await storedContextOf(id)
  const [span, ...others] = await received()
  expect(others).toEqual([])
  expect(span).toMatchObject({
    name: 'POST /v1/videos',
    service: 'kinora-api',
    parentSpanId: undefined,
    isError: false,
    attributes: {
      'http.request.method': 'POST',
      'http.route': '/v1/videos',
      'http.response.status_code': 200,
      'kinora.operation': 'createVideo',
      'kinora.task.id': id,
    },
  })
  expect(context).toBe(`00-${span?.traceId}-${span?.spanId}-01`)
})

test('no span has a text of the caller, or a key', async () => {
  await startWith(1)
  await create({ 'user-agent': prompt, 'x-client-request-id': 'Quetzalcoatlus' })
  await ask(`${gateway.url}/v1/videos/Quetzalcoatlus:1700000000-00aaaaaaaaaaaa?Quetzalcoatlus=1`, key)
  await ask(`${gateway.url}/Quetzalcoatlus`, key)
  await ask(`${gateway.url}/v1/videos`, key, { method: 'POST', body: form({ model: 'Quetzalcoatlus' }) })
  expect((await received()).map(({ name }) => name).toSorted()).toEqual([
    'GET',
    'GET /v1/videos/:id',
    'POST /v1/videos',
    'POST /v1/videos',
  ])
  const sent = receiver.bodies().join('\n')
  expect(sent).not.toContain('Quetzalcoatlus')
  expect(sent).not.toContain(key)
})

test("a caller's traceparent becomes a link, and chooses neither trace nor sampling", async () => {
  await startWith(1)
  const id = await create({ traceparent: `00-${traceId}-${spanId}-00`, tracestate: 'vendor=Quetzalcoatlus' })
  expect(await storedContextOf(id)).not.toContain(traceId)
  const [span] = await received()
  expect(span?.traceId).not.toBe(traceId)
  expect(span?.parentSpanId).toBeUndefined()
  expect(span?.links).toEqual([{ traceId, spanId }])
  expect(receiver.bodies().join('\n')).not.toContain('Quetzalcoatlus')
})

test('a caller cannot force a trace to be sampled', async () => {
  await startWith(0)
  for (let sent = 0; sent < 10; sent += 1)
    await create({ traceparent: `00-${traceId}-${spanId}-01`, tracestate: 'sampled=1' })
  expect(await received()).toEqual([])
})

test.for([
  '',
  'garbage',
  'x'.repeat(10_000),
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `00-${traceId}-${spanId}-01-Quetzalcoatlus`,
  `ff-${traceId}-${spanId}-01`,
  `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
])('a hostile traceparent is ignored: %#', async (traceparent) => {
  await startWith(1)
  const id = await create({ traceparent, tracestate: `a=${'y'.repeat(4_000)}` })
  expect((await storedContextOf(id))?.length).toBe(55)
  const [span] = await received()
  expect(span?.links).toEqual([])
  expect(receiver.bodies().join('\n').length).toBeLessThan(4_000)
})

test('a task that failed is traced although its request was not sampled', async () => {
  await startWith(0)
  const id = await create()
  const context = await storedContextOf(id)
  await settle(id, failed)
  const spans = await received()
  const task = spans.find(({ name }) => name === 'video task')
  expect(task).toMatchObject({
    traceId: context?.split('-')[1],
    // The span of the request was not sampled.
    parentSpanId: undefined,
    isError: true,
    attributes: { 'kinora.task.id': id, 'error.type': 'upstream_error' },
  })
  expect(spans.map(({ name }) => name).toSorted()).toEqual(['queue', 'settle', 'video task'])
  expect(new Set(spans.map((span) => span.traceId)).size).toBe(1)
  expect(receiver.bodies().join('\n')).not.toContain('Quetzalcoatlus')
})

test('a task that was cancelled, and whose request was not sampled, is not traced', async () => {
  await startWith(0)
  const id = await create()
  expect((await ask(`${gateway.url}/v1/videos/${id}/cancel`, key, { method: 'POST' })).status).toBe(200)
  expect(await received()).toEqual([])
})

test('log lines have the ids of their trace, also if it is not sampled', async () => {
  await startWith(0)
  output.read()
  const id = await create()
  const context = await storedContextOf(id)
  await settle(id, failed)
  output.end()
  const lines = (await text(output))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  const [, trace, span] = context?.split('-') ?? []
  expect(lines).toContainEqual(
    expect.objectContaining({ msg: 'request.completed', taskId: id, trace_id: trace, span_id: span }),
  )
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'video.failed', taskId: id, trace_id: trace }))
})
