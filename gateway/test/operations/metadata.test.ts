/** Metadata of tasks and requests: where it is accepted, shown and found, how usage is grouped by it, and when it is deleted. */
import { randomBytes } from 'node:crypto'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { eraseContent } from '../../src/erasure/erase-content.ts'
import type { Database } from '../../src/platform/postgres.ts'
import { deleteExpiredRequests, firstAccount } from '../../src/retention/expired-task-store.ts'
import { searchByMetadata } from '../../src/tasks/search-by-metadata.ts'
import { dayOfTranscription } from '../../src/transcription-tasks/transcription-id.ts'
import { finishTranscription } from '../../src/transcription-tasks/transcription-task-store.ts'
import { ask, askJson, expectProblem, form, pixel, pixelUri } from '../kit/answers.ts'
import { clearingOf, daysAgo } from '../kit/expired.ts'
import { completeTask, createAccount, createKey, endTask, type TestKey } from '../kit/factories.ts'
import { audioForm, wave } from '../kit/sound.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'
import { tablesWith } from '../kit/whole-record.ts'

let gateway: VendorGateway
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startVendorGateway()
})
afterAll(() => gateway[Symbol.asyncDispose]())

/** Each test has its own account. */
const begin = async () => {
  const { postgres } = gateway.database
  accountId = await createAccount(postgres)
  key = await createKey(postgres, accountId)
}

const metadata = { team: 'red', take: 3, final: true }
const asText = JSON.stringify(metadata)
const videoOrder = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
const filmOrder = { model: 'vidA_3_1', prompt: 'A whale', seconds: '5', size: '16x9' }
const speechOrder = { model: 'chat-4o-mini-tts-2025-12-15', input: 'Hello there', voice: 'alloy' }
const talkOrder = { model: 'chat-4o-audio-preview', messages: [{ role: 'user', content: 'Hello' }] }
const recording = (more: Record<string, string> = {}) => audioForm(wave(1), { model: 'asr-1', ...more })

const post = (path: string, body: object) =>
  body instanceof FormData
    ? ask(`${gateway.url}${path}`, key.text, { method: 'POST', body })
    : askJson(`${gateway.url}${path}`, key.text, body)
const get = (path: string) => ask(`${gateway.url}${path}`, key.text)
const remove = (path: string) => ask(`${gateway.url}${path}`, key.text, { method: 'DELETE' })

const made = async (path: string, body: object): Promise<string> => {
  const answer = await post(path, body)
  expect({ status: answer.status, body: answer.status === 200 ? '' : answer.body }).toEqual({
    status: 200,
    body: '',
  })
  return String(answer.body['id'])
}
const video = (more: object = {}) => made('/v1/videos', { ...videoOrder, ...more })

type Row = Record<string, unknown>
const usage = async (query: string): Promise<Row[]> => {
  const { body } = await get(`/v1/usage?${query}`)
  return body['data'] as Row[]
}
const sums = (rows: Row[]) => rows.map(({ metadata: group, requests }) => [group, requests])

/** Sends a synchronous request, and waits until it is in the usage. */
const spend = async (path: string, body: object) => {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key.text}`,
      ...(!(body instanceof FormData) && { 'content-type': 'application/json' }),
    },
    body: body instanceof FormData ? body : JSON.stringify(body),
  })
  const text = await response.text()
  expect({ status: response.status, text: response.status === 200 ? '' : text }).toEqual({
    status: 200,
    text: '',
  })
  const id = String(response.headers.get('x-request-id'))
  const isSettled = async () => {
    const { rows } = await gateway.database.postgres.query('select from usage_entries where id = $1', [id])
    return rows.length > 0
  }
  await expect.poll(isSettled).toBe(true)
  return id
}

describe('a task has the metadata of its request', () => {
  test.each([
    ['a form', () => form({ ...videoOrder, seconds: '4', metadata: asText })],
    ['a body of JSON', () => ({ ...videoOrder, metadata })],
    ['JSON text in JSON', () => ({ ...videoOrder, metadata: asText })],
    ['family A', () => form({ ...filmOrder, input_reference: pixel, metadata: asText })],
  ])('POST /v1/videos with %s', async (_, body) => {
    await begin()
    const id = await made('/v1/videos', body())
    expect((await get(`/v1/videos/${id}`)).body).toMatchObject({ metadata })
    expect((await get(`/v1/video/query?id=${id}`)).body).toMatchObject({ metadata })
  })

  test('members in brackets of a form are texts', async () => {
    await begin()
    const body = form({ ...videoOrder, seconds: '4', 'metadata[team]': 'red', 'metadata[take]': '3' })
    const id = await made('/v1/videos', body)
    expect((await get(`/v1/videos/${id}`)).body['metadata']).toEqual({ team: 'red', take: '3' })
  })

  test.each([
    ['A', { model: 'vidA3.1', prompt: 'A whale' }],
    ['B', { model: 'vidB-2', prompt: 'A whale', images: [pixelUri] }],
  ])('POST /v1/video/create, and only if it has any: family %s', async (_, order) => {
    await begin()
    const plain = await made('/v1/video/create', order)
    const marked = await made('/v1/video/create', { ...order, metadata })
    expect((await get(`/v1/video/query?id=${plain}`)).body).not.toHaveProperty('metadata')
    expect((await get(`/v1/video/query?id=${marked}`)).body).toMatchObject({ metadata })
  })

  test('a remix and an edit have their own, not that of the source', async () => {
    await begin()
    const id = await video({ metadata: { team: 'blue' } })
    await completeTask(gateway, accountId, id)
    await gateway.database.postgres.query(`update video_tasks set provider = 'vendor' where id = $1`, [id])
    const edit = { prompt: 'At night', video: { id } }
    expect((await post(`/v1/videos/${id}/remix`, { prompt: 'At night', metadata })).body).toMatchObject({
      metadata,
    })
    expect((await post(`/v1/videos/edits`, { ...edit, metadata })).body).toMatchObject({ metadata })
    expect((await post(`/v1/videos/edits`, edit)).body).toMatchObject({ metadata: {} })
  })

  test('a transcription task, only if it has any', async () => {
    await begin()
    const path = '/v1/audio/transcription-tasks'
    const marked = await made(path, recording({ metadata: asText }))
    expect((await get(`${path}/${marked}`)).body).toMatchObject({ metadata })
    expect((await get(`${path}/${await made(path, recording())}`)).body).not.toHaveProperty('metadata')
  })

  test('a video of a chat', async () => {
    await begin()
    const controller = new AbortController()
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.text}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...talkOrder, model: 'vidB-2', stream: true, metadata }),
      signal: controller.signal,
    })
    expect(response.status).toBe(200)
    controller.abort()
    const { body } = await get('/v1/videos')
    expect(body['data']).toEqual([expect.objectContaining({ metadata })])
  })

  test('a quote shows it', async () => {
    await begin()
    for (const [path, body] of [
      ['/v1/videos', { ...videoOrder, metadata }],
      ['/v1/audio/transcription-tasks', recording({ metadata: asText })],
      ['/v1/audio/speech', { ...speechOrder, metadata: asText }],
      ['/v1/audio/transcriptions', recording({ metadata: asText })],
      ['/v1/chat/completions', { ...talkOrder, metadata }],
    ] as const)
      expect((await post(`${path}?dry_run=true`, body)).body).toMatchObject({ parameters: { metadata } })
  })

  test.each([
    ['/v1/videos', () => ({ ...videoOrder, metadata: { team: null } })],
    ['/v1/video/create', () => ({ model: 'vidA3.1', prompt: 'A whale', metadata: '{' })],
    ['/v1/audio/transcription-tasks', () => recording({ metadata: 'red' })],
    ['/v1/audio/speech', () => ({ ...speechOrder, metadata: { team: 'x'.repeat(513) } })],
    ['/v1/audio/transcriptions', () => recording({ metadata: '[]' })],
    ['/v1/audio/translations', () => recording({ metadata: '3' })],
    ['/v1/chat/completions', () => ({ ...talkOrder, metadata: { ['k'.repeat(65)]: '' } })],
    ['/v1/chat/completions', () => ({ ...talkOrder, model: 'vidB-2', metadata: { a: [] } })],
  ])('%s refuses what is no metadata', async (path, body) => {
    await begin()
    expectProblem(await post(path, body()), 'invalid_parameter', 'metadata')
  })
})

describe('lists', () => {
  test('of videos have those with all values, compared as text, in pages', async () => {
    await begin()
    const red = [await video({ metadata }), await video({ metadata }), await video({ metadata })]
    await video({ metadata: { team: 'blue', take: 3 } })
    await video()
    const list = async (query: string) => {
      const { body } = await get(`/v1/videos?${query}`)
      return { ids: (body['data'] as Row[]).map(({ id }) => String(id)), more: body['has_more'] }
    }
    const filter = 'metadata[team]=red&metadata[take]=3&metadata[final]=true'
    expect(await list(filter)).toEqual({ ids: red.toReversed(), more: false })
    expect(await list(`${filter}&order=asc&limit=2`)).toEqual({ ids: red.slice(0, 2), more: true })
    expect(await list(`${filter}&order=asc&limit=2&after=${red[1]}`)).toEqual({
      ids: red.slice(2),
      more: false,
    })
    expect((await list(`metadata=${encodeURIComponent('{"take":3}')}`)).ids).toHaveLength(4)
    expect((await list(`metadata[team]=green`)).ids).toEqual([])
    expect((await list(`metadata[note]=`)).ids).toEqual([])
  })

  test('of transcription tasks too', async () => {
    await begin()
    const path = '/v1/audio/transcription-tasks'
    const red = await made(path, recording({ metadata: asText }))
    await made(path, recording())
    for (const query of ['metadata[team]=red', `metadata[take]=3&order=asc`]) {
      const { body } = await get(`${path}?${query}`)
      expect(body).toMatchObject({ data: [{ id: red }], has_more: false })
    }
  })

  test.each([
    'metadata[]=red',
    'metadata[team]=a&metadata[team]=b',
    `metadata[team]=${'x'.repeat(513)}`,
    `metadata[${'k'.repeat(65)}]=x`,
    'metadata[team]=%00',
    'metadata=red',
    `metadata=${encodeURIComponent('{"a":{}}')}`,
  ])('400 invalid_parameter: %s', async (query) => {
    await begin()
    const answer = await get(`/v1/videos?${query}`)
    expect(answer.body).toMatchObject({ error: { code: 'invalid_parameter' } })
    expect(answer.status).toBe(400)
  })
})

test('a search for something rare is given up', async () => {
  const { postgres } = gateway.database
  const endless = async (database: Database) => (await database.query('select pg_sleep(600)')).rows
  await expect(searchByMetadata(postgres, [['team', 'red']], endless, 10)).rejects.toMatchObject({
    code: 'invalid_parameter',
    param: 'metadata',
  })
})

describe('usage', () => {
  test('is grouped and filtered by metadata, for every kind of task and request', async () => {
    await begin()
    await completeTask(gateway, accountId, await video({ metadata }))
    await endTask(gateway.database.postgres, await video({ metadata: { team: 'blue' } }), {
      ...{ kind: 'failed', code: 'upstream_error', message: 'no' },
    })
    await endTask(gateway.database.postgres, await video(), {
      ...{ kind: 'failed', code: 'upstream_error', message: 'no' },
    })
    const task = await made('/v1/audio/transcription-tasks', recording({ metadata: asText }))
    await finishTranscription(
      gateway.database.postgres,
      dayOfTranscription(task) ?? '',
      task,
      { kind: 'completed' },
      daysAgo(-7),
    )
    await spend('/v1/audio/speech', { ...speechOrder, metadata })
    await spend('/v1/audio/transcriptions', recording({ metadata: asText }))
    await spend('/v1/audio/translations', recording({ 'metadata[team]': 'blue' }))
    await spend('/v1/chat/completions', { ...talkOrder, metadata: { team: 'red', take: 4 } })

    const byTeam = sums(await usage('group_by=metadata.team'))
    expect(byTeam).toHaveLength(3)
    expect(byTeam).toEqual(
      expect.arrayContaining([
        [{ team: 'red' }, 5],
        [{ team: 'blue' }, 2],
        [{ team: null }, 1],
      ]),
    )
    expect(sums(await usage('group_by=metadata.take&metadata[team]=red'))).toEqual(
      expect.arrayContaining([
        [{ take: '3' }, 4],
        [{ take: '4' }, 1],
      ]),
    )
    const byModel = await usage('group_by=model,key,metadata.team,metadata.final&scope=account')
    expect(byModel.map((row) => row['metadata'])).toContainEqual({ team: 'red', final: 'true' })
    expect(byModel.reduce((sum, row) => sum + Number(row['requests']), 0)).toBe(8)
    expect(sums(await usage('group_by=model&metadata[team]=green'))).toEqual([])
    // Without metadata in the query, no row has any.
    expect(sums(await usage('group_by=day'))).toEqual([[null, 8]])
  })

  test('refunds count for the metadata of what was refunded', async () => {
    await begin()
    const id = await video({ metadata })
    await completeTask(gateway, accountId, id)
    const operator = await createKey(gateway.database.postgres, '', { kind: 'admin' })
    const answer = await askJson(`${gateway.adminUrl}/admin/v1/receipts/${id}/refunds`, operator.text, {
      reason: 'a test',
    })
    expect({ status: answer.status, body: answer.status === 200 ? '' : answer.body }).toEqual({
      status: 200,
      body: '',
    })
    const [row] = await usage('group_by=metadata.team&metadata[team]=red')
    expect(row).toMatchObject({ metadata: { team: 'red' }, requests: 1 })
    expect(row?.['refunded_micros']).toBe(row?.['captured_micros'])
  })

  test('as a table has a column for each key, and no formulas', async () => {
    await begin()
    await completeTask(gateway, accountId, await video({ metadata: { 'a,b': 'x', team: '=1+1' } }))
    const response = await fetch(
      `${gateway.url}/v1/usage?group_by=model,metadata.team,metadata.none&format=csv`,
      { headers: { authorization: `Bearer ${key.text}` } },
    )
    const [names, row] = (await response.text()).split('\r\n')
    expect(names).toMatch(/^period,model,.*,metadata\.team,metadata\.none$/)
    expect(row).toMatch(/^,vidB-2,.*,'=1\+1,$/)
  })

  test.each([
    ['metadata.'],
    ['metadata'],
    [`metadata.${'k'.repeat(65)}`],
    ['metadata.a,metadata.b,metadata.c,metadata.d,metadata.e,metadata.f'],
  ])('400 invalid_parameter: group_by=%s', async (groups) => {
    await begin()
    expectProblem(await get(`/v1/usage?group_by=${groups}`), 'invalid_parameter', 'group_by')
  })

  test('of operators is not grouped by metadata', async () => {
    const { postgres } = gateway.database
    const operator = await createKey(postgres, '', { kind: 'admin' })
    const search = (query: string) => ask(`${gateway.adminUrl}/admin/v1/usage?${query}`, operator.text)
    expectProblem(await search('group_by=metadata.team'), 'invalid_parameter', 'group_by')
    expectProblem(await search('metadata[team]=red'), 'invalid_parameter', 'metadata[team]')
  })
})

describe('metadata is content', () => {
  const marked = () => `z${randomBytes(8).toString('hex')}`

  test('that is deleted with its task, whose usage stays', async () => {
    await begin()
    const word = marked()
    const id = await video({ metadata: { note: word } })
    await completeTask(gateway, accountId, id)
    const path = '/v1/audio/transcription-tasks'
    const task = await made(path, recording({ metadata: JSON.stringify({ note: word }) }))
    await finishTranscription(
      gateway.database.postgres,
      dayOfTranscription(task) ?? '',
      task,
      { kind: 'completed' },
      daysAgo(-7),
    )
    expect(sums(await usage('group_by=metadata.note'))).toEqual([[{ note: word }, 2]])
    expect(await tablesWith(gateway, word)).toContain('usage_metadata')
    expect((await remove(`/v1/videos/${id}`)).status).toBe(200)
    expect((await remove(`${path}/${task}`)).status).toBe(200)
    expect(await tablesWith(gateway, word)).toEqual([])
    expect(sums(await usage('group_by=metadata.note'))).toEqual([[{ note: null }, 2]])
  })

  test('that is deleted with its request after the retention', async () => {
    await begin()
    const word = marked()
    const { postgres } = gateway.database
    const id = await spend('/v1/audio/speech', { ...speechOrder, metadata: { note: word } })
    expect(await tablesWith(gateway, word)).toEqual(['metered_requests', 'usage_metadata'])
    await postgres.query('update accounts set task_retention_days = 1 where id = $1', [accountId])
    await postgres.query(`update metered_requests set created_at = now() - interval '3 days' where id = $1`, [
      id,
    ])
    await deleteExpiredRequests(postgres, { taskDays: 30, from: firstAccount, limit: 1_000 })
    expect(await tablesWith(gateway, word)).toEqual([])
  })

  test('that is erased with its account', async () => {
    await begin()
    const word = marked()
    const { postgres } = gateway.database
    await completeTask(gateway, accountId, await video({ metadata: { note: word } }))
    await spend('/v1/audio/speech', { ...speechOrder, metadata: { note: word } })
    await postgres.query(`insert into account_budgets (account_id, balance_alert_micros) values ($1, 1)`, [
      accountId,
    ])
    await postgres.query(`insert into erasures (account_id, requested_at) values ($1, now())`, [accountId])
    await eraseContent(clearingOf(gateway), accountId, new AbortController().signal)
    expect(await tablesWith(gateway, word)).toEqual([])
    const { rows } = await postgres.query<{ counts: Record<string, number> }>(
      'select counts from erasures where account_id = $1',
      [accountId],
    )
    expect(rows[0]?.counts).toMatchObject({ metered_requests: 1, account_budgets: 1 })
  })
})
