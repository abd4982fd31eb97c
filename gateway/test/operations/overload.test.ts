/** Creates whose task would wait too long for a slot. There is no engine in these tests, so no task leaves the queue. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { Environment } from '../../src/config.ts'
import { ask, askJson, expectProblem, form, pixel, pixelUri } from '../kit/answers.ts'
import { createDatabase } from '../kit/database.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { dispatchTick } from '../kit/queue.ts'
import { claimRecordings } from '../kit/recording.ts'
import { audioForm, wave } from '../kit/sound.ts'
import { recordOf, startGateway, type TestGateway } from '../kit/start-gateway.ts'

interface Caller {
  accountId: string
  key: TestKey
}

let gateway: TestGateway
let flood: Caller
let small: Caller

const createCaller = async (): Promise<Caller> => {
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres)
  return { accountId, key: await createKey(postgres, accountId) }
}

/** Jobs of the model take ten seconds. */
const recordDurations = (provider: string, model: string) =>
  gateway.database.postgres.query(
    'insert into job_durations (provider, model, bucket, weight) values ($1, $2, 10, 100)',
    [provider, model],
  )

/** Adds waiting tasks of an account. */
const fill = ({ accountId, key }: Caller, count: number, provider = 'local', model = 'vidB-2') =>
  gateway.database.postgres.query(
    `insert into open_tasks (task_id, day, account_id, key_id, seconds, provider, model, shard, accepted_at, not_before,
                             deadline_at)
     select gen_random_uuid(), current_date, $1, $2, 4, $4, $5, 0, now(), now(), now() + interval '1 hour'
       from generate_series(1, $3)`,
    [accountId, key.id, count, provider, model],
  )

beforeAll(async () => {
  gateway = await startGateway()
  flood = await createCaller()
  small = await createCaller()
  await recordDurations('local', 'vidB-2')
  // 200 slots start 20 tasks a second, so that a new one waits for 300 s.
  await fill(flood, 6_000)
})
afterAll(() => gateway[Symbol.asyncDispose]())

/** A gateway on the same database. Its tasks have 300 s, so that they may wait for 240 s. */
const limited = (environment: Environment = {}) =>
  startGateway({ TASK_DEADLINE_SECONDS: '300', ...environment }, gateway)

const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
const create = ({ url }: TestGateway, { key }: Caller, body: object = order, headers = {}) =>
  ask(`${url}/v1/videos`, key.text, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  })

/** Waits until the state of the queue has been read. */
const untilRefused = (own: TestGateway, by: Caller, body: object = order) =>
  expect.poll(async () => (await create(own, by, body)).status).toBe(503)

describe('503 model_overloaded', () => {
  test('a task that would wait too long is refused with Retry-After, and nothing is written', async () => {
    await using own = await limited()
    await untilRefused(own, flood)
    const before = await recordOf(gateway)
    const refused = await create(own, flood)
    expectProblem(refused, 'model_overloaded')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(1)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60)
    expect(refused.body).toMatchObject({ error: { message: expect.stringContaining('about 5 minutes') } })
    expect(await recordOf(gateway)).toEqual(before)
  })

  test('an account with few tasks does not wait behind the flood of another, and is served', async () => {
    await using own = await limited()
    await untilRefused(own, flood)
    expect((await create(own, small)).status).toBe(200)
  })

  test('a request that was accepted before is answered', async () => {
    await using own = await limited({ OVERLOAD_QUEUE_PERCENT: '0' })
    const headers = { 'idempotency-key': 'accepted before' }
    const accepted = await create(own, flood, order, headers)
    expect(accepted.status).toBe(200)
    await using overloaded = await limited()
    await untilRefused(overloaded, flood)
    const replayed = await create(overloaded, flood, order, headers)
    expect(replayed.headers.get('idempotent-replayed')).toBe('true')
    expect(replayed.body).toEqual(accepted.body)
  })

  test('a form is refused before its file is read', async () => {
    await using own = await limited()
    await untilRefused(own, flood)
    const only = await createKey(gateway.database.postgres, flood.accountId, { models: ['vidB-2'] })
    const texts = Object.fromEntries(Object.entries(order).map(([name, value]) => [name, String(value)]))
    const body = form({ ...texts, model: 'unknown', input_reference: pixel })
    // The unknown model is not noticed, because the body is not read.
    const refused = await ask(`${own.url}/v1/videos`, only.text, { method: 'POST', body })
    expectProblem(refused, 'model_overloaded')
  })

  test('through every endpoint that creates a video', async () => {
    await using own = await limited()
    await untilRefused(own, flood)
    const task = { model: 'vidB-2', prompt: 'A whale', images: [pixelUri] }
    expectProblem(await askJson(`${own.url}/v1/video/create`, flood.key.text, task), 'model_overloaded')
    const chat = { model: 'vidB-2', messages: [{ role: 'user', content: 'A whale' }], stream: true }
    expectProblem(await askJson(`${own.url}/v1/chat/completions`, flood.key.text, chat), 'model_overloaded')
  })

  test('a quote reports it', async () => {
    await using own = await limited()
    await untilRefused(own, flood)
    const quote = await create(own, flood, { ...order, dry_run: true })
    expect(quote.body).toMatchObject({ fits: false, refusal: { code: 'model_overloaded' } })
  })

  test('reads go on', async () => {
    await using own = await limited()
    await untilRefused(own, flood)
    expect((await ask(`${own.url}/v1/videos`, flood.key.text)).status).toBe(200)
  })
})

describe('is not refused', () => {
  test('a task of a model whose rate is unknown', async () => {
    await using own = await limited()
    await untilRefused(own, flood)
    await using database = await createDatabase()
    await using cold = await startGateway({ TASK_DEADLINE_SECONDS: '300' }, { ...gateway, database })
    const accountId = await createAccount(database.postgres)
    const key = await createKey(database.postgres, accountId)
    await database.postgres.query(
      `insert into open_tasks (task_id, day, account_id, key_id, seconds, provider, model, shard, accepted_at,
                               not_before, deadline_at)
       select gen_random_uuid(), current_date, $1, $2, 4, 'local', 'vidB-2', 0, now(), now(), now() + interval '1 hour'
         from generate_series(1, 6000)`,
      [accountId, key.id],
    )
    for (let count = 0; count < 5; count += 1) {
      expect((await create(cold, { accountId, key })).status).toBe(200)
    }
  })

  test('a task with another route, and it takes that one', async () => {
    const other = await createCaller()
    await recordDurations('local', 'vidB-2-pro')
    await fill(other, 6_000)
    // Its slots are in use as well, but its queue is short.
    await fill(other, 10, 'spare')
    await recordDurations('spare', 'vidB-2')
    const file = join(gateway.directory, 'providers.yaml')
    await writeFile(
      file,
      `providers:
  local: { kind: local, baseUrl: http://127.0.0.1:9, slots: 200 }
  spare: { kind: local, baseUrl: http://127.0.0.1:9, slots: 5 }
models:
  vidB-2: { routes: [{ provider: local }, { provider: spare }] }
`,
    )
    await using own = await limited({ PROVIDERS_FILE: file })
    await untilRefused(own, other, { ...order, model: 'vidB-2-pro' })
    const accepted = await create(own, other)
    expect(accepted.status).toBe(200)
    const { rows } = await gateway.database.postgres.query<{ provider: string }>(
      'select provider from open_tasks where task_id = $1',
      [accepted.body['id']],
    )
    expect(rows).toEqual([{ provider: 'spare' }])
  })

  test('any task with OVERLOAD_QUEUE_PERCENT=0', async () => {
    await using own = await limited({ OVERLOAD_QUEUE_PERCENT: '0' })
    for (let count = 0; count < 5; count += 1) expect((await create(own, flood)).status).toBe(200)
  })
})

describe('transcription tasks', () => {
  const setTick = (starts: number, seconds: number) =>
    gateway.database.postgres.query(
      `with started as (
         insert into queue_starts (queue, model, starts) values ('/transcriptions', 'all', $1)
         on conflict (queue, model) do update set starts = excluded.starts
       )
       insert into ticks (loop, key, id, ticked_at)
       values ('dispatchRecordings', 'all', 'a tick', to_timestamp(1000000 + $2::integer))
       on conflict (loop, key, id) do update set ticked_at = excluded.ticked_at`,
      [starts, seconds],
    )

  test('are refused while the measured rate is too low for those that wait, before the file is read', async () => {
    const caller = await createCaller()
    await gateway.database.postgres.query(
      `insert into open_transcriptions (task_id, day, account_id, accepted_at, not_before, deadline_at)
       select gen_random_uuid(), current_date, $1, now(), now(), now() + interval '1 hour'
         from generate_series(1, 1000)`,
      [caller.accountId],
    )
    await using own = await limited()
    const create = ({ key }: Caller) =>
      ask(`${own.url}/v1/audio/transcription-tasks`, key.text, {
        method: 'POST',
        body: audioForm(wave(1), { model: 'asr-1' }),
      })
    const startedMs = performance.now()
    // One start in three seconds: the new task would wait for 50 minutes. The dispatcher's time runs twelve times as fast
    // as ours, so that the readings, one per second, are seconds apart but less than an outage.
    const tickAndCreate = async () => {
      const ticks = 1 + Math.floor((performance.now() - startedMs) / 250)
      await setTick(ticks, 3 * ticks)
      return (await create(caller)).status
    }
    expect(await tickAndCreate()).toBe(200)
    await expect.poll(tickAndCreate).toBe(503)
    const before = await recordOf(gateway)
    const refused = await create(caller)
    expectProblem(refused, 'model_overloaded')
    expect(Number(refused.headers.get('retry-after'))).toBe(60)
    expect(await recordOf(gateway)).toEqual(before)
    expect((await create(small)).status).toBe(200)
  })
})

describe('the dispatchers count first starts', () => {
  const startsOf = async (queue: string) => {
    const { rows } = await gateway.database.postgres.query<{ model: string; starts: number }>(
      'select model, starts from queue_starts where queue = $1 order by model',
      [queue],
    )
    return rows
  }

  test('of video tasks by model, but not those of a task that was returned to the queue', async () => {
    const { postgres } = gateway.database
    const caller = await createCaller()
    await fill(caller, 3, 'counted', 'vidB-2')
    await fill(caller, 2, 'counted', 'vidB-2-pro')
    await dispatchTick(postgres, { provider: 'counted' })
    expect(await startsOf('counted')).toEqual([
      { model: 'vidB-2', starts: 3 },
      { model: 'vidB-2-pro', starts: 2 },
    ])
    await postgres.query(`update open_tasks set stage = 'accepted' where provider = 'counted'`)
    await fill(caller, 1, 'counted', 'vidB-2')
    await dispatchTick(postgres, { provider: 'counted' })
    expect(await startsOf('counted')).toEqual([
      { model: 'vidB-2', starts: 4 },
      { model: 'vidB-2-pro', starts: 2 },
    ])
  })

  test('of transcription tasks', async () => {
    const { postgres } = gateway.database
    await postgres.query(`delete from queue_starts where queue = '/transcriptions'`)
    expect(await claimRecordings(postgres, 3)).toHaveLength(3)
    expect(await startsOf('/transcriptions')).toEqual([{ model: 'all', starts: 3 }])
    await postgres.query(
      `update open_transcriptions set stage = 'accepted', accepted_at = 'epoch' where run > 0`,
    )
    expect(await claimRecordings(postgres, 3)).toHaveLength(3)
    expect(await startsOf('/transcriptions')).toEqual([{ model: 'all', starts: 3 }])
  })
})
