import { adminOperations } from '@kinora/contract/admin-operations'
import Schema from 'typebox/schema'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { recordAttempts } from '../../src/videos/task-attempt-store.ts'
import { ask, askJson, expectProblem, form, pixel } from '../kit/answers.ts'
import { acceptedAt, daysAgo, recordingAt } from '../kit/expired.ts'
import { completeTask, createAccount, createKey, endTask, type TestKey } from '../kit/factories.ts'
import { brokenInvariants } from '../kit/ledger.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let operator: TestKey

beforeAll(async () => {
  gateway = await startGateway()
  operator = await createKey(gateway.database.postgres, '', { kind: 'admin' })
})
afterAll(() => gateway[Symbol.asyncDispose]())

const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }

const account = async (balance = 1000) => {
  const accountId = await createAccount(gateway.database.postgres, { balance })
  const key = await createKey(gateway.database.postgres, accountId)
  return { accountId, key }
}
const create = async ({ text }: TestKey, more: object = {}) => {
  const answer = await askJson(`${gateway.url}/v1/videos`, text, { ...order, ...more })
  expect(answer.status).toBe(200)
  return String(answer.body['id'])
}
const fail = (id: string) =>
  endTask(gateway.database.postgres, id, { kind: 'failed', code: 'upstream_error', message: 'It broke.' })
const get = (path: string, key = operator.text) => ask(`${gateway.url}/admin/v1/tasks${path}`, key)
const post = (path: string, key = operator.text) =>
  ask(`${gateway.url}/admin/v1/tasks${path}`, key, { method: 'POST' })
const idsOf = ({ body }: { body: Record<string, unknown> }) =>
  (body['data'] as { id: string }[]).map(({ id }) => id)
const query = async (text: string, values: unknown[]) =>
  (await gateway.database.postgres.query<Record<string, unknown>>(text, values)).rows
const auditOf = (target: string) =>
  query('select action, before, after from audit_log where target = $1 order by sequence', [target])

describe('search', () => {
  test('pages within one millisecond and one microsecond show every task once', async () => {
    const { accountId, key } = await account()
    for (let count = 0; count < 6; count += 1) await create(key)
    await query(
      `update video_tasks t set created_at = date_trunc('second', now()) + place / 2 * interval '1 microsecond'
         from (select id, row_number() over () as place from video_tasks where account_id = $1) numbered
        where t.id = numbered.id`,
      [accountId],
    )
    const expected = idsOf(await get(`?account_id=${accountId}`))
    expect(new Set(expected).size).toBe(6)
    const seen: string[] = []
    for (let cursor = ''; seen.length <= 6;) {
      const page = await get(`?account_id=${accountId}&limit=1${cursor}`)
      seen.push(...idsOf(page))
      const { next } = page.body as { next: string | null }
      if (next === null) break
      cursor = `&cursor=${next}`
    }
    expect(seen).toEqual(expected)
  })

  test('by one or several states', async () => {
    const { accountId, key } = await account()
    const [waiting, broken] = [await create(key), await create(key)]
    await fail(broken)
    const found = async (status: string) => idsOf(await get(`?account_id=${accountId}&status=${status}`))
    expect(await found('pending')).toEqual([waiting])
    expect(await found('pending,processing')).toEqual([waiting])
    expect(await found('failed')).toEqual([broken])
    expect(await found('pending,failed')).toEqual([broken, waiting])
    expect(await found('completed')).toEqual([])
    expectProblem(await get('?status=pending,lost'), 'invalid_parameter', 'status')
  })

  test('returns tasks of all accounts and both kinds, newest first', async () => {
    const one = await account()
    const other = await account()
    const video = await create(one.key)
    const owner = { accountId: other.accountId, keyId: other.key.id }
    const { id: recording } = await recordingAt(gateway.database.postgres, owner, daysAgo(-1))
    const { body } = await get('?limit=200')
    const data = body['data'] as Record<string, unknown>[]
    expect(data[0]).toMatchObject({
      id: recording,
      kind: 'transcription',
      account_id: other.accountId,
      provider: null,
      status: 'pending',
      stage: 'accepted',
    })
    expect(data.find(({ id }) => id === video)).toEqual({
      id: video,
      object: 'task',
      kind: 'video',
      account_id: one.accountId,
      account_name: `account ${one.accountId}`,
      key_id: one.key.id,
      key_name: 'a key of a test',
      model: 'vidB-2',
      provider: expect.any(String),
      status: 'pending',
      stage: 'accepted',
      progress: 0,
      error: null,
      hold_micros: expect.any(Number),
      captured_micros: null,
      currency: 'USD',
      created_at: expect.closeTo(Date.now() / 1000, -1),
      finished_at: null,
    })
  })

  test('filters by account, key, model, provider, status, code and time', async () => {
    const { accountId, key } = await account()
    const second = await createKey(gateway.database.postgres, accountId)
    const pending = await create(key)
    const failed = await create(key)
    await fail(failed)
    const completed = await create(second)
    await completeTask(gateway, accountId, completed)
    const owner = { accountId, keyId: key.id }
    const { id: old } = await acceptedAt(gateway.database.postgres, owner, daysAgo(3))
    const { id: recording } = await recordingAt(gateway.database.postgres, owner, daysAgo(2))
    const find = async (search: string) => idsOf(await get(`?account_id=${accountId}${search}`)).toSorted()
    expect(await find('')).toEqual([pending, failed, completed, old, recording].toSorted())
    expect(await find(`&key_id=${second.id}`)).toEqual([completed])
    expect(await find('&model=asr-1')).toEqual([recording])
    expect(await find('&status=completed')).toEqual([completed])
    expect(await find('&status=failed')).toEqual([failed])
    expect(await find('&status=pending')).toEqual([pending, old, recording].toSorted())
    expect(await find('&error_code=upstream_error')).toEqual([failed])
    expect(await find('&error_code=task_timeout')).toEqual([])
    expect(await find('&provider=vendor')).toEqual([old])
    const at = (days: number) => Math.floor(daysAgo(days).getTime() / 1000)
    expect(await find(`&from=${at(3.5)}&to=${at(1)}`)).toEqual([old, recording].toSorted())
    expect(await find(`&from=${at(1)}`)).toEqual([pending, failed, completed].toSorted())
    expect(idsOf(await get(`?key_id=${second.id}`))).toEqual([completed])
  })

  test('pages show every task of both kinds once, also within one second and while others are added', async () => {
    const { accountId, key } = await account()
    const owner = { accountId, keyId: key.id }
    const { postgres } = gateway.database
    const at = daysAgo(1)
    for (let count = 0; count < 4; count += 1) {
      await acceptedAt(postgres, owner, at)
      await recordingAt(postgres, owner, at)
    }
    const expected = await query(
      `select id from (select id, created_at from video_tasks where account_id = $1
                       union all select id, created_at from transcription_tasks where account_id = $1) t
        order by created_at desc, id desc`,
      [accountId],
    )
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const after: string = cursor === '' ? '' : `&cursor=${cursor}`
      const page = await get(`?account_id=${accountId}&limit=3${after}`)
      seen.push(...idsOf(page))
      cursor = page.body['next'] as string | null
      await create(key)
    }
    expect(seen).toEqual(expected.map(({ id }) => id))
  })

  test.each([
    ['cursor', '?cursor=nonsense'],
    ['cursor', `?cursor=${Buffer.from('["requests","1","x"]').toString('base64url')}`],
    ['account_id', '?account_id=me'],
    ['status', '?status=queued'],
    ['limit', '?limit=201'],
    ['from', '?from=yesterday'],
  ])('400 invalid_parameter: %s in %s', async (param, search) => {
    expectProblem(await get(search), 'invalid_parameter', param)
  })
})

describe('detail', () => {
  test('contains the price, attempts and events, and nothing that the customer sent', async () => {
    const { key } = await account()
    const id = await create(key, { metadata: { project: 'sea' } })
    const { body } = await get(`/${id}`)
    expect(JSON.stringify(body)).not.toMatch(/whale|sea/)
    expect(body).toMatchObject({
      id,
      prices: [{ unit: 'second', quantity: '4', total_micros: body['hold_micros'], currency: 'USD' }],
      retried_from: null,
      upstream: null,
      attempts: { runs: 0, submits: 0, refusals: 0, submitted_at: null, deadline_at: expect.any(Number) },
      events: [{ kind: 'accepted', at: expect.any(Number), data: {} }],
    })
    await fail(id)
    const ended = await get(`/${id}`)
    expect(ended.body).toMatchObject({
      status: 'failed',
      stage: null,
      error: { code: 'upstream_error', message: 'It broke.' },
      captured_micros: 0,
      finished_at: expect.any(Number),
      attempts: null,
      events: [{ kind: 'accepted' }, { kind: 'failed', data: { code: 'upstream_error' } }],
    })
  })

  test('contains the routing decision and the outcome of each attempt', async () => {
    const { postgres } = gateway.database
    const { key } = await account()
    const id = await create(key)
    const skipped = [{ provider: 'acme', reason: 'asked to wait 3 s' }]
    const decision = { provider: 'vendor', reason: 'order 2: acme is unhealthy', skipped }
    await postgres.query('update open_tasks set decision = $2 where task_id = $1', [id, decision])
    const [{ day }] = (await query('select day from open_tasks where task_id = $1', [id])) as [
      { day: string },
    ]
    const attempt = {
      ...{ taskId: id, day, upstreamModel: 'whale-1', startedAt: new Date(), isDuplicate: false },
      failureReason: 'submit answered 429',
    }
    const call = { what: 'submit', method: 'POST', path: '/v1/videos', ms: 12, answer: 'Try later.' }
    const busy = [{ ...call, status: 429 }]
    const lost = [{ ...call, status: undefined, answer: 'the connection was refused' }]
    await recordAttempts(postgres, [
      { ...attempt, provider: 'acme', decision: null, outcome: 'busy', exchanges: busy },
    ])
    await recordAttempts(postgres, [
      { ...attempt, provider: 'vendor', decision, outcome: 'not_delivered', exchanges: lost },
    ])
    const { body } = await get(`/${id}`)
    expect(Schema.Errors(adminOperations.getTask.answer.schema, body)).toEqual([true, []])
    expect(body['decision']).toEqual(decision)
    const times = { started_at: expect.any(Number), ended_at: expect.any(Number) }
    expect(body['provider_attempts']).toEqual([
      {
        ...{ attempt: 1, provider: 'acme', upstream_model: 'whale-1', reason: null, skipped: [] },
        ...{ outcome: 'busy', is_duplicate: false, ...times, exchanges: busy },
        failure_reason: 'submit answered 429',
      },
      {
        ...{ attempt: 2, provider: 'vendor', upstream_model: 'whale-1', reason: decision.reason, skipped },
        ...{ outcome: 'not_delivered', is_duplicate: false, ...times },
        exchanges: [{ ...lost[0], status: null }],
        failure_reason: 'submit answered 429',
      },
    ])
    await fail(id)
    const ended = await get(`/${id}`)
    expect(ended.body).toMatchObject({ decision: null, provider_attempts: [{ attempt: 1 }, { attempt: 2 }] })
  })

  test('of a transcription task', async () => {
    const { accountId, key } = await account()
    const { id } = await recordingAt(gateway.database.postgres, { accountId, keyId: key.id }, new Date())
    expect((await get(`/${id}`)).body).toMatchObject({
      kind: 'transcription',
      events: [{ kind: 'accepted' }],
    })
  })

  test('404 task_not_found', async () => {
    for (const id of ['nonsense', 'vidB-2:1700000000-00abcdefghijkl']) {
      expectProblem(await get(`/${id}`), 'task_not_found')
      expectProblem(await post(`/${id}/retry`), 'task_not_found')
      expectProblem(await post(`/${id}/cancel`), 'task_not_found')
    }
  })
})

describe('order', () => {
  test('contains what the customer sent, and each read is in the audit log', async () => {
    const { accountId, key } = await account()
    const id = await create(key, { metadata: { project: 'sea' } })
    const owner = { accountId, keyId: key.id }
    const { id: recording } = await recordingAt(gateway.database.postgres, owner, daysAgo(-1))
    expect((await get(`/${id}/order`)).body).toEqual({
      id,
      object: 'task.order',
      account_id: accountId,
      prompt: 'A whale',
      order: expect.objectContaining({ seconds: 4, size: '480x480', metadata: { project: 'sea' } }),
    })
    expect((await get(`/${recording}/order`)).body).toMatchObject({
      prompt: null,
      order: { task: 'transcribe' },
    })
    await get(`/${id}/order`)
    const read = { action: 'getTaskOrder', before: null, after: { account_id: accountId } }
    expect(await auditOf(id)).toEqual([read, read])
    expect(await auditOf(recording)).toEqual([read])
  })

  test('a task that does not exist, and a role that may not read it, leave no entry', async () => {
    const { key } = await account()
    const id = await create(key)
    const reader = await createKey(gateway.database.postgres, '', { kind: 'admin', role: 'read' })
    expectProblem(await get('/vidB-2:1767225600-00000000000001/order'), 'task_not_found')
    expectProblem(await get(`/${id}/order`, reader.text), 'access_denied')
    expect(await auditOf(id)).toEqual([])
  })
})

describe('retry', () => {
  test('creates the same task for the same key, charges it and refers to the failed task', async () => {
    const { accountId, key } = await account()
    const id = await create(key, { metadata: { project: 'sea' } })
    await fail(id)
    const { status, body } = await post(`/${id}/retry`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ account_id: accountId, key_id: key.id, model: 'vidB-2', status: 'pending' })
    expect(body['id']).not.toBe(id)
    expect((await get(`/${String(body['id'])}`)).body).toMatchObject({ retried_from: id })
    expect((await get(`/${String(body['id'])}/order`)).body).toMatchObject({
      order: { prompt: 'A whale', seconds: 4, size: '480x480', metadata: { project: 'sea' } },
    })
    expect(await query('select held_micros from balances where account_id = $1', [accountId])).toEqual([
      { held_micros: body['hold_micros'] },
    ])
    const seen = await ask(`${gateway.url}/v1/videos/${String(body['id'])}`, key.text)
    expect(seen.body).toMatchObject({ status: 'pending', model: 'vidB-2' })
    expect(await auditOf(id)).toEqual([{ action: 'retryTask', before: null, after: { id: body['id'] } }])
    expect(await brokenInvariants(gateway.database.postgres)).toEqual([])
  })

  test('400 task_not_failed for an open or completed task', async () => {
    const { accountId, key } = await account()
    const pending = await create(key)
    expectProblem(await post(`/${pending}/retry`), 'task_not_failed')
    await completeTask(gateway, accountId, pending)
    expectProblem(await post(`/${pending}/retry`), 'task_not_failed')
  })

  test('is refused if the key could not create the task itself', async () => {
    const { postgres } = gateway.database
    const { accountId, key } = await account()
    const id = await create(key)
    await fail(id)
    const refusal = async (change: string, code: Parameters<typeof expectProblem>[1], param?: string) => {
      const tasks = await query('select count(*) from video_tasks where account_id = $1', [accountId])
      await postgres.query(change)
      expectProblem(await post(`/${id}/retry`), code, param)
      expect(await query('select count(*) from video_tasks where account_id = $1', [accountId])).toEqual(
        tasks,
      )
    }
    await refusal(`update accounts set status = 'suspended' where id = '${accountId}'`, 'account_suspended')
    await postgres.query(`update accounts set status = 'active' where id = '${accountId}'`)
    await refusal(
      `update keys set models = '{vidA-2}' where id = '${key.id}'`,
      'model_access_denied',
      'model',
    )
    await postgres.query(`update keys set models = null where id = '${key.id}'`)
    await refusal(`update keys set disabled_at = now() where id = '${key.id}'`, 'conflict')
    await refusal(`update keys set disabled_at = null, expires_at = now() where id = '${key.id}'`, 'conflict')
    await refusal(`update keys set expires_at = null, deleted_at = now() where id = '${key.id}'`, 'conflict')
    expect(await auditOf(id)).toEqual([])
  })

  test('402 if the wallet does not cover it', async () => {
    const { accountId, key } = await account(1)
    const id = await create(key)
    await fail(id)
    const [{ price }] = (await query('select hold_micros as price from video_tasks where id = $1', [id])) as [
      { price: number },
    ]
    for (let left = 1_000_000; left >= price; left -= price) await create(key)
    expectProblem(await post(`/${id}/retry`), 'insufficient_balance')
    expect(await auditOf(id)).toEqual([])
    await gateway.database.postgres.query(
      `update accounts set payment_state = 'failed' where id = '${accountId}'`,
    )
    expectProblem(await post(`/${id}/retry`), 'payment_failed')
  })

  test('a remix can be retried while its source exists', async () => {
    const { accountId, key } = await account()
    const source = await create(key)
    const { mediaId } = await completeTask(gateway, accountId, source)
    const remixed = await askJson(`${gateway.url}/v1/videos/${source}/remix`, key.text, {
      prompt: 'At night',
    })
    const id = String(remixed.body['id'])
    await fail(id)
    const { body } = await post(`/${id}/retry`)
    expect(body['id']).toEqual(expect.stringContaining(':remix-'))
    expect((await get(`/${String(body['id'])}`)).body).toMatchObject({ retried_from: id })
    expect((await get(`/${String(body['id'])}/order`)).body).toMatchObject({
      prompt: 'At night',
      order: { prompt: 'At night', remixOf: { taskId: source, mediaId } },
    })
    await fail(String(body['id']))
    await ask(`${gateway.url}/v1/videos/${source}`, key.text, { method: 'DELETE' })
    expectProblem(await post(`/${id}/retry`), 'conflict')
  })

  test('an order with a deleted character is refused', async () => {
    const { key } = await account()
    const id = await create(key)
    await fail(id)
    await query(
      `update video_tasks set video_order = video_order || '{"characters": [{"id": "01890000-0000-7000-8000-000000000000", "username": "moby"}]}'
        where id = $1`,
      [id],
    )
    expectProblem(await post(`/${id}/retry`), 'conflict')
  })

  test('409 conflict if the files of the order were removed', async () => {
    const { accountId, key } = await account()
    const posted = await ask(`${gateway.url}/v1/videos`, key.text, {
      method: 'POST',
      body: form({ ...order, seconds: '4', input_reference: pixel }),
    })
    expect(posted.status).toBe(200)
    const withImage = String(posted.body['id'])
    expect((await post(`/${withImage}/cancel`)).status).toBe(200)
    expectProblem(await post(`/${withImage}/retry`), 'conflict')
    const owner = { accountId, keyId: key.id }
    const { id: recording } = await recordingAt(gateway.database.postgres, owner, new Date())
    expect((await post(`/${recording}/cancel`)).status).toBe(200)
    expectProblem(await post(`/${recording}/retry`), 'conflict')
  })
})

describe('cancel', () => {
  test('ends a task of any account, releases its hold and writes one audit entry', async () => {
    const { accountId, key } = await account()
    const id = await create(key)
    const answers = await Promise.all(Array.from({ length: 5 }, () => post(`/${id}/cancel`)))
    for (const { status, body } of answers) {
      expect(status).toBe(200)
      expect(body).toMatchObject({
        id,
        status: 'failed',
        error: { code: 'task_cancelled' },
        captured_micros: 0,
      })
    }
    expect(await auditOf(id)).toEqual([
      { action: 'cancelTask', before: { status: 'pending' }, after: { status: 'failed' } },
    ])
    expect(await query('select held_micros from balances where account_id = $1', [accountId])).toEqual([
      { held_micros: 0 },
    ])
  })

  test('ends a transcription task', async () => {
    const { accountId, key } = await account()
    const owner = { accountId, keyId: key.id }
    const { id } = await recordingAt(gateway.database.postgres, owner, new Date())
    expect((await post(`/${id}/cancel`)).body).toMatchObject({
      status: 'failed',
      error: { code: 'task_cancelled', message: 'The task was cancelled.' },
    })
    expect(await auditOf(id)).toHaveLength(1)
  })

  test('returns a finished task unchanged and writes no audit entry', async () => {
    const { accountId, key } = await account()
    const id = await create(key)
    await completeTask(gateway, accountId, id)
    expect((await post(`/${id}/cancel`)).body).toMatchObject({ status: 'completed', progress: 100 })
    expect(await auditOf(id)).toEqual([])
  })
})

test('a customer key is refused', async () => {
  const { key } = await account()
  const id = await create(key)
  expectProblem(await get('', key.text), 'access_denied')
  expectProblem(await get(`/${id}`, key.text), 'access_denied')
  expectProblem(await post(`/${id}/retry`, key.text), 'access_denied')
  expectProblem(await post(`/${id}/cancel`, key.text), 'access_denied')
})
