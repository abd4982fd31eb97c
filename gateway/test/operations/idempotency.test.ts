/** Repeated requests, with an idempotency key or as retries of a client library. */
import { createHash, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { operations } from '@kinora/contract/operations'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { createRunOnce, type Attempt } from '../../src/idempotency/run-once.ts'
import { createLog } from '../../src/platform/log.ts'
import type { Postgres } from '../../src/platform/postgres.ts'
import { expectProblem, form, pixel, pixelBytes, type Answer } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, endTask } from '../kit/factories.ts'
import { makeVideo } from '../kit/sample-video.ts'
import { audioForm, wave } from '../kit/sound.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'

let gateway: VendorGateway
let film: Buffer

/** An image server that delays its responses until it is released. */
const startSlowServer = async () => {
  const waiting: (() => void)[] = []
  const server = createServer((_request, response) => {
    waiting.push(() => response.writeHead(200, { 'content-type': 'image/png' }).end(pixelBytes))
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer: () => waiting.splice(0).forEach((each) => each()),
    isAsked: () => waiting.length > 0,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
let slow: Awaited<ReturnType<typeof startSlowServer>>

beforeAll(async () => {
  slow = await startSlowServer()
  gateway = await startVendorGateway({ FETCH_ALLOW_ORIGINS: slow.url })
  film = await makeVideo(gateway.directory)
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  slow.close()
})

const customer = async (balance = 1_000) => {
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres, { balance })
  const { text, id } = await createKey(postgres, accountId)
  return { accountId, text, keyId: id }
}
type Customer = Awaited<ReturnType<typeof customer>>

interface Sent {
  path: string
  body: FormData | object
}

const send = (
  { text }: Pick<Customer, 'text'>,
  { path, body }: Sent,
  headers: Record<string, string> = {},
  signal = AbortSignal.timeout(120_000),
): Promise<Response> =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${text}`,
      ...(!(body instanceof FormData) && { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body instanceof FormData ? body : JSON.stringify(body),
    signal,
  })
const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer())
const answerOf = async (response: Response): Promise<Answer> => ({
  status: response.status,
  headers: response.headers,
  body: (await response.json()) as Answer['body'],
})
const named = (key: string) => ({ 'idempotency-key': key })
const retried = (count: number) => ({ 'x-stainless-lang': 'js', 'x-stainless-retry-count': String(count) })

/** The tasks and ledger movements of an account. */
const madeFor = async ({ accountId }: Customer) => {
  const { rows } = await gateway.database.postgres.query<Record<string, number>>(
    `select (select count(*) from video_tasks where account_id = $1) as videos,
            (select count(*) from transcription_tasks where account_id = $1) as transcriptions,
            (select count(*) from metered_requests where account_id = $1) as requests,
            (select count(*) from characters where account_id = $1) as characters,
            (select count(*) from ledger_entries where account_id = $1 and movement = 'hold' and book = 'held') as holds`,
    [accountId],
  )
  return rows[0]
}
/** How the metered requests of an account ended. The end of a response does not wait for its charge. */
const chargesOf = async ({ accountId }: Customer) => {
  const { rows } = await gateway.database.postgres.query<Record<string, unknown>>(
    `select outcome, captured_micros = hold_micros as whole from metered_requests
      where account_id = $1 order by created_at`,
    [accountId],
  )
  return rows
}
const keptFor = async ({ accountId }: Customer) => {
  const { rows } = await gateway.database.postgres.query<Record<string, unknown>>(
    `select operation, status, extract(epoch from expires_at - created_at)::integer as seconds
       from idempotency_keys where account_id = $1`,
    [accountId],
  )
  return rows
}

const video = (prompt = 'A whale', more: object = {}): Sent => ({
  path: '/v1/videos',
  body: { model: 'vidB-2', prompt, seconds: 4, size: '480x480', ...more },
})
const chat = (more: object = {}): Sent => ({
  path: '/v1/chat/completions',
  body: { model: 'chat-4o-audio-preview', messages: [{ role: 'user', content: 'Hello' }], ...more },
})
const speech = (more: object = {}): Sent => ({
  path: '/v1/audio/speech',
  body: { model: 'chat-4o-mini-tts-2025-12-15', input: 'Hello there', voice: 'alloy', ...more },
})
const recording = (path: string, fields: Record<string, string>): Sent => ({
  path,
  body: audioForm(wave(1), fields),
})
const completed = async (who: Customer) => {
  const { body } = await answerOf(await send(who, video('A source')))
  const id = String(body['id'])
  await completeTask(gateway, who.accountId, id, { bytes: film })
  return id
}

/** Every operation that creates something, with every kind of its responses. */
const creates: [string, keyof typeof operations, (who: Customer) => Promise<Sent>][] = [
  ['a video by JSON', 'createVideo', async () => video()],
  [
    'a video by form, with a picture',
    'createVideo',
    async () => ({
      path: '/v1/videos',
      body: form({
        ...{ model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '480x480' },
        input_reference: pixel,
      }),
    }),
  ],
  [
    'a video task',
    'createVideoTask',
    async () => ({ path: '/v1/video/create', body: { model: 'vidA3.1', prompt: 'A whale' } }),
  ],
  [
    'a remix',
    'remixVideo',
    async (who) => ({ path: `/v1/videos/${await completed(who)}/remix`, body: { prompt: 'At night' } }),
  ],
  [
    'an edit',
    'editVideo',
    async (who) => ({
      path: '/v1/videos/edits',
      body: { prompt: 'At night', video: { id: await completed(who) } },
    }),
  ],
  [
    'a character',
    'createCharacter',
    async (who) => ({ path: '/vidB/v1/characters', body: { from_task: await completed(who) } }),
  ],
  [
    'a transcription task',
    'createTranscriptionTask',
    async () => recording('/v1/audio/transcription-tasks', { model: 'asr-1' }),
  ],
  [
    'a transcription as JSON',
    'createTranscription',
    async () => recording('/v1/audio/transcriptions', { model: 'asr-1' }),
  ],
  [
    'a transcription as subtitles',
    'createTranscription',
    async () => recording('/v1/audio/transcriptions', { model: 'asr-1', response_format: 'srt' }),
  ],
  [
    'a transcription as events',
    'createTranscription',
    async () => recording('/v1/audio/transcriptions', { model: 'asr-1', stream: 'true' }),
  ],
  ['a translation', 'createTranslation', async () => recording('/v1/audio/translations', { model: 'asr-1' })],
  ['a speech', 'createSpeech', async () => speech()],
  ['a speech as events', 'createSpeech', async () => speech({ stream_format: 'sse' })],
  ['a conversation', 'completeChat', async () => chat()],
  ['a conversation as events', 'completeChat', async () => chat({ stream: true })],
]

describe('Idempotency-Key', () => {
  test.each(creates)('%s is created once, and replayed with the same bytes', async (_, _operation, make) => {
    const who = await customer()
    const sent = await make(who)
    const before = await madeFor(who)
    const first = await send(who, sent, named('once'))
    expect(first.status).toBe(200)
    expect(first.headers.get('idempotent-replayed')).toBeNull()
    const bytes = await bytesOf(first)
    const made = await madeFor(who)
    expect(made).not.toEqual(before)

    const again = await send(who, sent, named('once'))
    expect(again.status).toBe(200)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'))
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
    expect((await bytesOf(again)).equals(bytes)).toBe(true)
    expect(await madeFor(who)).toEqual(made)
  })

  test('is accepted by every operation that creates something', () => {
    const all = Object.values(operations).flatMap((operation) => ('creates' in operation ? operation.id : []))
    expect(new Set(creates.map(([, operation]) => operation))).toEqual(new Set(all))
  })

  test('a chat with a video is replayed from its first line, whether or not the video is complete', async () => {
    const who = await customer()
    const sent: Sent = {
      path: '/v1/chat/completions',
      body: { model: 'vidB-2', messages: [{ role: 'user', content: 'A whale' }], stream: true },
    }
    const leaving = new AbortController()
    const first = await send(who, sent, named('told'), leaving.signal)
    const reader = first.body?.pipeThrough(new TextDecoderStream()).getReader()
    const said = (await reader?.read())?.value ?? ''
    const [, id = ''] = /task_id: ([\w:-]+)/.exec(said) ?? []
    const again = send(who, sent, named('told'))
    leaving.abort()
    await endTask(gateway.database.postgres, id, {
      kind: 'failed',
      code: 'upstream_error',
      message: 'It broke.',
    })
    const told = await (await again).text()
    expect(told).toContain(`task_id: ${id}`)
    expect(told).toContain('It broke.')
    expect((await again).headers.get('idempotent-replayed')).toBe('true')
    const later = await (await send(who, sent, named('told'))).text()
    expect(later).toContain(`task_id: ${id}`)
    expect(await madeFor(who)).toMatchObject({ videos: 1, holds: 1 })
  })

  test('fifty concurrent requests create one task', async () => {
    const who = await customer()
    const answers = await Promise.all(
      Array.from({ length: 50 }, async () => answerOf(await send(who, video(), named('same')))),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map(({ body }) => body['id'])).size).toBe(1)
    expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1)
    expect(await madeFor(who)).toMatchObject({ videos: 1, holds: 1 })
  })

  test('belongs to the account: its other keys get the response, other accounts do not', async () => {
    const who = await customer()
    const other = await customer()
    const colleague = await createKey(gateway.database.postgres, who.accountId)
    const first = await answerOf(await send(who, video(), named('ours')))
    const theirs = await answerOf(await send(colleague, video(), named('ours')))
    const stranger = await answerOf(await send(other, video(), named('ours')))
    expect(theirs.body).toEqual(first.body)
    expect(stranger.body['id']).not.toBe(first.body['id'])
    expect(await madeFor(who)).toMatchObject({ videos: 1 })
    expect(await keptFor(who)).toEqual([{ operation: 'createVideo', status: 200, seconds: 86_400 }])
  })

  test('the order of members does not matter, every other difference does', async () => {
    const who = await customer()
    const first = await answerOf(await send(who, video('One', { metadata: { a: '1', b: '2' } }), named('k')))
    expect(first.status).toBe(200)
    const turned = {
      metadata: { b: '2', a: '1' },
      size: '480x480',
      seconds: 4,
      prompt: 'One',
      model: 'vidB-2',
    }
    const same = await answerOf(await send(who, { path: '/v1/videos', body: turned }, named('k')))
    expect(same.body).toEqual(first.body)
    const others: Sent[] = [
      video('Two', { metadata: { a: '1', b: '2' } }),
      video('One', { metadata: { a: '2', b: '1' } }),
      { path: '/v1/video/create', body: { model: 'vidA3.1', prompt: 'One' } },
      { path: '/v1/videos', body: form({ model: 'vidB-2', prompt: 'One', seconds: '4', size: '480x480' }) },
    ]
    for (const other of others) {
      expectProblem(await answerOf(await send(who, other, named('k'))), 'idempotency_key_reused')
    }
    expect(await madeFor(who)).toMatchObject({ videos: 1 })
  })

  test('a file counts by its content', async () => {
    const who = await customer()
    const withImage = (bytes: Buffer): Sent => ({
      path: '/v1/videos',
      body: form({
        ...{ model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '480x480' },
        input_reference: new Blob([new Uint8Array(bytes)]),
      }),
    })
    await send(who, withImage(pixelBytes), named('file'))
    const other = await answerOf(
      await send(who, withImage(Buffer.concat([pixelBytes, Buffer.from('more')])), named('file')),
    )
    expectProblem(other, 'idempotency_key_reused')
  })

  test.each([
    ['is empty', ''],
    ['is too long', 'k'.repeat(256)],
    ['has other than printable characters', 'a\tb'],
    ['is not ASCII', 'ä'],
  ])('a key that %s is refused', async (_, key) => {
    const who = await customer()
    const answer = await answerOf(await send(who, video(), { 'idempotency-key': key }))
    expectProblem(answer, 'invalid_parameter', 'Idempotency-Key')
    expect(await madeFor(who)).toMatchObject({ videos: 0 })
  })

  test('the longest key is accepted', async () => {
    const who = await customer()
    expect((await send(who, video(), named('k'.repeat(255)))).status).toBe(200)
  })

  test('an error is not stored, so the request can succeed later', async () => {
    const who = await customer(0)
    expectProblem(await answerOf(await send(who, video(), named('poor'))), 'insufficient_balance')
    expectProblem(
      await answerOf(await send(who, video('', { prompt: undefined }), named('poor'))),
      'missing_parameter',
      'prompt',
    )
    expect(await keptFor(who)).toEqual([])
    await gateway.database.postgres.query(
      'update balances set available_micros = 9000000 where account_id = $1',
      [who.accountId],
    )
    expect((await send(who, video(), named('poor'))).status).toBe(200)
  })

  test('a failure of the provider is not stored', async () => {
    const who = await customer()
    const failing = speech({ input: 'Hello vendor:500' })
    expectProblem(await answerOf(await send(who, failing, named('down'))), 'upstream_error')
    expectProblem(await answerOf(await send(who, failing, named('down'))), 'upstream_error')
    expect(gateway.vendor.speeches().filter(({ input }) => input.includes('vendor:500')).length).toBe(2)
    expect(await keptFor(who)).toEqual([])
  })

  test('a speech whose client disconnects is finished, charged once, and replayed', async () => {
    const who = await customer()
    const sent = speech({
      input: `Leaving ${'and coming back '.repeat(10)}vendor:pace=40`,
      response_format: 'wav',
    })
    const leaving = new AbortController()
    const first = await send(who, sent, named('left'), leaving.signal)
    await first.body?.getReader().read()
    leaving.abort()
    const again = await send(who, sent, named('left'))
    expect(again.status).toBe(200)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    const heard = await bytesOf(again)
    const spoken = gateway.vendor.speeches().filter(({ input }) => input.startsWith('Leaving'))
    expect(spoken).toMatchObject([{ state: 'finished', sizeBytes: heard.length }])
    await expect.poll(() => chargesOf(who)).toEqual([{ outcome: 'completed', whole: true }])
  })

  test('a speech too large to store whose client disconnects is stopped and charged, and so is the repetition', async () => {
    const who = await customer()
    const sent = speech({ input: `Longest ${'and longer '.repeat(200)}`, response_format: 'wav' })
    const leaving = new AbortController()
    const first = await send(who, sent, named('left early'), leaving.signal)
    await first.body?.getReader().read()
    leaving.abort()
    const spoken = () => gateway.vendor.speeches().filter(({ input }) => input.startsWith('Longest'))
    await expect.poll(() => spoken()[0]?.state).toBe('abandoned')
    await expect.poll(() => keptFor(who)).toEqual([])
    const again = await send(who, sent, named('left early'))
    expect(again.headers.get('idempotent-replayed')).toBeNull()
    expect((await bytesOf(again)).length).toBe(spoken()[1]?.sizeBytes)
    await expect
      .poll(() => chargesOf(who))
      .toEqual([
        { outcome: 'aborted', whole: true },
        { outcome: 'completed', whole: true },
      ])
  })

  test('a repetition of a request with a response too large to store is refused, and nothing is created again', async () => {
    const who = await customer()
    const sent = speech({ input: `Long ${'and longer '.repeat(60)}`, response_format: 'wav' })
    const first = await bytesOf(await send(who, sent, named('large')))
    expect(first.length).toBeGreaterThan(1_048_576)
    const again = await answerOf(await send(who, sent, named('large')))
    expectProblem(again, 'conflict')
    expect(again.headers.get('x-should-retry')).toBe('false')
    expect(await madeFor(who)).toMatchObject({ requests: 1 })
  })

  /** The claim of a process that has not completed its request. */
  const claimedElsewhere = async ({ accountId }: Customer, key: string, seconds: number) => {
    await gateway.database.postgres.query(
      `insert into idempotency_keys (account_id, name, operation, fingerprint, expires_at)
       select $1, $2, operation, fingerprint, now() + make_interval(secs => $3)
         from idempotency_keys where account_id = $1 limit 1`,
      [accountId, createHash('sha256').update(key).digest(), seconds],
    )
  }

  test('a request in progress is waited for, then refused with request_in_progress', async () => {
    const who = await customer()
    await send(who, video(), named('done'))
    await claimedElsewhere(who, 'busy', 60)
    vi.useFakeTimers({ toFake: ['Date'] })
    const startedMs = Date.now()
    let isAnswered = false
    const answering = send(who, video(), named('busy')).finally(() => (isAnswered = true))
    await expect
      .poll(() => {
        vi.advanceTimersByTime(500)
        return isAnswered
      })
      .toBe(true)
    expect(Date.now() - startedMs).toBeGreaterThan(9_900)
    vi.useRealTimers()
    const answer = await answerOf(await answering)
    expectProblem(answer, 'request_in_progress')
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(await madeFor(who)).toMatchObject({ videos: 1 })
  })

  test('a request of a dead process is processed by the next attempt', async () => {
    const who = await customer()
    await send(who, video(), named('done'))
    await claimedElsewhere(who, 'dead', 0.5)
    const answer = await send(who, video(), named('dead'))
    expect(answer.status).toBe(200)
    expect(answer.headers.get('idempotent-replayed')).toBeNull()
    expect(await madeFor(who)).toMatchObject({ videos: 2 })
  })
})

const log = createLog({ level: 'silent' }, 'test')
const connected = new AbortController().signal

const attemptOf = ({ accountId, keyId }: Customer): Attempt => ({
  caller: { accountId, keyId } as Attempt['caller'],
  ...{ operation: 'createVideo', fingerprint: Buffer.from('a body'), key: randomUUID(), retry: 0 },
})

describe('a process that takes long for a request', () => {
  test('extends its claim, so that no other one processes the request', async () => {
    const { postgres } = gateway.database
    const who = await customer()
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const { runOnce, close } = createRunOnce({ postgres, log })
    const [begun, done] = [Promise.withResolvers<void>(), Promise.withResolvers<{ body: string }>()]
    const reply = runOnce(attemptOf(who), connected, () => {
      begun.resolve()
      return done.promise
    })
    await begun.promise
    await postgres.query('update idempotency_keys set expires_at = now() where account_id = $1', [
      who.accountId,
    ])
    vi.advanceTimersByTime(5_000)
    vi.useRealTimers()
    await expect
      .poll(async () => {
        const { rows } = await postgres.query<{ isHeld: boolean }>(
          `select expires_at > now() + interval '5 s' as "isHeld" from idempotency_keys where account_id = $1`,
          [who.accountId],
        )
        return rows
      })
      .toEqual([{ isHeld: true }])
    done.resolve({ body: 'done' })
    expect(await reply).toEqual({ body: 'done' })
    close()
  })

  test('creates nothing once another one has taken over its claim', async () => {
    const who = await customer()
    const sent = video(`Slow ${randomUUID()}`, { input_reference: `${slow.url}/slow.png` })
    const first = send(who, sent, named('taken over'))
    await expect.poll(slow.isAsked).toBe(true)
    await gateway.database.postgres.query(
      'update idempotency_keys set claim = gen_random_uuid() where account_id = $1',
      [who.accountId],
    )
    slow.answer()
    expectProblem(await answerOf(await first), 'request_in_progress')
    expect(await madeFor(who)).toMatchObject({ videos: 0, holds: 0 })
  })
})

describe('a process that loses its connection to the database', () => {
  const lost = new Error('Connection terminated unexpectedly')

  /** A database that loses the connection twice at a statement with this text, or at a commit, before or after it was executed. */
  const losing = (text: string, when: 'before' | 'after') => {
    const { postgres } = gateway.database
    let losses = 0
    const losingAt = async <Result>(name: string, execute: () => Promise<Result>): Promise<Result> => {
      const isLost = name.includes(text) && losses < 2
      if (isLost) losses += 1
      if (isLost && when === 'before') throw lost
      const result = await execute()
      if (isLost) throw lost
      return result
    }
    const query: Postgres['query'] = (statement, values) =>
      losingAt(statement, () => postgres.query<never>(statement, values))
    const transaction: Postgres['transaction'] = (work, options) =>
      losingAt('commit', () => postgres.transaction(work, options))
    return { postgres: { ...postgres, query, transaction }, losses: () => losses }
  }

  test.for([
    {
      ...{ at: 'the release of its claim', text: 'delete from idempotency_keys', when: 'before' as const },
      ...{ by: { key: 'named' }, expected: 2 },
    },
    {
      ...{
        at: 'the confirmation of its claim',
        text: 'insert into idempotency_keys',
        when: 'after' as const,
      },
      ...{ by: { key: 'named' }, expected: 1 },
    },
    {
      ...{ at: 'the commit of the claim of a retry', text: 'commit', when: 'after' as const },
      ...{ by: { key: undefined, retry: 1 }, expected: 1 },
    },
  ])('at $at gives the request up when it is connected again', async ({ text, when, by, expected }) => {
    const who = await customer()
    const attempt = { ...attemptOf(who), ...by }
    const { postgres, losses } = losing(text, when)
    const failing = createRunOnce({ postgres, log })
    const fails = failing.runOnce(attempt, connected, () => Promise.reject(lost))
    await expect(fails).rejects.toBe(lost)
    // It would only expire.
    await expect.poll(() => keptFor(who)).toEqual([])
    const other = createRunOnce({ postgres: gateway.database.postgres, log })
    expect(await other.runOnce(attempt, connected, async () => ({ body: 'done' }))).toEqual({ body: 'done' })
    expect(losses()).toBe(expected)
    failing.close()
    other.close()
  })
})

describe('retries of a client library', () => {
  test.each(creates.filter(([name, operation]) => operation !== 'createSpeech' && !name.includes('events')))(
    '%s is created once',
    async (_, _operation, make) => {
      const who = await customer()
      const sent = await make(who)
      const first = await send(who, sent, retried(0))
      const bytes = await bytesOf(first)
      const made = await madeFor(who)
      for (const count of [1, 2]) {
        const again = await send(who, sent, retried(count))
        expect(again.headers.get('idempotent-replayed')).toBe('true')
        expect((await bytesOf(again)).equals(bytes)).toBe(true)
      }
      expect(await madeFor(who)).toEqual(made)
    },
  )

  test('equal first attempts create one task each', async () => {
    const who = await customer()
    const ids = new Set<unknown>()
    for (const headers of [retried(0), retried(0), { 'x-stainless-lang': 'python' }]) {
      ids.add((await answerOf(await send(who, video(), headers))).body['id'])
    }
    expect(ids.size).toBe(3)
    // Each retry gets a task that no other retry has.
    const retries = new Set<unknown>()
    for (let count = 0; count < 3; count += 1) {
      retries.add((await answerOf(await send(who, video(), retried(1)))).body['id'])
    }
    expect(retries).toEqual(ids)
    expect(await madeFor(who)).toMatchObject({ videos: 3 })
    expect(await keptFor(who)).toEqual(
      Array.from({ length: 3 }, () => ({ operation: 'createVideo', status: 200, seconds: 600 })),
    )
  })

  test('a request without retry headers neither stores nor replays a response', async () => {
    const who = await customer()
    await send(who, video())
    expect(await keptFor(who)).toEqual([])
    const other = await customer()
    await send(other, video(), retried(0))
    await send(other, video())
    expect(await madeFor(other)).toMatchObject({ videos: 2 })
  })

  test('a retry with another key or another content is a separate request', async () => {
    const who = await customer()
    const colleague = await createKey(gateway.database.postgres, who.accountId)
    await send(who, video(), retried(0))
    await send(colleague, video(), retried(1))
    await send(who, video('Another whale'), retried(1))
    expect(await madeFor(who)).toMatchObject({ videos: 3 })
  })

  test('a retry whose first attempt never arrived counts as the first attempt', async () => {
    const who = await customer()
    const first = await answerOf(await send(who, video(), retried(1)))
    const second = await answerOf(await send(who, video(), retried(2)))
    expect(second.body).toEqual(first.body)
    expect(await madeFor(who)).toMatchObject({ videos: 1 })
  })

  test('a retry during the first attempt joins it', async () => {
    const who = await customer()
    const sent = video(`Slow ${randomUUID()}`, { input_reference: `${slow.url}/slow.png` })
    const leaving = new AbortController()
    const first = send(who, sent, retried(0), leaving.signal)
    await expect.poll(slow.isAsked).toBe(true)
    const again = send(who, sent, retried(1))
    const later = send(who, sent, retried(2))
    await expect
      .poll(async () => {
        const { rows } = await gateway.database.postgres.query<{ retry: number }>(
          'select retry from idempotency_keys where account_id = $1',
          [who.accountId],
        )
        return rows
      })
      .toEqual([{ retry: 2 }])
    slow.answer()
    const ids = await Promise.all(
      [first, again, later].map(async (each) => (await answerOf(await each)).body['id']),
    )
    expect(new Set(ids).size).toBe(1)
    expect(await madeFor(who)).toMatchObject({ videos: 1, holds: 1 })
  })

  test('an idempotency key takes precedence over retry headers', async () => {
    const who = await customer()
    await send(who, video(), { ...retried(0), ...named('a') })
    await send(who, video(), { ...retried(1), ...named('b') })
    expect(await madeFor(who)).toMatchObject({ videos: 2 })
  })
})
