import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { auditLedger } from '../../src/billing/ledger-store.ts'
import { ask, askJson, expectProblem, form, pixel } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, endTask, type TestKey } from '../kit/factories.ts'
import { recordOf, startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let accountId: string
let key: TestKey

const create = async (fields: Record<string, string | Blob> = {}) => {
  const { body } = await ask(`${gateway.url}/v1/videos`, key.text, {
    method: 'POST',
    body: form({ model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '480x480', ...fields }),
  })
  return String(body['id'])
}
const cancel = (id: string, text = key.text, init: RequestInit = {}) =>
  ask(`${gateway.url}/v1/videos/${id}/cancel`, text, { method: 'POST', ...init })
const one = async (text: string, values: unknown[]) =>
  (await gateway.database.postgres.query<Record<string, unknown>>(text, values)).rows[0]
const heldAndAvailable = () =>
  one('select held_micros as held, available_micros as available from balances where account_id = $1', [
    accountId,
  ])

beforeAll(async () => {
  gateway = await startGateway()
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

describe('200', () => {
  test('ends a waiting task as failed, gives its money back and removes its pictures', async () => {
    const before = await heldAndAvailable()
    const { files: filesBefore } = await recordOf(gateway)
    const id = await create({ input_reference: pixel })
    expect(await heldAndAvailable()).not.toEqual(before)
    const { status, body } = await cancel(id)
    expect(status).toBe(200)
    expect(body).toEqual({
      id,
      status: 'failed',
      progress: 0,
      video_url: null,
      model: 'vidB-2',
      seconds: 4,
      size: '480x480',
      error: { code: 'task_cancelled', message: 'The task was cancelled.' },
    })
    expect(await heldAndAvailable()).toEqual(before)
    expect(await one('select count(*) from open_tasks where task_id = $1', [id])).toEqual({ count: 0 })
    expect((await recordOf(gateway)).files).toEqual(filesBefore)
    expect(await auditLedger(gateway.database.postgres)).toMatchObject({ sumMicros: 0, heldByFinished: 0 })
    expect(
      await one(`select data from task_events where task_id = $1 and kind = 'failed'`, [id]),
    ).toMatchObject({ data: { code: 'task_cancelled' } })
  })

  test('ends one that a provider works on, although the provider is out of reach', async () => {
    const id = await create()
    await gateway.database.postgres.query(
      `update open_tasks set stage = 'waiting', run = 1, awakeable = 'sign_nobody', upstream = '{"id":"x"}' where task_id = $1`,
      [id],
    )
    await gateway.database.postgres.query(
      `update video_tasks set state = 'processing', progress = 40 where id = $1`,
      [id],
    )
    const { body } = await cancel(id)
    expect(body).toMatchObject({ status: 'failed', progress: 40, error: { code: 'task_cancelled' } })
  })

  test('answers a task of family A in its own shape', async () => {
    const id = await create({ model: 'vidA_3_1', size: '16x9', input_reference: pixel })
    expect((await cancel(id)).body).toMatchObject({ status: 'failed', enhanced_prompt: 'A whale' })
  })

  test('answers one that has ended as it is, again and again', async () => {
    const id = await create()
    const first = await cancel(id)
    const before = await recordOf(gateway)
    expect((await cancel(id)).body).toEqual(first.body)
    const done = await create()
    await completeTask(gateway, accountId, done)
    const completed = await cancel(done)
    expect(completed.status).toBe(200)
    expect(completed.body).toMatchObject({
      status: 'completed',
      video_url: expect.stringContaining('/media/'),
    })
    const failed = await create()
    await endTask(gateway.database.postgres, failed, {
      kind: 'failed',
      code: 'upstream_error',
      message: 'no',
    })
    expect((await cancel(failed)).body).toMatchObject({ error: { code: 'upstream_error' } })
    expect((await recordOf(gateway)).files.length).toBe(before.files.length + 1)
  })

  test('many cancels at once end it once', async () => {
    const before = await heldAndAvailable()
    const id = await create()
    const answers = await Promise.all(Array.from({ length: 10 }, () => cancel(id)))
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(await heldAndAvailable()).toEqual(before)
    expect(
      await one(`select count(*) from task_events where task_id = $1 and kind = 'failed'`, [id]),
    ).toEqual({ count: 1 })
  })

  test('takes a body and passes it over', async () => {
    const answer = await askJson(`${gateway.url}/v1/videos/${await create()}/cancel`, key.text, { why: 'so' })
    expect(answer.body).toMatchObject({ status: 'failed' })
  })
})

describe('404', () => {
  test('task_not_found for an id that is unknown or of another account', async () => {
    const { postgres } = gateway.database
    const stranger = await createKey(postgres, await createAccount(postgres))
    const id = await create()
    expectProblem(await cancel(id, stranger.text), 'task_not_found')
    expectProblem(await cancel('nonsense'), 'task_not_found')
    expectProblem(await cancel('vidB-2:1700000000-00abcdefghijkl'), 'task_not_found')
    expect((await ask(`${gateway.url}/v1/videos/${id}`, key.text)).body).toMatchObject({ status: 'pending' })
  })
})
