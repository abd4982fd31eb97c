/** The time in an id is the creation time of its row, also if the clock of this process differs from the database's. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import { timeOfUuidV7 } from '../../src/platform/ids/uuid.ts'
import { createdAtOfTranscription } from '../../src/transcription-tasks/transcription-id.ts'
import { timeOfTaskId } from '../../src/videos/task-id.ts'
import { ask, askJson, pixelUri } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { wave } from '../kit/sound.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

const aheadMs = 100_000

let gateway: TestGateway
let operator: Operator
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startGateway()
  operator = await createOperator(gateway)
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

/** Calls `work` while the clock of this process, which serves the requests, is ahead. */
const whileAhead = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + aheadMs, shouldAdvanceTime: false })
  try {
    return await work()
  } finally {
    vi.useRealTimers()
  }
}

const secondOf = (date: Date | undefined) => Math.floor((date?.getTime() ?? 0) / 1000)
const post = (path: string, body: object) =>
  askJson(`${gateway.url}${path}`, key.text, { prompt: 'A whale', ...body })
const video = { model: 'vidB-2', seconds: 4, size: '1280x720' }
const createdAtOf = async (table: 'video_tasks' | 'transcription_tasks' | 'metered_requests', id: string) => {
  const { rows } = await gateway.database.postgres.query<{ createdAt: Date; day: string }>(
    `select created_at as "createdAt", day from ${table} where id = $1`,
    [id],
  )
  return rows[0]
}

test('ids of videos of every kind', async () => {
  const source = String((await post('/v1/videos', video)).body['id'])
  await completeTask(gateway, accountId, source)
  const familyA = { model: 'vidA_3_1', seconds: 5, size: '16x9', input_reference: pixelUri }
  const created = await whileAhead(async () => [
    await post('/v1/videos', video),
    await post('/v1/videos', familyA),
    await post('/v1/video/create', { model: 'vidA3' }),
    await post(`/v1/videos/${source}/remix`, {}),
  ])
  for (const { body } of created) {
    const id = String(body['id'])
    const shown = secondOf(timeOfTaskId(id))
    expect(Math.abs(shown - Date.now() / 1000)).toBeLessThan(aheadMs / 2000)
    expect(body['status_update_time']).toBe(shown)
    const row = await createdAtOf('video_tasks', id)
    expect(secondOf(row?.createdAt)).toBe(shown)
    expect(row?.day).toBe(row?.createdAt.toISOString().slice(0, 10))
    expect((await ask(`${gateway.url}/v1/videos/${id}`, key.text)).body).toMatchObject({ created_at: shown })
  }
})

test('ids of transcription tasks, whose recording is kept and removed with them', async () => {
  const data = new FormData()
  data.append('model', 'asr-1')
  data.append('file', new Blob([wave(1)]), 'a.wav')
  const url = `${gateway.url}/v1/audio/transcription-tasks`
  const { body } = await whileAhead(() => ask(url, key.text, { method: 'POST', body: data }))
  const id = String(body['id'])
  expect(body['created_at']).toBe(secondOf(createdAtOfTranscription(id)))
  expect(secondOf((await createdAtOf('transcription_tasks', id))?.createdAt)).toBe(body['created_at'])
  expect((await ask(`${url}/${id}`, key.text)).body).toMatchObject({ id, created_at: body['created_at'] })
})

test('ids of movements', async () => {
  const movement = await whileAhead(() =>
    operator.call('createTopUp', {
      id: accountId,
      body: { wallet: 'payg', amount_micros: 5_000_000, reason: 'paid', reference: 'clock-1' },
    }),
  )
  const atMs = timeOfUuidV7(String(movement.id).slice('mov_'.length)) ?? 0
  expect(movement.created_at).toBe(Math.floor(atMs / 1000))
  expect(Math.abs(atMs - Date.now())).toBeLessThan(aheadMs / 2)
})

test('a metered request has the time in its id, which is that of its response', async () => {
  const { headers } = await whileAhead(() =>
    ask(`${gateway.url}/v1/audio/speech`, key.text, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'ttsB-3.1-flash-tts-preview', voice: 'Kore', input: 'Hello' }),
    }),
  )
  const id = headers.get('x-request-id') ?? ''
  const row = await createdAtOf('metered_requests', id)
  expect(row?.createdAt.getTime()).toBe(timeOfUuidV7(id.slice('req_'.length)))
})
