import { readFile } from 'node:fs/promises'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { markProcessing } from '../../src/tasks/task-store.ts'
import { createModelTaskId, dayOfTaskId } from '../../src/videos/task-id.ts'
import { videoTables } from '../../src/videos/task.ts'
import { ask, askJson, expectProblem, pixelUri } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, endTask, type TestKey } from '../kit/factories.ts'
import { brokenInvariants } from '../kit/ledger.ts'
import { recordOf, startGateway, type TestGateway } from '../kit/start-gateway.ts'

const sample = await readFile(new URL('../../../dev/vendor/sample.mp4', import.meta.url))

let gateway: TestGateway
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startGateway()
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const create = async () => {
  const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480', input_reference: pixelUri }
  const { body } = await askJson(`${gateway.url}/v1/videos`, key.text, order)
  return String(body['id'])
}
const remove = (id: string, text = key.text) =>
  ask(`${gateway.url}/v1/videos/${id}`, text, { method: 'DELETE' })
const read = (path: string) => ask(`${gateway.url}${path}`, key.text)

describe('200', () => {
  test('a completed task is deleted with its video, variants and events, and its ledger entries stay', async () => {
    const { postgres } = gateway.database
    const before = await recordOf(gateway)
    const id = await create()
    await completeTask(gateway, accountId, id, { bytes: sample })
    await fetch(`${gateway.url}/v1/videos/${id}/content?variant=thumbnail`, {
      headers: { authorization: `Bearer ${key.text}` },
    })
    // Fills the read cache, so that a deletion that does not clear it fails below.
    const shown = await read(`/v1/videos/${id}`)
    const { pathname, search } = new URL(String(shown.body['video_url']))
    const charged = await recordOf(gateway)

    const answer = await remove(id)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ id, object: 'video.deleted', deleted: true })

    for (const path of [`/v1/videos/${id}`, `/v1/video/query?id=${id}`, `/v1/videos/${id}/content`]) {
      expectProblem(await read(path), 'task_not_found')
    }
    expectProblem(await read(`${pathname}${search}`), 'media_not_found')
    expectProblem(await remove(id), 'task_not_found')
    const after = await recordOf(gateway)
    const only = (record: object, names: string[]) =>
      Object.fromEntries(Object.entries(record).filter(([name]) => names.includes(name)))
    const deleted = ['video_tasks', 'task_events', 'task_attempts', 'media', 'files', 'file_removals']
    const retained = ['ledger_entries', 'balances']
    expect(only(after, deleted)).toEqual(only(before, deleted))
    expect(only(after, retained)).toEqual(only(charged, retained))
    expect(await brokenInvariants(postgres)).toEqual([])
  })

  test('the receipt of a deleted task stays unchanged', async () => {
    const id = await create()
    await completeTask(gateway, accountId, id, { bytes: sample })
    const receipt = (text = key.text) => ask(`${gateway.url}/v1/receipts/${id}`, text)
    const before = await receipt()
    expect(before.body).toMatchObject({
      status: 'completed',
      captured_micros: 400_000,
      released_micros: 0,
      lines: [{ unit: 'second', quantity: '4', total_micros: 400_000 }],
    })
    await remove(id)
    const after = await receipt()
    expect(after.status).toBe(200)
    expect(after.body).toEqual(before.body)
    const { postgres } = gateway.database
    const stranger = await createKey(postgres, await createAccount(postgres))
    expectProblem(await receipt(stranger.text), 'task_not_found')
  })

  test('the response that is stored for a repetition is deleted too, and the repetition creates nothing', async () => {
    const { postgres } = gateway.database
    const who = await createAccount(postgres)
    const { text } = await createKey(postgres, who)
    const note = 'A whale in golden dunes'
    const order = { model: 'vidB-2', prompt: note, seconds: 4, size: '480x480', metadata: { note } }
    const send = () =>
      ask(`${gateway.url}/v1/videos`, text, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': 'once' },
        body: JSON.stringify(order),
      })
    const storedWithNote = async () => {
      const { rows } = await postgres.query<{ found: number }>(
        'select count(*)::integer as found from idempotency_keys where account_id = $1 and position($2::bytea in body) > 0',
        [who, Buffer.from(note)],
      )
      return rows[0]?.found
    }
    const id = String((await send()).body['id'])
    await endTask(postgres, id, { kind: 'failed', code: 'upstream_error', message: '' })
    expect((await send()).body).toMatchObject({ id, metadata: { note } })
    expect(await storedWithNote()).toBe(1)

    await remove(id, text)
    expect(await storedWithNote()).toBe(0)
    const again = await send()
    expectProblem(again, 'conflict')
    expect(again.headers.get('x-should-retry')).toBe('false')
    const { rows } = await postgres.query('select from video_tasks where account_id = $1', [who])
    expect(rows).toEqual([])
  })

  test('a failed task is deleted', async () => {
    const id = await create()
    await endTask(gateway.database.postgres, id, { kind: 'failed', code: 'upstream_error', message: '' })
    expect((await remove(id)).body).toEqual({ id, object: 'video.deleted', deleted: true })
    expectProblem(await read(`/v1/videos/${id}`), 'task_not_found')
  })
})

describe('400 task_not_completed', () => {
  test('a pending or processing task cannot be deleted', async () => {
    const id = await create()
    const pending = await remove(id)
    expectProblem(pending, 'task_not_completed')
    expect(pending.body).toMatchObject({ error: { message: expect.stringContaining('pending') } })
    await markProcessing(gateway.database.postgres, videoTables, [{ day: dayOfTaskId(id) ?? '', id }])
    const processing = await remove(id)
    expect(processing.body).toMatchObject({ error: { message: expect.stringContaining('processing') } })
    expect((await read(`/v1/videos/${id}`)).status).toBe(200)
  })
})

describe('409 conflict', () => {
  const remix = (id: string) =>
    askJson(`${gateway.url}/v1/videos/${id}/remix`, key.text, { prompt: 'At night' })

  test('the source of a remix cannot be deleted until the remix has ended', async () => {
    const { postgres } = gateway.database
    const id = await create()
    await completeTask(gateway, accountId, id)
    const remixId = String((await remix(id)).body['id'])
    const waiting = await remove(id)
    expectProblem(waiting, 'conflict')
    expect(waiting.headers.get('x-should-retry')).toBe('false')
    expect(waiting.body).toMatchObject({ error: { message: expect.stringContaining(remixId) } })
    await markProcessing(postgres, videoTables, [{ day: dayOfTaskId(remixId) ?? '', id: remixId }])
    expectProblem(await remove(id), 'conflict')
    expect((await read(`/v1/videos/${id}/content`)).status).toBe(200)
    await endTask(postgres, remixId, { kind: 'failed', code: 'upstream_error', message: '' })
    expect((await remove(id)).status).toBe(200)
  })

  test('of a concurrent deletion and remix, exactly one wins', async () => {
    for (let round = 0; round < 20; round += 1) {
      const id = await create()
      await completeTask(gateway, accountId, id)
      const before: Record<string, unknown> = await recordOf(gateway)
      const [remixed, removed] = await Promise.all([remix(id), remove(id)])
      if (remixed.status === 200) {
        expectProblem(removed, 'conflict')
        await ask(`${gateway.url}/v1/videos/${String(remixed.body['id'])}/cancel`, key.text, {
          method: 'POST',
        })
      } else {
        expectProblem(remixed, 'task_not_found')
        expect(removed.status).toBe(200)
        expect(await recordOf(gateway)).toMatchObject({ ledger_entries: before['ledger_entries'] })
      }
    }
  })
})

describe('404 task_not_found', () => {
  test('an unknown id and a task of another account, which stays', async () => {
    const { postgres } = gateway.database
    const stranger = await createKey(postgres, await createAccount(postgres))
    const id = await create()
    await completeTask(gateway, accountId, id)
    expectProblem(await remove(id, stranger.text), 'task_not_found')
    expectProblem(await remove(createModelTaskId('vidB-2', Date.now())), 'task_not_found')
    expectProblem(await remove('nonsense'), 'task_not_found')
    expect((await read(`/v1/videos/${id}`)).status).toBe(200)
  })
})
