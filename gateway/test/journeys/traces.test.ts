/**
 * Traces of whole tasks, as a collector receives them. With TRACE_IMAGES=<directory>, draws them there
 * (`TRACE_IMAGES=docs npx vitest run --project journeys gateway/test/journeys/traces.test.ts`).
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { drawTrace } from '../kit/draw-trace.ts'
import { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from '../kit/otlp-receiver.ts'
import { startStack, type Stack } from '../kit/stack.ts'

let receiver: OtlpReceiver
let stack: Stack

beforeAll(async () => {
  receiver = await startOtlpReceiver()
  stack = await startStack({
    vendorDurationMs: 1_000,
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_TRACES_SAMPLER_ARG: '1' },
  })
})
afterAll(async () => {
  await stack[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})

const draw = async (name: string, title: string, spans: ReceivedSpan[]) => {
  const directory = process.env['TRACE_IMAGES']
  if (directory === undefined) return
  const svg = drawTrace(title, spans)
  await writeFile(join(directory, `${name}.png`), await sharp(Buffer.from(svg)).png().toBuffer())
}

const spansOf = (taskId: string): ReceivedSpan[] => {
  const known = receiver.spans().find(({ attributes }) => attributes['kinora.task.id'] === taskId)
  return receiver.spans().filter(({ traceId }) => traceId === known?.traceId)
}
const untilTraced = async (taskId: string): Promise<ReceivedSpan[]> => {
  await stack.until('its trace has been received', async () => {
    const spans = spansOf(taskId)
    return ['video task', 'store', 'settle', 'POST /v1/videos'].every((wanted) =>
      spans.some(({ name }) => name === wanted),
    )
  })
  return spansOf(taskId)
}
const find = (spans: ReceivedSpan[], name: string) => spans.find((span) => span.name === name)

const linesOf = async (role: string) =>
  (await readFile(join(stack.directory, 'logs', `${role}-0.log`), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

test('a task is one trace, from its request to its settlement', async () => {
  const taskId = await stack.create('A whale')
  const spans = await untilTraced(taskId)
  await draw('trace', 'A video task, from the request to the settlement', spans)
  const task = find(spans, 'video task')
  expect(task?.parentSpanId).toBe(find(spans, 'POST /v1/videos')?.spanId)
  const childrenOf = (parent: ReceivedSpan | undefined) => [
    ...new Set(spans.filter(({ parentSpanId }) => parentSpanId === parent?.spanId).map(({ name }) => name)),
  ]
  expect(childrenOf(task).toSorted()).toEqual([
    ...['GET poll', 'dispatch', 'job', 'queue', 'settle', 'store', 'submit'],
  ])
  expect(childrenOf(find(spans, 'submit'))).toEqual(['POST submit'])
  expect(childrenOf(find(spans, 'store')).toSorted()).toEqual(['check', 'download', 'save'])
  expect(childrenOf(find(spans, 'download'))).toEqual(['GET download'])
  for (const { attributes, service } of spans) {
    expect(service).toMatch(/^kinora-(?:api|worker)$/)
    expect(JSON.stringify(attributes)).not.toContain('whale')
  }
  const ended = (await linesOf('worker')).find(
    (line) => line['taskId'] === taskId && line['msg'] === 'video.completed',
  )
  expect(ended).toMatchObject({ trace_id: task?.traceId, span_id: task?.spanId })
})

/** Kills the worker while it submits a task. A machine that stands still may miss that; then it is the next task. */
const killAtSubmit = async (): Promise<{ taskId: string; killedMs: number }> => {
  const [worker] = stack.workers
  const taskId = await stack.create('A whale vendor:slow-reply=2500')
  await stack.until(
    'the spans of its waits have been received',
    async () => find(spansOf(taskId), 'dispatch') !== undefined,
  )
  await worker?.kill()
  const killedMs = Date.now()
  const { rows } = await stack.database.postgres.query(
    'select from open_tasks where task_id = $1 and upstream is null',
    [taskId],
  )
  await worker?.start()
  return rows.length === 0 ? killAtSubmit() : { taskId, killedMs }
}

test('the trace of a task goes on after its worker was killed', async () => {
  const { taskId, killedMs } = await killAtSubmit()
  const spans = await untilTraced(taskId)
  await draw('trace-of-a-killed-worker', 'A video task whose worker was killed during the submit', spans)
  expect(find(spans, 'queue')?.endMs).toBeLessThan(killedMs)
  const task = find(spans, 'video task')
  expect(task?.attributes['error.type']).toBeUndefined()
  expect(spans.some(({ name, startMs }) => name === 'store' && startMs > killedMs)).toBe(true)
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
})
