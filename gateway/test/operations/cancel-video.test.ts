import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { markProcessing } from '../../src/tasks/task-store.ts'
import { recordOutcome } from '../../src/videos/open-task-store.ts'
import { dayOfTaskId } from '../../src/videos/task-id.ts'
import { videoTables } from '../../src/videos/task.ts'
import { ask, askJson, expectProblem, form, pixel } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, endTask, type TestKey } from '../kit/factories.ts'
import { brokenInvariants } from '../kit/ledger.ts'
import { shownVideo } from '../kit/shown-video.ts'
import { createSpender } from '../kit/spender.ts'
import { recordOf, startGateway, type TestGateway } from '../kit/start-gateway.ts'
import { startVendorGateway } from '../kit/vendor-gateway.ts'

let gateway: TestGateway
let accountId: string
let key: TestKey

/** A gateway whose provider's responses come from the test. */
const startScripted = async () => {
  const waiting: { method: string; response: ServerResponse }[] = []
  const server = createServer((request, response) => {
    request.resume()
    waiting.push({ method: request.method ?? '', response })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const own = await startVendorGateway({}, {}, { baseUrl })
  return {
    ...(await createSpender(own.database.postgres, 1_000)),
    gateway: own,
    /** The next request to the provider. */
    nextRequest: async (method: string): Promise<ServerResponse> => {
      await expect.poll(() => waiting.map((each) => each.method)).toEqual([method])
      return waiting.pop()?.response as ServerResponse
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await own[Symbol.asyncDispose]()
    },
  }
}
let scripted: Awaited<ReturnType<typeof startScripted>>

const createAt = async ({ url }: TestGateway) => {
  const order = { model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '480x480' }
  const { body } = await ask(`${url}/v1/videos`, scripted.text, { method: 'POST', body: form(order) })
  return String(body['id'])
}
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
  scripted = await startScripted()
})
afterAll(async () => {
  await scripted.close()
  await gateway[Symbol.asyncDispose]()
})

describe('200', () => {
  test('a cancelled task fails, releases its hold and deletes its images', async () => {
    const before = await heldAndAvailable()
    const { files: filesBefore } = await recordOf(gateway)
    const id = await create({ input_reference: pixel })
    expect(await heldAndAvailable()).not.toEqual(before)
    const { status, body } = await cancel(id)
    expect(status).toBe(200)
    expect(body).toEqual(
      shownVideo({
        ...{ id, status: 'failed', model: 'vidB-2', seconds: 4, size: '480x480' },
        error: { code: 'task_cancelled', message: 'The task was cancelled.' },
      }),
    )
    expect(await heldAndAvailable()).toEqual(before)
    expect(await one('select count(*) from open_tasks where task_id = $1', [id])).toEqual({ count: 0 })
    expect((await recordOf(gateway)).files).toEqual(filesBefore)
    expect(await brokenInvariants(gateway.database.postgres)).toEqual([])
    expect(
      await one(`select data from task_events where task_id = $1 and kind = 'failed'`, [id]),
    ).toMatchObject({ data: { code: 'task_cancelled' } })
  })

  test('a processing task is cancelled even if its provider is unreachable', async () => {
    const id = await create()
    await gateway.database.postgres.query(
      `update open_tasks set stage = 'waiting', run = 1, upstream = '{"id":"x"}' where task_id = $1`,
      [id],
    )
    await gateway.database.postgres.query(
      `update video_tasks set state = 'processing', progress = 40 where id = $1`,
      [id],
    )
    const { body } = await cancel(id)
    expect(body).toMatchObject({ status: 'failed', progress: 40, error: { code: 'task_cancelled' } })
  })

  test('a task of family A is returned in its own shape', async () => {
    const id = await create({ model: 'vidA_3_1', size: '16x9', input_reference: pixel })
    expect((await cancel(id)).body).toMatchObject({ status: 'failed', enhanced_prompt: 'A whale' })
  })

  test('a task that has ended is returned unchanged', async () => {
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

  test('concurrent cancels end a task once', async () => {
    const before = await heldAndAvailable()
    const id = await create()
    const answers = await Promise.all(Array.from({ length: 10 }, () => cancel(id)))
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(await heldAndAvailable()).toEqual(before)
    expect(
      await one(`select count(*) from task_events where task_id = $1 and kind = 'failed'`, [id]),
    ).toEqual({ count: 1 })
  })

  describe('a video that its provider has completed', () => {
    /** A task with a running job, as far as the gateway knows. */
    const startTask = async () => {
      const id = await createAt(scripted.gateway)
      const { postgres } = scripted.gateway.database
      await postgres.query(
        `update open_tasks set stage = 'waiting', run = 1, upstream = $2 where task_id = $1`,
        [id, JSON.stringify({ id: `job-${id}` })],
      )
      await markProcessing(postgres, videoTables, [{ day: dayOfTaskId(id) ?? '', id }])
      return id
    }
    const cancelAt = (id: string) =>
      ask(`${scripted.gateway.url}/v1/videos/${id}/cancel`, scripted.text, { method: 'POST' })
    const openTask = async (id: string) => {
      const { rows } = await scripted.gateway.database.postgres.query<Record<string, unknown>>(
        `select outcome ->> 'kind' as outcome, stage from open_tasks where task_id = $1`,
        [id],
      )
      return rows[0]
    }
    const respond = (response: ServerResponse, status: string) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ id: 'job', status, progress: 50 }))
    const expectCharged = async (id: string) => {
      await completeTask(scripted.gateway, scripted.account, id)
      expect((await cancelAt(id)).body).toMatchObject({ status: 'completed' })
      const { body } = await ask(`${scripted.gateway.url}/v1/receipts/${id}`, scripted.text)
      expect(body).toMatchObject({ status: 'completed', captured_micros: 400_000, released_micros: 0 })
    }

    test('and that was not polled yet: the cancel has no effect, and the video is charged', async () => {
      const id = await startTask()
      const cancelling = cancelAt(id)
      respond(await scripted.nextRequest('GET'), 'completed')
      const { status, body } = await cancelling
      expect(status).toBe(200)
      expect(body).toMatchObject({ id, status: 'processing' })
      expect(body).not.toHaveProperty('error')
      expect(await openTask(id)).toEqual({ outcome: 'done', stage: 'waiting' })
      // A known outcome is not polled again.
      expect((await cancelAt(id)).body).toEqual(body)
      await expectCharged(id)
    })

    test.each(['waiting', 'storing'])(
      'and that is being stored (%s): the cancel has no effect',
      async (stage) => {
        const id = await startTask()
        await scripted.gateway.database.postgres.query(
          `update open_tasks set stage = $2, outcome = '{"kind":"done","result":null}' where task_id = $1`,
          [id, stage],
        )
        expect((await cancelAt(id)).body).toMatchObject({ id, status: 'processing' })
        await expectCharged(id)
      },
    )

    test('while the cancel polls the job: the cancel has no effect', async () => {
      const id = await startTask()
      const cancelling = cancelAt(id)
      const response = await scripted.nextRequest('GET')
      await recordOutcome(scripted.gateway.database.postgres, id, { kind: 'done', result: null })
      respond(response, 'in_progress')
      expect((await cancelling).body).toMatchObject({ id, status: 'processing' })
      await expectCharged(id)
    })

    test('differs from a running or failed job: the cancel wins, and the job is cancelled at the provider', async () => {
      for (const status of ['in_progress', 'failed']) {
        const id = await startTask()
        const cancelling = cancelAt(id)
        respond(await scripted.nextRequest('GET'), status)
        expect((await cancelling).body).toMatchObject({ error: { code: 'task_cancelled' } })
        respond(await scripted.nextRequest('DELETE'), 'deleted')
      }
    })
  })

  test('a request body is ignored', async () => {
    const answer = await askJson(`${gateway.url}/v1/videos/${await create()}/cancel`, key.text, {
      reason: 'none',
    })
    expect(answer.body).toMatchObject({ status: 'failed' })
  })
})

describe('404', () => {
  test('task_not_found for an unknown id and for a task of another account', async () => {
    const { postgres } = gateway.database
    const stranger = await createKey(postgres, await createAccount(postgres))
    const id = await create()
    expectProblem(await cancel(id, stranger.text), 'task_not_found')
    expectProblem(await cancel('nonsense'), 'task_not_found')
    expectProblem(await cancel('vidB-2:1700000000-00abcdefghijkl'), 'task_not_found')
    expect((await ask(`${gateway.url}/v1/videos/${id}`, key.text)).body).toMatchObject({ status: 'pending' })
  })
})
