import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { ask, askJson, form, pixel, pixelBytes, pixelUri } from '../kit/answers.ts'
import { allEventsIn, dataOf } from '../kit/event-reader.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { startStack, type Stack } from '../kit/stack.ts'

/** The one that stands before the vendor, and the one whose vendor it is. */
let inner: Stack
let outer: Stack

beforeAll(async () => {
  inner = await startStack()
  const { postgres } = inner.database
  const poor = await createKey(postgres, await createAccount(postgres, { balance: 0 }))
  const limited = await createKey(postgres, inner.accountId, { limits: { create: 1 } })
  const provider = (apiKey: string) => ({
    ...{ kind: 'kinora', baseUrl: inner.url, apiKey },
    ...{ pollIntervalMsMin: 250, pollIntervalMsMax: 1_000 },
  })
  outer = await startStack({
    routingConfig: () => ({
      providers: { inner: provider(inner.key), poor: provider(poor.text), limited: provider(limited.text) },
      models: { 'vidB-2-pro': { provider: 'poor' }, 'vidA2-fast': { provider: 'limited' } },
    }),
  })
})
afterAll(async () => {
  await outer[Symbol.asyncDispose]()
  await inner[Symbol.asyncDispose]()
})

const read = async ({ url, key }: Stack, id: string) => (await ask(`${url}/v1/videos/${id}`, key)).body

const ended = async (id: string) => {
  const isOver = async () => ['completed', 'failed'].includes(String((await read(outer, id))['status']))
  await outer.until(`${id} has ended`, isOver)
  return read(outer, id)
}

const accepted = ({ status, body }: Awaited<ReturnType<typeof ask>>): string => {
  expect({ status, body }).toMatchObject({ status: 200 })
  return String(body['id'])
}

const createVideo = async (fields: Record<string, string | Blob>) =>
  accepted(await ask(`${outer.url}/v1/videos`, outer.key, { method: 'POST', body: form(fields) }))

const createTask = async (fields: object) =>
  accepted(await askJson(`${outer.url}/v1/video/create`, outer.key, fields))

/** What the inner gateway understood, found by the prompt. */
const innerTask = async (prompt: string) => {
  const { rows } = await inner.database.postgres.query<{
    id: string
    model: string
    createdVia: string
    state: string
    order: Record<string, unknown>
  }>(
    `select id, model, created_via as "createdVia", state, video_order as "order" from video_tasks where video_order ->> 'prompt' = $1`,
    [prompt],
  )
  expect(rows).toHaveLength(1)
  return rows[0]
}

const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** Whatever the vendor makes. */
const sampleHash = hashOf(await readFile(new URL('../../../dev/vendor/sample.mp4', import.meta.url)))

const contentHash = async ({ url, key }: Stack, id: string) => {
  const headers = { authorization: `Bearer ${key}`, accept: 'video/mp4' }
  const answer = await fetch(`${url}/v1/videos/${id}/content`, { headers })
  expect(answer.status).toBe(200)
  return hashOf(Buffer.from(await answer.arrayBuffer()))
}

const base = { seconds: '4', size: '480x480', model: 'vidB-2' }

test.concurrent.each([
  {
    createdVia: 'videos',
    create: (prompt: string) =>
      createVideo({ ...base, prompt, style: 'anime', private: 'true', input_reference: pixel }),
    job: { seconds: '4', size: '480x480', referenceBytes: pixelBytes.length },
    order: { style: 'anime', isPrivate: true, watermark: true },
  },
  {
    createdVia: 'create',
    create: (prompt: string) =>
      createTask({
        ...{ model: 'vidB-2', prompt, images: [pixelUri, pixelUri], orientation: 'portrait', duration: 15 },
        ...{ size: 'large', watermark: false },
      }),
    job: { seconds: '15', size: '1080x1920', referenceBytes: 2 * pixelBytes.length },
    order: { isPrivate: false, watermark: false },
  },
  {
    createdVia: 'create, the only endpoint of its model',
    create: (prompt: string) =>
      createTask({ model: 'vidA3-fast', prompt, aspect_ratio: '9:16', enable_upsample: true }),
    job: { seconds: '8', size: '1080x1920', referenceBytes: 0 },
  },
  {
    createdVia: 'videos, the only endpoint of its model',
    create: (prompt: string) =>
      createVideo({ model: 'vidA_3_1', prompt, seconds: '8', size: '16x9', input_reference: pixel }),
    job: { seconds: '8', size: '1280x720', referenceBytes: pixelBytes.length },
  },
])('an order via $createdVia keeps its meaning and its bytes', async ({ createdVia, create, job, order }) => {
  const prompt = `A whale via ${createdVia}`
  const id = await create(prompt)
  expect(await ended(id)).toMatchObject({ status: 'completed', progress: 100 })
  expect(inner.vendor.jobs().filter((each) => each.prompt === prompt)).toMatchObject([{ ...job, submits: 1 }])
  expect(await contentHash(outer, id)).toBe(sampleHash)
  // What can be remixed is kept; the rest is let go once it was copied.
  if (order === undefined) return
  const found = await innerTask(prompt)
  expect(found).toMatchObject({ createdVia, state: 'completed', order })
  expect(await contentHash(inner, found?.id ?? '')).toBe(sampleHash)
})

test.concurrent('a task can be followed, remixed and deleted through both', async () => {
  const id = await createVideo({ ...base, prompt: 'A whale to be followed' })
  const headers = { authorization: `Bearer ${outer.key}` }
  const stream = await fetch(`${outer.url}/v1/videos/${id}/events`, { headers })
  const states = (await allEventsIn(stream.body)).map((event) => (dataOf(event) as { status: string }).status)
  expect([...new Set(states)]).toEqual(['pending', 'processing', 'completed'])

  const remixed = await askJson(`${outer.url}/v1/videos/${id}/remix`, outer.key, {
    prompt: 'The same whale at night',
    size: '1280x720',
  })
  const remixId = accepted(remixed)
  expect(await ended(remixId)).toMatchObject({ status: 'completed' })
  const source = await innerTask('A whale to be followed')
  expect(await innerTask('The same whale at night')).toMatchObject({
    createdVia: 'remix',
    order: { seconds: 4, size: '1280x720', remixOf: { taskId: source?.id } },
  })

  expect((await ask(`${outer.url}/v1/videos/${id}`, outer.key, { method: 'DELETE' })).status).toBe(200)
  const isGone = async () => (await ask(`${inner.url}/v1/videos/${source?.id}`, inner.key)).status === 404
  await inner.until('the inner task is deleted', isGone)
})

test.concurrent('a conversation is told to its end', async () => {
  const answer = await fetch(`${outer.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${outer.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ model: 'vidB-2', stream: true },
      messages: [{ role: 'user', content: 'A whale that is talked about' }],
    }),
  })
  const events = await allEventsIn(answer.body)
  expect(events.pop()).toEqual({ data: '[DONE]' })
  const lines = events.map(
    (event) => (dataOf(event) as { choices: [{ delta: { content: string } }] }).choices[0].delta.content,
  )
  expect(lines[0]).toMatch(/^task_id: vidB-2:/)
  expect(lines.at(-1)).toMatch(/^video_url: http/)
  expect(await innerTask('A whale that is talked about')).toMatchObject({ state: 'completed' })
})

test.concurrent.each([
  ['vendor:fail=content_policy_violation', 'vidB-2', 'content_policy_violation'],
  ['vendor:reject=invalid_parameter', 'vidB-2', 'invalid_parameter'],
  ['vendor:fail=invalid_image', 'vidB-2', 'invalid_image'],
  ['vendor:fail=server_error', 'vidB-2', 'upstream_error'],
  // The inner account has no money, which is nothing that this caller could pay.
  ['A whale that nobody pays for', 'vidB-2-pro', 'upstream_error'],
])('%s with %s ends in %s', async (prompt, model, code) => {
  const id = await createVideo({ ...base, model, prompt })
  expect(await ended(id)).toMatchObject({ status: 'failed', error: { code } })
})

test.concurrent('a gateway that says not now is waited for, and a cancelled task is cancelled there', async () => {
  const create = (prompt: string) => createTask({ model: 'vidA2-fast', prompt })
  const first = await create('A whale vendor:never')
  const isAtWork = async () => (await read(outer, first))['status'] === 'processing'
  await outer.until('the first is at work', isAtWork)
  const second = await create('A second whale vendor:never')
  const isTurnedAway = async () => {
    const { rows } = await outer.database.postgres.query<{ outcome: string }>(
      'select outcome from task_attempts where task_id = $1',
      [second],
    )
    return rows.some(({ outcome }) => outcome === 'busy')
  }
  await outer.until('the second was told to wait', isTurnedAway)
  expect(await read(outer, second)).toMatchObject({ status: 'pending' })
  for (const id of [first, second]) {
    const { body } = await ask(`${outer.url}/v1/videos/${id}/cancel`, outer.key, { method: 'POST' })
    expect(body).toMatchObject({ status: 'failed', error: { code: 'task_cancelled' } })
  }
  const isCancelled = async () => (await innerTask('A whale vendor:never'))?.state === 'failed'
  await inner.until('the inner task is cancelled', isCancelled)
})

test('in the end both books are right', async () => {
  // One video was deleted by its owner.
  await outer.assertLedger({ completed: 6, failed: 7, captures: 1 })
  // There it is gone as well, and so is everything that nobody could come back for, but not its money.
  const isLetGo = async () =>
    (await inner.states())['failed'] === 1 && (await inner.states())['completed'] === 4
  await inner.until('the inner tasks are let go', isLetGo)
  await inner.assertLedger({ completed: 4, failed: 1, captures: 3, releases: 4 })
})
