/** What customers and operators see of the steps of a task. */
import { readFile } from 'node:fs/promises'

import { keyScopes } from '@kinora/contract/key-scope'
import { operations } from '@kinora/contract/operations'
import type { TaskTimeline } from '@kinora/contract/operations/admin/task-timelines'
import type { TimelineStep, VideoTimeline } from '@kinora/contract/operations/video-timelines'
import Schema from 'typebox/schema'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { recordOutcome } from '../../src/videos/open-task-store.ts'
import { recordPolls } from '../../src/videos/polling/poll-store.ts'
import { dayOfTaskId } from '../../src/videos/task-id.ts'
import { ask, askJson, expectProblem } from '../kit/answers.ts'
import { recordingAt, daysAgo } from '../kit/expired.ts'
import { completeTask, createAccount, createKey, endTask, type TestKey } from '../kit/factories.ts'
import { listenForTest } from '../kit/listen-for-test.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'
import { startVendorWorker } from '../kit/vendor-worker.ts'
import { startWebhookWorker } from '../kit/webhook-worker.ts'

const sample = await readFile(new URL('../../../dev/vendor/sample.mp4', import.meta.url))

let gateway: VendorGateway
let operator: Operator
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startVendorGateway({ WEBHOOK_ALLOW_LOOPBACK: 'true' })
  const { postgres } = gateway.database
  operator = await createOperator(gateway)
  accountId = await createAccount(postgres)
  key = await createKey(postgres, accountId, { scopes: [...keyScopes] })
})
afterAll(() => gateway[Symbol.asyncDispose]())

const order = { model: 'vidB-2', seconds: 4, size: '480x480' }
const create = async (prompt = 'A whale', more: object = {}) => {
  const { status, body, headers } = await askJson(`${gateway.url}/v1/videos`, key.text, {
    ...{ ...order, ...more, prompt },
  })
  expect(status).toBe(200)
  return { id: String(body['id']), requestId: headers.get('x-request-id') }
}
const query = async (text: string, values: unknown[] = []) =>
  (await gateway.database.postgres.query<Record<string, unknown>>(text, values)).rows

const readTimeline = async (id: string): Promise<VideoTimeline> => {
  const { status, body } = await ask(`${gateway.url}/v1/videos/${id}/timeline`, key.text)
  expect(status).toBe(200)
  expect(Schema.Errors(operations.getVideoTimeline.answer.schema, body)).toEqual([true, []])
  return body as unknown as VideoTimeline
}
const readAdmin = (id: string) => operator.call('getTaskTimeline', { id }) as Promise<TaskTimeline>
const kindsOf = ({ steps }: { steps: Pick<TimelineStep, 'kind'>[] }) => steps.map(({ kind }) => kind)
const stepOf = ({ steps }: VideoTimeline, wanted: TimelineStep['kind']) =>
  steps.find(({ kind }) => kind === wanted)
/** Each step begins where it says, and ends after it began. */
const expectTimes = ({ steps, created_at: createdAt }: VideoTimeline | TaskTimeline) => {
  let last = 0
  for (const { started_at: start, ended_at: end, offset_ms: offset, duration_ms: ms } of steps) {
    expect(offset).toBeGreaterThanOrEqual(last)
    expect(start).toBeGreaterThanOrEqual(createdAt)
    expect(end === null).toBe(ms === null)
    if (end !== null) expect(end).toBeGreaterThanOrEqual(start)
    last = offset
  }
}
const upstreamOf = async (id: string) =>
  (await query('select upstream from open_tasks where task_id = $1', [id]))[0]?.['upstream']

/** The provider is asked twice and has the video the second time, as the loop of polls records it. */
const pollTwice = async (id: string) => {
  const { postgres } = gateway.database
  const polled = { taskId: id, day: dayOfTaskId(id) ?? '', nextPollMs: 0, isPoll: true }
  await recordPolls(postgres, [{ ...polled, progress: 40, outcome: null }])
  const outcome = { kind: 'done' as const, result: await upstreamOf(id) }
  await recordPolls(postgres, [{ ...polled, progress: null, outcome, startsRun: true }])
}

describe('a completed video', () => {
  test('has every step from the request to the webhook, with durations, polls and amounts', async () => {
    await using worker = await startVendorWorker(gateway)
    const statuses = [500, 200]
    await using receiver = await listenForTest((_, response) => {
      response.writeHead(statuses.shift() ?? 200).end()
    })
    await using webhooks = await startWebhookWorker(gateway, { pausesSeconds: [60] })
    await askJson(`${gateway.url}/v1/webhook_endpoints`, key.text, {
      ...{ url: receiver.url, events: ['video.completed'] },
    })
    const { id, requestId } = await create('A whale vendor:duration=0ms')
    await worker.submit(id)
    await pollTwice(id)
    expect(await worker.settle(id)).toMatchObject({ kind: 'completed' })
    await expect
      .poll(async () => (await readTimeline(id)).steps.filter(({ kind }) => kind === 'webhook').length)
      .toBe(2)
    await webhooks.untilSent()
    await expect.poll(async () => stepOf(await readTimeline(id), 'accepted')?.request_id).toBe(requestId)

    const timeline = await readTimeline(id)
    expectTimes(timeline)
    const order = ['accepted', 'hold', 'queue', 'submit', 'generate', 'store', 'settle', 'webhook', 'webhook']
    expect(kindsOf(timeline).toSorted()).toEqual(order.toSorted())
    expect(timeline).toMatchObject({ status: 'completed', explanation: null })
    const held = stepOf(timeline, 'hold')?.amount_micros
    expect(held).toBeGreaterThan(0)
    expect(stepOf(timeline, 'queue')).toMatchObject({ outcome: 'started' })
    expect(stepOf(timeline, 'submit')).toMatchObject({ attempt: 1, outcome: 'accepted', provider: null })
    expect(stepOf(timeline, 'generate')).toMatchObject({
      ...{ outcome: 'done', polls: 2, last_poll_at: expect.any(Number) },
    })
    expect(stepOf(timeline, 'store')).toMatchObject({ outcome: 'stored', duration_ms: expect.any(Number) })
    expect(stepOf(timeline, 'settle')).toMatchObject({ outcome: 'captured', amount_micros: held })
    expect(timeline.steps.filter(({ kind }) => kind === 'webhook')).toMatchObject([
      { attempt: 1, outcome: 'failed', status: 500, event_type: 'video.completed' },
      { attempt: 2, outcome: null, status: null, duration_ms: null, detail: expect.stringMatching(/due at/) },
    ])
    expect(timeline.details).toMatchObject({
      prompt: 'A whale vendor:duration=0ms',
      ...{ key_id: key.id, hold_micros: held, captured_micros: held },
      variants: ['video', 'thumbnail', 'spritesheet'],
    })
    expect(timeline.request).toEqual({
      ...{ width: expect.any(Number), height: expect.any(Number), watermark: true, private: false },
      ...{ sound: true, style: null, enhance_prompt: false, characters: [], files: 0 },
    })

    // A delivery that is sent again succeeds, and a refund is a step of its own.
    const [{ id: deliveryId } = {}] = await query('select id from webhook_deliveries where object_id = $1', [
      id,
    ])
    await ask(`${gateway.url}/v1/webhook_deliveries/${String(deliveryId)}/redeliver`, key.text, {
      method: 'POST',
    })
    await expect
      .poll(async () => (await readTimeline(id)).steps.findLast(({ kind }) => kind === 'webhook')?.status)
      .toBe(200)
    await operator.call('createRefund', { id, body: { amount_micros: 1000, reason: 'It was late.' } })
    expect(stepOf(await readTimeline(id), 'refund')).toMatchObject({
      ...{ outcome: 'refunded', amount_micros: 1000 },
    })
  })

  test('operators also see the provider, the decision and the calls, and no prompt', async () => {
    await using worker = await startVendorWorker(gateway)
    const { id } = await create('A secret whale vendor:duration=0ms')
    await worker.submit(id)
    await pollTwice(id)
    await worker.settle(id)
    const timeline = await readAdmin(id)
    expectTimes(timeline)
    expect(timeline).toMatchObject({ kind: 'video', account_id: accountId, status: 'completed' })
    expect(timeline.steps.find(({ kind }) => kind === 'submit')).toMatchObject({
      ...{ provider: 'vendor', reason: 'the only route', skipped: [], submit_outcome: 'accepted' },
      exchanges: [{ what: 'submit', method: 'POST' }],
    })
    expect(timeline.steps.find(({ kind }) => kind === 'generate')).toMatchObject({ provider: 'vendor' })
    // Only the redacted calls to the provider have what was sent to it.
    const steps = JSON.stringify(timeline.steps.map((step) => ({ ...step, exchanges: [] })))
    expect(steps).not.toContain('secret')
    const shown = JSON.stringify(await readTimeline(id))
    expect(shown).not.toMatch(/"vendor"|the only route|exchanges/)
  })
})

describe('a task that has not ended', () => {
  test('waits in its last step, and then is generated in it', async () => {
    await using worker = await startVendorWorker(gateway)
    const { id } = await create()
    const waiting = await readTimeline(id)
    expect(kindsOf(waiting)).toEqual(['accepted', 'hold', 'queue'])
    expect(waiting.steps.at(-1)).toMatchObject({ ended_at: null, duration_ms: null, outcome: null })
    expect(waiting).toMatchObject({ status: 'pending', finished_at: null, details: { variants: [] } })
    await worker.submit(id)
    const running = await readTimeline(id)
    expect(kindsOf(running)).toEqual(['accepted', 'hold', 'queue', 'submit', 'generate'])
    expect(running.steps.at(-1)).toMatchObject({ ended_at: null, polls: 0, last_poll_at: null })
    expect(running.details.captured_micros).toBeNull()
  })

  test('is being submitted', async () => {
    const { id } = await create()
    await query(
      `update open_tasks set stage = 'submitting', submits = 1, outcome_unknown_since = now() where task_id = $1`,
      [id],
    )
    const { steps } = await readTimeline(id)
    expect(steps.at(-1)).toMatchObject({ kind: 'submit', attempt: 1, ended_at: null, outcome: null })
  })

  test('waits again after a provider could not take it', async () => {
    await using worker = await startVendorWorker(gateway, {}, 'wrong-key')
    const { id } = await create()
    await worker.submit(id)
    const timeline = await readTimeline(id)
    expect(kindsOf(timeline)).toEqual(['accepted', 'hold', 'queue', 'submit', 'queue'])
    expect(timeline.steps[3]).toMatchObject({ outcome: 'failed', attempt: 1 })
    expect((await readAdmin(id)).steps[3]).toMatchObject({
      ...{ submit_outcome: 'unauthorized', failure_reason: expect.any(String) },
    })
    await query('delete from route_health')
  })

  test('may be at a provider whose response was lost', async () => {
    const protocolSettings = { idempotentSubmits: false, lookup: false }
    await using worker = await startVendorWorker(gateway, { protocolSettings })
    const { id } = await create('A whale vendor:drop-reply')
    await worker.submit(id)
    const { steps } = await readTimeline(id)
    expect(steps.find(({ kind }) => kind === 'submit')).toMatchObject({ outcome: 'unknown' })
    expect(steps.at(-1)).toMatchObject({
      kind: 'generate',
      ended_at: null,
      detail: expect.stringMatching(/lost/),
    })
    await worker.end(id)
  })
})

describe('a failed video is explained', () => {
  test.for([
    ['reject=server_error', true, /Send the request again/],
    ['reject=moderation_blocked', false, /Change the prompt/],
  ] as const)('vendor:%s', async ([marker, isSafe, remedy]) => {
    await using worker = await startVendorWorker(gateway)
    const { id } = await create(`A whale vendor:${marker}`)
    await worker.submit(id)
    const timeline = await readTimeline(id)
    expect(timeline.explanation).toEqual({
      ...{ cause: expect.any(String), what_to_do: expect.stringMatching(remedy) },
      ...{ charged_micros: 0, currency: 'USD', is_repeat_safe: isSafe },
    })
    expect(stepOf(timeline, 'settle')).toMatchObject({ outcome: 'released' })
    expect(JSON.stringify(timeline.explanation)).not.toMatch(/vendor|undefined|null/)
    expect((await readAdmin(id)).explanation).toEqual(timeline.explanation)
  })

  test('with where it stood: in the queue, at its provider, and while it was stored', async () => {
    await using worker = await startVendorWorker(gateway)
    const [queued, running, done] = await Promise.all([
      create(),
      create('A whale vendor:never'),
      create('A whale vendor:duration=0ms'),
    ])
    await worker.end(queued.id)
    await worker.submit(running.id)
    await worker.end(running.id)
    await worker.submit(done.id)
    await recordOutcome(gateway.database.postgres, done.id, {
      ...{ kind: 'done', result: await upstreamOf(done.id) },
    })
    gateway.vendor.faults.fault = 'garbage@downloadxall'
    await worker.settle(done.id)
    await worker.end(done.id)
    gateway.vendor.faults.fault = ''
    const causeOf = async (id: string) => (await readTimeline(id)).explanation?.cause
    expect(await causeOf(queued.id)).toMatch(/still waiting for a free slot/)
    expect(await causeOf(running.id)).toMatch(/while it was generated/)
    expect(await causeOf(done.id)).toMatch(/after it was generated/)
  })

  test('a cancelled one', async () => {
    const { id } = await create()
    await ask(`${gateway.url}/v1/videos/${id}/cancel`, key.text, { method: 'POST' })
    const { explanation, steps } = await readTimeline(id)
    expect(explanation).toMatchObject({ what_to_do: expect.stringMatching(/Nothing/), is_repeat_safe: true })
    expect(steps.find(({ kind }) => kind === 'queue')).toMatchObject({ outcome: 'failed' })
  })
})

test('a remix and its source name each other; operators see no prompt', async () => {
  const { id: source } = await create(`A whale ${'and a whale '.repeat(30)}`)
  await completeTask(gateway, accountId, source)
  const remix = async () =>
    String(
      (await askJson(`${gateway.url}/v1/videos/${source}/remix`, key.text, { prompt: 'At night' })).body[
        'id'
      ],
    )
  const ids = [await remix(), await remix()]
  const { lineage } = await readTimeline(source)
  expect(lineage.source).toBeNull()
  expect(lineage.remixes.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
  expect(lineage.remixes[0]).toMatchObject({ status: 'pending', created_at: expect.any(Number) })
  const [id = ''] = ids
  const ofRemix = (await readTimeline(id)).lineage
  expect(ofRemix).toMatchObject({ source: { id: source, status: 'completed' }, remixes: [] })
  expect(ofRemix.source?.prompt).toMatch(/^A whale and a whale/)
  expect(ofRemix.source?.prompt).toHaveLength(200)
  expect((await readAdmin(id)).lineage.source).toEqual({ id: source, prompt: null, status: 'completed' })
  await query('delete from video_tasks where id = $1', [source])
  expect((await readTimeline(id)).lineage.source).toEqual({ id: source, prompt: null, status: null })
})

test('a transcription task has a timeline for operators', async () => {
  const { id } = await recordingAt(gateway.database.postgres, { accountId, keyId: key.id }, daysAgo(0))
  const timeline = await readAdmin(id)
  expect(timeline).toMatchObject({ kind: 'transcription', status: 'pending', explanation: null })
  expect(timeline.steps.at(-1)).toMatchObject({ kind: 'queue', ended_at: null })
  await query(
    `update open_transcriptions set stage = 'working', started_at = clock_timestamp() where task_id = $1`,
    [id],
  )
  expect((await readAdmin(id)).steps.at(-1)).toMatchObject({ kind: 'transcribe', ended_at: null })
})

test('404 for tasks of other accounts and unknown ones', async () => {
  const { postgres } = gateway.database
  const other = await createKey(postgres, await createAccount(postgres))
  const { id } = await create()
  expectProblem(await ask(`${gateway.url}/v1/videos/${id}/timeline`, other.text), 'task_not_found')
  expectProblem(await ask(`${gateway.url}/v1/videos/nothing/timeline`, key.text), 'task_not_found')
  expectProblem(await operator.ask('getTaskTimeline', { id: 'nothing' }), 'task_not_found')
})

describe('the media of a task for operators', () => {
  const open = (id: string, search = '', { text }: TestKey = operator) =>
    fetch(`${gateway.url}/admin/v1/tasks/${id}/content${search}`, {
      headers: { authorization: `Bearer ${text}` },
    })
  const auditOf = (id: string) =>
    query('select actor, action, after from audit_log where target = $1 order by sequence', [id])

  test('are sent as to the customer, and every download is in the audit log', async () => {
    const { id } = await create()
    await completeTask(gateway, accountId, id, { bytes: sample })
    const video = await open(id)
    expect([video.status, video.headers.get('content-type')]).toEqual([200, 'video/mp4'])
    const theirs = await fetch(`${gateway.url}/v1/videos/${id}/content?variant=video`, {
      headers: { authorization: `Bearer ${key.text}` },
    })
    expect(Buffer.from(await video.arrayBuffer())).toEqual(Buffer.from(await theirs.arrayBuffer()))
    const sheet = await open(id, '?variant=spritesheet')
    expect(sheet.headers.get('content-type')).toBe('image/jpeg')
    expect(sheet.headers.get('x-spritesheet')).toMatch(/^columns=4, rows=4, interval-ms=\d+$/)
    await sheet.arrayBuffer()
    const after = (variant: string) => ({ account_id: accountId, variant })
    expect(await auditOf(id)).toEqual([
      { actor: operator.id, action: 'getTaskContent', after: after('video') },
      { actor: operator.id, action: 'getTaskContent', after: after('spritesheet') },
    ])
  })

  test('are refused for other roles, before the end and after a failure', async () => {
    const { postgres } = gateway.database
    const { id } = await create()
    const reader = await createKey(postgres, '', { kind: 'admin', role: 'read' })
    expect((await open(id, '', reader)).status).toBe(403)
    expectProblem(await operator.ask('getTaskContent', { id }), 'task_not_completed')
    await endTask(postgres, id, { kind: 'failed', code: 'upstream_error', message: 'It broke.' })
    expectProblem(await operator.ask('getTaskContent', { id }), 'task_failed')
    expectProblem(await operator.ask('getTaskContent', { id: 'nothing' }), 'task_not_found')
    expect(await auditOf(id)).toEqual([])
  })
})
