/** The cache of tasks that status reads use. */
import type { QueryResultRow } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { Database } from '../../src/platform/postgres.ts'
import { markProcessing } from '../../src/tasks/task-store.ts'
import { createReadTask } from '../../src/videos/api/read-task.ts'
import { dayOfTaskId } from '../../src/videos/task-id.ts'
import { videoTables } from '../../src/videos/task.ts'
import { ask, askJson } from '../kit/answers.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startGateway()
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '1280x720' }
const create = async () => String((await askJson(`${gateway.url}/v1/videos`, key.text, order)).body['id'])
/** Changes the task without a notification. */
const begin = (id: string) =>
  markProcessing(gateway.database.postgres, videoTables, [{ day: dayOfTaskId(id) ?? '', id }])

/** The database, with a count of the queries, whose results arrive only while the gate is open. */
const gatedDatabase = () => {
  let open = () => {}
  let gate = Promise.resolve()
  let queries = 0
  const database: Database = {
    query: async <Row extends QueryResultRow>(text: string, values?: unknown[]) => {
      queries += 1
      const result = await gateway.database.postgres.query<Row>(text, values)
      await gate
      return result
    },
  }
  return {
    database,
    queries: () => queries,
    close: () => {
      gate = new Promise((resolve) => {
        open = resolve
      })
    },
    open: () => open(),
  }
}
const startReading = () => {
  const gated = gatedDatabase()
  return { ...gated, readTask: createReadTask(gated.database, () => 30) }
}

describe('a task', () => {
  test('is cached, for a second at most', async () => {
    const { readTask, queries } = startReading()
    const id = await create()
    expect(await readTask(id, accountId)).toBe(await readTask(id, accountId))
    expect(queries()).toBe(1)
    await begin(id)
    await expect.poll(async () => (await readTask(id, accountId)).state).toBe('processing')
  })

  test('is read again at once after a notification, and when a fresh one is required', async () => {
    const { readTask } = startReading()
    for (const renew of [
      async (id: string) => readTask.forget([id]),
      async () => readTask.forget([]),
      async (id: string) => readTask(id, accountId, { isFresh: true }),
    ]) {
      const id = await create()
      await readTask(id, accountId)
      await begin(id)
      await renew(id)
      expect((await readTask(id, accountId)).state).toBe('processing')
    }
  })

  test('is read again if the cached one is not accepted, and once if it is not cached', async () => {
    const { readTask, queries } = startReading()
    const id = await create()
    const accepts = () => false
    await readTask(id, accountId, { accepts })
    expect(queries()).toBe(1)
    await begin(id)
    expect((await readTask(id, accountId, { accepts })).state).toBe('processing')
    expect((await readTask(id, accountId, { accepts: () => true })).state).toBe('processing')
    expect(queries()).toBe(2)
  })

  test('is read once for concurrent requests', async () => {
    const { readTask, queries, close, open } = startReading()
    const id = await create()
    close()
    const reads = Array.from({ length: 20 }, () => readTask(id, accountId))
    await expect.poll(queries).toBe(1)
    reads.push(...Array.from({ length: 20 }, () => readTask(id, accountId)))
    open()
    expect(new Set(await Promise.all(reads)).size).toBe(1)
    expect(queries()).toBe(1)
  })

  test('that changes while it is read is not cached in its old state', async () => {
    for (const ids of [(id: string) => [id], () => []]) {
      const { readTask, queries, close, open } = startReading()
      const id = await create()
      close()
      const early = readTask(id, accountId)
      await expect.poll(queries).toBe(1)
      await begin(id)
      readTask.forget(ids(id))
      const late = readTask(id, accountId)
      open()
      expect([(await early).state, (await late).state]).toEqual(['pending', 'processing'])
      expect((await readTask(id, accountId)).state).toBe('processing')
    }
  })

  test('in the cache is not found by another account', async () => {
    const { readTask } = startReading()
    const id = await create()
    await readTask(id, accountId)
    const other = await createAccount(gateway.database.postgres)
    await expect(readTask(id, other)).rejects.toMatchObject({ code: 'task_not_found' })
  })
})

test('a client that was told another state than the cached one gets the current one', async () => {
  const id = await create()
  const read = (headers = {}) => ask(`${gateway.url}/v1/videos/${id}`, key.text, { headers })
  await read()
  await begin(id)
  const answer = await read({ 'if-none-match': 'W/"a state that another process has told"' })
  expect(answer.body).toMatchObject({ status: 'processing' })
})

test('a deleted task is gone at once, in other processes after a notification', async () => {
  await using other = await startGateway({}, gateway)
  const id = await create()
  const read = (url: string) => ask(`${url}/v1/videos/${id}`, key.text)
  await ask(`${gateway.url}/v1/videos/${id}/cancel`, key.text, { method: 'POST' })
  for (const url of [gateway.url, other.url]) expect((await read(url)).status).toBe(200)
  expect((await ask(`${gateway.url}/v1/videos/${id}`, key.text, { method: 'DELETE' })).status).toBe(200)
  expect((await read(gateway.url)).status).toBe(404)
  await expect.poll(async () => (await read(other.url)).status).toBe(404)
})
