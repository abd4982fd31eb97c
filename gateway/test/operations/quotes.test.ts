/** `dry_run=true`: the price of an order without creating anything. */
import type { ErrorCode } from '@kinora/contract/errors'
import { operations } from '@kinora/contract/operations'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { expectProblem, form, pixel, pixelUri, type Answer, withoutRequestId } from '../kit/answers.ts'
import { completeTask, createAccount, createKey } from '../kit/factories.ts'
import { makeVideo } from '../kit/sample-video.ts'
import { audioForm, wave } from '../kit/sound.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'
import { wholeRecordOf } from '../kit/whole-record.ts'

let gateway: VendorGateway
let film: Buffer

beforeAll(async () => {
  gateway = await startVendorGateway()
  film = await makeVideo(gateway.directory)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const customer = async (balance = 1_000) => {
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres, { balance })
  return { accountId, text: (await createKey(postgres, accountId)).text }
}
type Customer = Awaited<ReturnType<typeof customer>>

interface Sent {
  path: string
  body: FormData | object
}

const send = ({ text }: Customer, { path, body }: Sent, query = '', headers: Record<string, string> = {}) =>
  fetch(`${gateway.url}${path}${query}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${text}`,
      ...(!(body instanceof FormData) && { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body instanceof FormData ? body : JSON.stringify(body),
    signal: AbortSignal.timeout(120_000),
  })
const quote = async (who: Customer, sent: Sent, headers: Record<string, string> = {}): Promise<Answer> => {
  const response = await send(who, sent, '?dry_run=true', headers)
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Answer['body'],
  }
}

const everything = () => wholeRecordOf(gateway)

const heldBy = async (accountId: string): Promise<number> => {
  const { rows } = await gateway.database.postgres.query<{ held: number }>(
    'select held_micros as held from balances where account_id = $1',
    [accountId],
  )
  return rows[0]?.held ?? 0
}
const spentBy = async (accountId: string): Promise<number> => {
  const { rows } = await gateway.database.postgres.query<{ spent: number }>(
    `select coalesce(sum(amount_micros), 0) as spent from ledger_entries
      where account_id = $1 and movement = 'capture' and book = 'revenue'`,
    [accountId],
  )
  return rows[0]?.spent ?? 0
}

const videoForm = { model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '480x480' }
const chatVideo = { model: 'vidB-2', messages: [{ role: 'user', content: 'A whale' }] }
const talk = { model: 'chat-4o-audio-preview', messages: [{ role: 'user', content: 'Hello' }] }
const speech = { model: 'chat-4o-mini-tts-2025-12-15', input: 'Hello there', voice: 'alloy' }
const source = async (who: Customer) => {
  const response = await send(who, { path: '/v1/videos', body: videoForm })
  const { id } = (await response.json()) as { id: string }
  await completeTask(gateway, who.accountId, id, { bytes: film })
  return id
}

type Make = (who: Customer) => Promise<Sent>
const sent =
  (path: string, body: () => FormData | object): Make =>
  async () => ({ path, body: body() })

/** Orders that are charged when their task has completed. */
const tasks: [string, keyof typeof operations, Make, object][] = [
  [
    'a video by form, with an image',
    'createVideo',
    sent('/v1/videos', () => form({ ...videoForm, input_reference: pixel })),
    { prompt: 'A whale', seconds: 4, size: '480x480', watermark: true, private: false },
  ],
  [
    'a video by JSON, with an image',
    'createVideo',
    sent('/v1/videos', () => ({ ...videoForm, input_reference: pixelUri })),
    { prompt: 'A whale', seconds: 4 },
  ],
  [
    'a video task',
    'createVideoTask',
    sent('/v1/video/create', () => ({ model: 'vidA3.1', prompt: 'A whale' })),
    { prompt: 'A whale', watermark: false },
  ],
  [
    'a remix',
    'remixVideo',
    async (who) => ({ path: `/v1/videos/${await source(who)}/remix`, body: { prompt: 'At night' } }),
    { prompt: 'At night', seconds: 4, size: '480x480' },
  ],
  [
    'an edit',
    'editVideo',
    async (who) => ({
      path: '/v1/videos/edits',
      body: { prompt: 'At night', video: { id: await source(who) } },
    }),
    { prompt: 'At night', seconds: 4, size: '480x480' },
  ],
  [
    'a video by chat',
    'completeChat',
    sent('/v1/chat/completions', () => ({ ...chatVideo, stream: true })),
    { prompt: 'A whale' },
  ],
  [
    'a transcription task',
    'createTranscriptionTask',
    sent('/v1/audio/transcription-tasks', () => audioForm(wave(3), { model: 'asr-1' })),
    { seconds: '3', task: 'transcribe' },
  ],
]

/** Orders that are charged with their response. */
const requests: [string, keyof typeof operations, Make, object][] = [
  [
    'a transcription',
    'createTranscription',
    sent('/v1/audio/transcriptions', () => audioForm(wave(2), { model: 'asr-1', language: 'en' })),
    { seconds: '2', language: 'en', response_format: 'json', temperature: 0 },
  ],
  [
    'a translation',
    'createTranslation',
    sent('/v1/audio/translations', () => audioForm(wave(2), { model: 'asr-1' })),
    { seconds: '2' },
  ],
  [
    'a speech',
    'createSpeech',
    sent('/v1/audio/speech', () => speech),
    { input: 'Hello there', voice: 'alloy', response_format: 'mp3', speed: 1 },
  ],
]

const expectQuote = (answer: Answer, parameters: object) => {
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(answer.body).toEqual({
    object: 'quote',
    model: expect.any(String),
    parameters: expect.objectContaining(parameters),
    lines: [
      {
        unit: expect.any(String),
        unit_micros: expect.any(Number),
        quantity: expect.stringMatching(/^\d+(\.\d{1,3})?$/),
        unit_size: expect.any(Number),
        total_micros: answer.body['total_micros'],
        currency: 'USD',
      },
    ],
    total_micros: expect.any(Number),
    currency: 'USD',
    fits: true,
    refusal: null,
  })
}

describe('a quote is the amount that is charged later, and leaves nothing behind', () => {
  test.each(tasks)('%s', async (_, _operation, make, parameters) => {
    const who = await customer()
    const order = await make(who)
    const before = await everything()
    const answer = await quote(who, order, { 'idempotency-key': 'a quote', 'x-stainless-retry-count': '0' })
    expectQuote(answer, parameters)
    expect(await everything()).toEqual(before)
    const leaving = new AbortController()
    const response = await fetch(`${gateway.url}${order.path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${who.text}`,
        ...(!(order.body instanceof FormData) && { 'content-type': 'application/json' }),
      },
      body: order.body instanceof FormData ? order.body : JSON.stringify(order.body),
      signal: leaving.signal,
    })
    expect(response.status).toBe(200)
    expect(await heldBy(who.accountId)).toBe(answer.body['total_micros'])
    leaving.abort()
  })

  test('a completed video', async () => {
    const who = await customer()
    const { body } = await quote(who, { path: '/v1/videos', body: videoForm })
    await source(who)
    expect(await spentBy(who.accountId)).toBe(body['total_micros'])
  })

  test.each(requests)('%s', async (_, _operation, make, parameters) => {
    const who = await customer()
    const order = await make(who)
    const speeches = gateway.vendor.speeches().length
    const before = await everything()
    const answer = await quote(who, order)
    expectQuote(answer, parameters)
    expect(await everything()).toEqual(before)
    expect(gateway.vendor.speeches().length).toBe(speeches)
    await (await send(who, order)).arrayBuffer()
    // The end of a response does not wait for its charge.
    await expect.poll(() => spentBy(who.accountId)).toBe(answer.body['total_micros'])
  })

  test('a chat completion costs no more than its quote', async () => {
    const who = await customer()
    const order = { path: '/v1/chat/completions', body: talk }
    const turns = gateway.vendor.turns().length
    const before = await everything()
    const { status, body } = await quote(who, order)
    expect(status).toBe(200)
    expect(await everything()).toEqual(before)
    expect(gateway.vendor.turns().length).toBe(turns)
    expect(body).toMatchObject({ object: 'quote', fits: true, parameters: { n: 1, messages: 1 } })
    await (await send(who, order)).arrayBuffer()
    const { rows } = await gateway.database.postgres.query<{ held: number }>(
      'select hold_micros as held from metered_requests where account_id = $1',
      [who.accountId],
    )
    expect(rows).toEqual([{ held: body['total_micros'] }])
    expect(await spentBy(who.accountId)).toBeLessThanOrEqual(Number(body['total_micros']))
  })

  test('a character is free and is not created', async () => {
    const who = await customer()
    const order = { path: '/vidB/v1/characters', body: { from_task: await source(who), timestamps: '1,3' } }
    const before = await everything()
    const { status, body } = await quote(who, order)
    expect(status).toBe(200)
    expect(body).toEqual({
      object: 'quote',
      model: null,
      parameters: order.body,
      lines: [],
      total_micros: 0,
      currency: 'USD',
      fits: true,
      refusal: null,
    })
    expect(await everything()).toEqual(before)
  })

  test('every operation that creates something supports quotes', () => {
    const all = Object.values(operations).flatMap((operation) => ('creates' in operation ? operation.id : []))
    const tried = [...tasks, ...requests].map(([, operation]) => operation)
    expect(new Set([...tried, 'createCharacter'])).toEqual(new Set(all))
  })
})

describe('an order that would be refused', () => {
  const orders = [...tasks, ...requests].filter(
    ([, operation]) => !['remixVideo', 'editVideo'].includes(operation),
  )
  /** Orders with a body over 64 KiB. The others are small and need neither a program nor a download. */
  const large = ['createTranscriptionTask']

  test.each(orders)('%s beyond the balance does not fit', async (_, _operation, make) => {
    const who = await customer(0.000001)
    const order = await make(who)
    const before = await everything()
    const { status, body } = await quote(who, order)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      fits: false,
      refusal: { code: 'insufficient_balance', message: expect.stringMatching(/^The balance is too low: /) },
    })
    expect(body['total_micros']).toBeGreaterThan(0)
    expect(await everything()).toEqual(before)
    expect((await send(who, order)).status).toBe(402)
  })

  test.each(orders.filter(([, operation]) => !large.includes(operation)))(
    '%s of an account without money gets a quote, because it is cheap',
    async (_, _operation, make) => {
      const who = await customer(0)
      const { status, body } = await quote(who, await make(who))
      expect(status).toBe(200)
      expect(body).toMatchObject({ fits: false, refusal: { code: 'insufficient_balance' } })
      expect(body['total_micros']).toBeGreaterThan(0)
    },
  )

  const mp3 = Buffer.from('ID3 and no music')
  const spoken = {
    type: 'input_audio',
    input_audio: { data: mp3.toString('base64'), format: 'mp3' },
  }
  const film = 'https://example.com/video.mp4'
  const image = 'https://example.com/image.png'
  const expensive: [string, Make][] = [
    ...orders
      .filter(([, operation]) => large.includes(operation))
      .map(([name, , make]): [string, Make] => [`${name}, which is a large body`, make]),
    ['a large recording', sent('/v1/audio/translations', () => audioForm(wave(3), { model: 'asr-1' }))],
    [
      'a large JSON body',
      sent('/v1/videos', () => ({ ...videoForm, input_reference: pixelUri.padEnd(70_000, 'A') })),
    ],
    [
      'a small recording that a program measures',
      sent('/v1/audio/transcriptions', () => audioForm(mp3, { model: 'asr-1' })),
    ],
    [
      'a recording in a chat',
      sent('/v1/chat/completions', () => ({ ...talk, messages: [{ role: 'user', content: [spoken] }] })),
    ],
    ['a character', sent('/vidB/v1/characters', () => ({ url: film, timestamps: '0,2' }))],
    ['a video with a character', sent('/v1/videos', () => ({ ...videoForm, character_url: film }))],
    ['an image by URL', sent('/v1/videos', () => ({ ...videoForm, input_reference: image }))],
    [
      'a video task with an image by URL',
      sent('/v1/video/create', () => ({ model: 'vidA3.1', prompt: 'A whale', images: [image] })),
    ],
    [
      'a chat with an image by URL',
      sent('/v1/chat/completions', () => ({
        model: 'vidB-2',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'A whale' },
              { type: 'image_url', image_url: { url: image } },
            ],
          },
        ],
      })),
    ],
  ]
  test.each(expensive)('%s of an account without money gets the 402 of the order', async (_, make) => {
    const who = await customer(0)
    const order = await make(who)
    const before = await everything()
    const answer = await quote(who, order)
    expectProblem(answer, 'insufficient_balance')
    expect(JSON.stringify(answer.body)).toContain('Top up the account')
    const real = await send(who, order)
    expect(withoutRequestId(await real.json())).toEqual(withoutRequestId(answer.body))
    expect(await everything()).toEqual(before)
  })

  test('dry_run in a body does not avoid the 402 with the idempotency key of an earlier response', async () => {
    const who = await customer(0.4)
    const headers = { 'idempotency-key': 'once' }
    expect((await send(who, { path: '/v1/videos', body: videoForm }, '', headers)).status).toBe(200)
    const body = { ...videoForm, input_reference: image, dry_run: true }
    const response = await send(who, { path: '/v1/videos', body }, '', headers)
    expect(response.status).toBe(402)
  })

  test('a quote for an expired subscription names the same error', async () => {
    const { postgres } = gateway.database
    const accountId = await createAccount(postgres)
    const { text } = await createKey(postgres, accountId, { kind: 'subscription' })
    const { body } = await quote({ accountId, text }, { path: '/v1/videos', body: videoForm })
    expect(body).toMatchObject({ fits: false, refusal: { code: 'subscription_expired' } })
  })

  const wrong: [ErrorCode, string | undefined, Sent][] = [
    ['model_not_found', 'model', { path: '/v1/videos', body: { ...videoForm, model: 'nothing' } }],
    ['invalid_parameter', 'seconds', { path: '/v1/videos', body: { ...videoForm, seconds: 5 } }],
    [
      'invalid_image',
      'input_reference',
      { path: '/v1/videos', body: { ...videoForm, input_reference: 'data:image/png;base64,AAAA' } },
    ],
    [
      'task_not_found',
      undefined,
      { path: '/v1/videos', body: { ...videoForm, character_from_task: 'vidB-2:task_1' } },
    ],
    ['task_not_found', undefined, { path: '/v1/videos/none/remix', body: { prompt: 'At night' } }],
    [
      'invalid_parameter',
      'timestamps',
      { path: '/vidB/v1/characters', body: { url: 'https://a.example', timestamps: '9' } },
    ],
    ['voice_not_supported', 'voice', { path: '/v1/audio/speech', body: { ...speech, voice: 'nobody' } }],
    [
      'invalid_file_format',
      'file',
      { path: '/v1/audio/transcriptions', body: audioForm(Buffer.from('no sound'), { model: 'asr-1' }) },
    ],
    [
      'missing_parameter',
      'file',
      { path: '/v1/audio/transcription-tasks', body: audioForm(undefined, { model: 'asr-1' }) },
    ],
  ]
  test.each(wrong)('%s on %s, as without dry_run', async (code, param, order) => {
    const who = await customer()
    const before = await everything()
    const answer = await quote(who, order)
    const real = await send(who, order)
    expect(withoutRequestId(await real.json())).toEqual(withoutRequestId(answer.body))
    expectProblem(answer, code, param)
    expect(await everything()).toEqual(before)
  })
})

describe('forms of dry_run', () => {
  const json: Sent = { path: '/v1/videos', body: videoForm }
  const inBody = (dryRun: unknown): Sent => ({ ...json, body: { ...videoForm, dry_run: dryRun } })
  const inForm = (dryRun: string | Blob): Sent => ({
    ...json,
    body: form({ ...videoForm, dry_run: dryRun }),
  })
  const twice = form({ ...videoForm, dry_run: 'false' })
  twice.append('dry_run', 'true')
  const bothInForm: Sent = { ...json, body: twice }

  test.each<[string, Sent, string]>([
    ['without a value', json, '?dry_run'],
    ['with an empty value', json, '?dry_run='],
    ['with a blank value', json, '?dry_run=%20'],
    ['in capitals', json, '?dry_run=TRUE'],
    ['in JSON', inBody(true), ''],
    ['in JSON as text', inBody('True'), ''],
    ['in JSON as null', inBody(null), ''],
    ['in JSON as an empty text', inBody(''), ''],
    ['in a form', inForm('true'), ''],
    ['in a form, in capitals', inForm('TRUE'), ''],
    ['in a form without a value', inForm(''), ''],
    ['in the body, if the query is false', inBody(true), '?dry_run=false'],
    ['in the query, if the body is false', inBody(false), '?dry_run=true'],
  ])('%s: a quote without a charge', async (_, order, query) => {
    const who = await customer()
    const before = await everything()
    const response = await send(who, order, query, { 'idempotency-key': 'a quote' })
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ object: 'quote', fits: true })
    expect(response.headers.get('x-ignored-params')).toBeNull()
    expect(await everything()).toEqual(before)
  })

  test.each<[string, Sent, string]>([
    ['other text', json, '?dry_run=maybe'],
    ['a number', json, '?dry_run=1'],
    ['both values', json, '?dry_run=true&dry_run=false'],
    ['a number in JSON', inBody(1), ''],
    ['a list in JSON', inBody([true]), ''],
    ['an object in JSON', inBody({}), ''],
    ['other text in JSON', inBody('yes'), ''],
    ['other text in a form', inForm('yes'), ''],
    ['both values in a form', bothInForm, ''],
    ['a file in a form', inForm(new File(['true'], 'true.txt')), ''],
  ])('%s: refused without a charge', async (_, order, query) => {
    const who = await customer()
    const before = await everything()
    const response = await send(who, order, query)
    const body = (await response.json()) as Answer['body']
    expectProblem(
      { status: response.status, headers: response.headers, body },
      'invalid_parameter',
      'dry_run',
    )
    expect(await everything()).toEqual(before)
  })

  const named = (name: string, value: unknown = true): Sent => ({
    ...json,
    body: { ...videoForm, [name]: value },
  })

  test.each<[string, Sent, string]>([
    ['dryrun', json, '?dryrun=true'],
    ['dryrun', json, '?dryrun'],
    ['dryRun', json, '?dryRun=true'],
    ['dry-run', json, '?dry-run=true'],
    ['DRY_RUN', json, '?DRY_RUN=false'],
    ['dry_runs', json, '?a=b&dry_runs=1'],
    ['dry_rum', named('dry_rum'), ''],
    ['dryRun', named('dryRun', null), ''],
    ['dry-run', { ...json, body: form({ ...videoForm, 'dry-run': '' }) }, ''],
    ['dryrun', { path: '/v1/audio/speech', body: { ...speech, dryrun: true } }, ''],
    ['dryrun', { path: '/v1/chat/completions', body: { ...talk, dryrun: true } }, ''],
  ])('%s, a misspelt name, is refused without a charge', async (name, order, query) => {
    const who = await customer()
    const before = await everything()
    const response = await send(who, order, query)
    const body = (await response.json()) as Answer['body']
    expectProblem({ status: response.status, headers: response.headers, body }, 'invalid_parameter', name)
    expect((body['error'] as { message: string }).message).toContain("'dry_run'")
    expect(await everything()).toEqual(before)
  })

  test.each<[string, Sent, string]>([
    ['in the query', json, '?dry_run=false'],
    ['in JSON', inBody(false), ''],
    ['in a form', inForm('False'), ''],
  ])('false %s creates the task', async (_, order, query) => {
    const response = await send(await customer(), order, query)
    expect(await response.json()).toMatchObject({ object: 'video' })
    expect(response.headers.get('x-ignored-params')).toBeNull()
  })

  test('in the body of a speech', async () => {
    const who = await customer()
    const before = gateway.vendor.speeches().length
    const response = await send(who, { path: '/v1/audio/speech', body: { ...speech, dry_run: true } })
    expect(await response.json()).toMatchObject({ object: 'quote' })
    expect(gateway.vendor.speeches().length).toBe(before)
  })
})

describe('a character', () => {
  const characters = (body: object): Sent => ({ path: '/vidB/v1/characters', body })
  const videos = (parameters: object): Sent => ({ path: '/v1/videos', body: { ...videoForm, ...parameters } })
  /** Expects the quote and the create to fail with the same error, and the quote to leave nothing behind. */
  const expectBothRefused = async (who: Customer, order: Sent, code: ErrorCode, param?: string) => {
    const before = await everything()
    const answer = await quote(who, order)
    expectProblem(answer, code, param)
    expect(await everything()).toEqual(before)
    expect(withoutRequestId(await (await send(who, order)).json())).toEqual(withoutRequestId(answer.body))
  }

  test('timestamps outside the video are refused as without dry_run', async () => {
    const who = await customer()
    const id = await source(who)
    const span = { timestamps: '60,62' }
    await expectBothRefused(who, characters({ from_task: id, ...span }), 'invalid_parameter', 'timestamps')
    const character = { character_from_task: id, character_timestamps: '60,62' }
    await expectBothRefused(who, videos(character), 'invalid_parameter', 'character_timestamps')
  })

  test('a video of another account, an unfinished video and an unreachable URL', async () => {
    const who = await customer()
    const foreign = await source(await customer())
    await expectBothRefused(who, characters({ from_task: foreign }), 'task_not_found')
    const { id } = (await (await send(who, { path: '/v1/videos', body: videoForm })).json()) as { id: string }
    await expectBothRefused(who, characters({ from_task: id }), 'task_not_completed', 'from_task')
    const url = 'http://127.0.0.1/film.mp4'
    await expectBothRefused(who, characters({ url }), 'invalid_parameter', 'url')
    await expectBothRefused(who, videos({ character_url: url }), 'invalid_parameter', 'character_url')
  })

  test('a file that is not a video', async () => {
    const who = await customer()
    const { id } = (await (await send(who, { path: '/v1/videos', body: videoForm })).json()) as { id: string }
    await completeTask(gateway, who.accountId, id, { bytes: Buffer.from('no video at all') })
    await expectBothRefused(who, characters({ from_task: id }), 'invalid_parameter', 'from_task')
  })

  test('a caller without money gets the 402 of the create, and a quote if the character exists already', async () => {
    const who = await customer()
    const order = characters({ from_task: await source(who), timestamps: '1,3' })
    const empty = () =>
      gateway.database.postgres.query(
        `update balances set available_micros = $2 where account_id = $1 and wallet = 'payg'`,
        [who.accountId, 0],
      )
    const { rows } = await gateway.database.postgres.query<{ micros: number }>(
      `select available_micros as micros from balances where account_id = $1 and wallet = 'payg'`,
      [who.accountId],
    )
    await empty()
    await expectBothRefused(who, order, 'insufficient_balance')
    await gateway.database.postgres.query(
      `update balances set available_micros = $2 where account_id = $1 and wallet = 'payg'`,
      [who.accountId, rows[0]?.micros],
    )
    expect((await send(who, order)).status).toBe(200)
    await empty()
    expect((await quote(who, order)).body).toMatchObject({ fits: true, refusal: null })
    expect((await send(who, order)).status).toBe(200)
  })
})

test('a quote counts as a request in the rate limit', async () => {
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres)
  const { text } = await createKey(postgres, accountId, { limits: { create: 1 } })
  const who = { accountId, text }
  expect((await quote(who, { path: '/v1/videos', body: videoForm })).status).toBe(200)
  expectProblem(await quote(who, { path: '/v1/videos', body: videoForm }), 'rate_limit_exceeded')
})
