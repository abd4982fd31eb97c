/** An expired task is hidden from every reader at once, before its row is dropped. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'

import { ask, askJson, expectProblem } from '../kit/answers.ts'
import { acceptedAt, daysAgo, recordingAt } from '../kit/expired.ts'
import { completeTask, createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let owner: { accountId: string; keyId: string }
let key: TestKey

beforeAll(async () => {
  gateway = await startGateway({ TASK_RETENTION_DAYS: '30' })
})
afterAll(() => gateway[Symbol.asyncDispose]())
beforeEach(async () => {
  const accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
  owner = { accountId, keyId: key.id }
})

const query = <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  gateway.database.postgres.query<Row>(text, values).then(({ rows }) => rows)
const read = (path: string) => ask(`${gateway.url}${path}`, key.text)
const idsIn = async (path: string) =>
  ((await read(path)).body['data'] as { id: string }[]).map(({ id }) => id)
const setTerm = (days: number | null) =>
  query('update accounts set task_retention_days = $2 where id = $1', [owner.accountId, days])
const completedAt = async (createdAt: Date) => {
  const task = await acceptedAt(gateway.database.postgres, owner, createdAt)
  await completeTask(gateway, owner.accountId, task.id)
  return task
}
test('an expired video task is not found by any operation', async () => {
  const expired = await completedAt(daysAgo(30.01))
  const kept = await completedAt(daysAgo(29.99))
  const { id } = expired
  const paths = [`/v1/videos/${id}`, `/v1/video/query?id=${id}`, `/v1/videos/${id}/content`]
  for (const path of [...paths, `/v1/videos/${id}/events`]) expectProblem(await read(path), 'task_not_found')
  expectProblem(await ask(`${gateway.url}/v1/videos/${id}`, key.text, { method: 'DELETE' }), 'task_not_found')
  expectProblem(await askJson(`${gateway.url}/v1/videos/${id}/cancel`, key.text, {}), 'task_not_found')
  const remix = await askJson(`${gateway.url}/v1/videos/${id}/remix`, key.text, { prompt: 'Again' })
  expectProblem(remix, 'task_not_found')
  expect((await read(`/v1/videos/${kept.id}`)).body).toMatchObject({ status: 'completed' })
  for (const order of ['asc', 'desc']) expect(await idsIn(`/v1/videos?order=${order}`)).toEqual([kept.id])
  expect(await idsIn(`/v1/videos?order=asc&after=${id}`)).toEqual([kept.id])
  expect(await idsIn(`/v1/videos?after=${kept.id}`)).toEqual([])
})

test('the retention of an account takes effect at once', async () => {
  const { id } = await completedAt(daysAgo(10))
  expect((await read(`/v1/videos/${id}`)).status).toBe(200)
  await setTerm(9)
  await expect.poll(() => read(`/v1/videos/${id}`).then(({ status }) => status)).toBe(404)
  expect(await idsIn('/v1/videos')).toEqual([])
  await setTerm(365)
  expect((await read(`/v1/videos/${id}`)).status).toBe(200)
  const older = await completedAt(daysAgo(200))
  expect((await read(`/v1/videos/${older.id}`)).status).toBe(200)
})

test('an expired transcription task is not found by any operation', async () => {
  const { postgres } = gateway.database
  const path = '/v1/audio/transcription-tasks'
  const [oldest, expired, older, kept] = [
    await recordingAt(postgres, owner, daysAgo(50)),
    await recordingAt(postgres, owner, daysAgo(30.01)),
    await recordingAt(postgres, owner, daysAgo(29)),
    await recordingAt(postgres, owner, daysAgo(1)),
  ]
  for (const each of [`${path}/${expired.id}`, `${path}/${expired.id}/transcript`]) {
    expectProblem(await read(each), 'task_not_found')
  }
  expectProblem(
    await ask(`${gateway.url}${path}/${expired.id}`, key.text, { method: 'DELETE' }),
    'task_not_found',
  )
  expect((await read(`${path}/${kept.id}`)).status).toBe(200)
  expectProblem(await read(`${path}/nonsense`), 'task_not_found')

  expect(await idsIn(path)).toEqual([kept.id, older.id])
  expect(await idsIn(`${path}?order=asc`)).toEqual([older.id, kept.id])
  expect(await idsIn(`${path}?order=asc&after=${oldest.id}`)).toEqual([older.id, kept.id])
  expect(await idsIn(`${path}?order=asc&after=${older.id}`)).toEqual([kept.id])
  const page = await read(`${path}?limit=2`)
  expect(page.body).toMatchObject({ first_id: kept.id, last_id: older.id })
  const next = await read(`${path}?limit=2&after=${older.id}`)
  expect(next.body).toMatchObject({ data: [], first_id: null, last_id: null, has_more: false })
  await setTerm(40)
  expect(await idsIn(path)).toEqual([kept.id, older.id, expired.id])
})
