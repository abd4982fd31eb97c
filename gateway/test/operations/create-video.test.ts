import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import type { ErrorCode } from '@kinora/contract/errors'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { uuidV7 } from '../../src/platform/ids/uuid.ts'
import { referencesOfTask } from '../../src/storage/stored-file-store.ts'
import {
  ask,
  askJson,
  askRaw,
  expectProblem,
  form,
  pixel,
  pixelBytes,
  pixelUri,
  type Answer,
} from '../kit/answers.ts'
import { completeTask, createAccount, createKey, endTask, subscribe, type TestKey } from '../kit/factories.ts'
import { brokenInvariants } from '../kit/ledger.ts'
import { shownVideo } from '../kit/shown-video.ts'
import { recordOf, startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let accountId: string
let key: TestKey
let images: Server
let imagesUrl: string

beforeAll(async () => {
  images = createServer((request, response) => {
    response.writeHead(request.url === '/pixel.png' ? 200 : 404).end(pixelBytes)
  })
  await new Promise<void>((resolve) => images.listen({ host: '127.0.0.1', port: 0 }, resolve))
  imagesUrl = `http://127.0.0.1:${(images.address() as AddressInfo).port}`
  gateway = await startGateway({ FETCH_ALLOW_ORIGINS: imagesUrl })
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  images.close()
})

type FormFields = Record<string, string | Blob>
const familyB = { model: 'vidB-2', prompt: 'A whale at sunset', seconds: '4', size: '1280x720' }
const familyA = {
  model: 'vidA_3_1',
  prompt: 'A whale at sunset',
  seconds: '5',
  size: '16x9',
  input_reference: pixel,
}
const familyAJson = { ...familyA, input_reference: pixelUri }
const megabyte = 1_048_576

const endpoint = (path = '/v1/videos') => `${gateway.url}${path}`
const create = (fields: FormFields | FormData, { text = key.text, headers = {}, path = '/v1/videos' } = {}) =>
  ask(endpoint(path), text, {
    method: 'POST',
    headers,
    body: fields instanceof FormData ? fields : form(fields),
  })
const createJson = (
  body: unknown,
  { text = key.text, headers = {} }: { text?: string; headers?: Record<string, string> } = {},
) => askJson(endpoint(), text, body, headers)

const without = <Fields extends object>(fields: Fields, name: string): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([each]) => each !== name)) as Fields

/** Expects this error, and that the request left nothing behind: no row, no ledger entry, no file. */
const expectRefused = async (
  send: () => Promise<Answer>,
  code: ErrorCode,
  param?: string,
): Promise<Answer> => {
  const before = await recordOf(gateway)
  const answer = await send()
  expectProblem(answer, code, param)
  expect(await recordOf(gateway)).toEqual(before)
  return answer
}

const orderOf = async (taskId: unknown) => {
  const { rows } = await gateway.database.postgres.query<Record<string, unknown>>(
    'select video_order from video_tasks where id = $1',
    [taskId],
  )
  return rows[0]?.['video_order']
}

const referencesOf = async (taskId: unknown) => {
  const files = await referencesOfTask(gateway.database.postgres, String(taskId))
  return files.map(({ contentType, sizeBytes, storageKey }) => ({
    content_type: contentType,
    size_bytes: sizeBytes,
    storage_key: storageKey,
  }))
}

describe('200', () => {
  test('a family B form is accepted as pending, with its own id format', async () => {
    const answer = await create(familyB)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(answer.body).toEqual(
      shownVideo({
        id: expect.stringMatching(/^vidB-2:\d{10}-[0-9A-Za-z]{14}$/),
        ...{ model: 'vidB-2', seconds: 4, size: '1280x720', enhanced_prompt: familyB.prompt },
      }),
    )
  })

  test('a family A form with its image is accepted as queued', async () => {
    const answer = await create(familyA)
    expect(answer.body).toEqual(
      shownVideo({
        id: expect.stringMatching(
          /^video_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
        ),
        ...{ model: 'vidA_3_1', status: 'queued', seconds: 5, size: '16x9', enhanced_prompt: familyA.prompt },
      }),
    )
    expect(await referencesOf(answer.body['id'])).toEqual([
      expect.objectContaining({ content_type: 'image/png', size_bytes: pixelBytes.length }),
    ])
  })

  test.each(['vidB-2', 'vidB-2-pro'])('%s accepts every size and duration of family B', async (model) => {
    const sizes = ['720x1280', '1280x720', '480x480', '1080x1080']
    const durations = [4, 8, 10, 12, 15, 25]
    for (const [index, seconds] of durations.entries()) {
      const size = sizes[index % sizes.length] as string
      const answer = await create({ ...familyB, model, seconds: String(seconds), size })
      expect(answer.body).toMatchObject({ model, seconds, size, status: 'pending' })
    }
  })

  test.each(['vidA_3_1', 'vidA_3_1-fast'])('%s accepts 1 to 60 seconds in both sizes', async (model) => {
    expect((await create({ ...familyA, model, seconds: '1' })).body).toMatchObject({ model, seconds: 1 })
    const longest = await create({ ...familyA, model, seconds: '60', size: '720x1280' })
    expect(longest.body).toMatchObject({ model, seconds: 60, size: '720x1280' })
  })

  test('family B accepts the same fields as JSON', async () => {
    const answer = await createJson(familyB)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ model: 'vidB-2', status: 'pending', seconds: 4, size: '1280x720' })
  })

  test('family A accepts the same fields as JSON, with its image as a data URI', async () => {
    const answer = await createJson(familyAJson)
    expect(answer.body).toMatchObject({ model: 'vidA_3_1', status: 'queued', seconds: 5, size: '16x9' })
    expect(await referencesOf(answer.body['id'])).toEqual([
      expect.objectContaining({ content_type: 'image/png', size_bytes: pixelBytes.length }),
    ])
  })

  test('JSON accepts seconds as a number and flags as booleans or text', async () => {
    const answer = await createJson({
      ...familyB,
      seconds: 8,
      watermark: false,
      private: 'TRUE',
      style: 'anime',
    })
    expect(answer.body).toMatchObject({ seconds: 8 })
    expect(await orderOf(answer.body['id'])).toEqual({
      prompt: 'A whale at sunset',
      seconds: 8,
      sound: true,
      size: '1280x720',
      width: 1280,
      height: 720,
      watermark: false,
      isPrivate: true,
      style: 'anime',
    })
  })

  test('a form accepts flags in upper and lower case', async () => {
    const answer = await create({ ...familyB, watermark: 'False', private: 'tRUE' })
    expect(await orderOf(answer.body['id'])).toMatchObject({ watermark: false, isPrivate: true })
  })

  test('empty optional fields count as missing, in a form and in JSON', async () => {
    const empty = { input_reference: '', watermark: '', private: '', style: '', metadata: '' }
    for (const answer of [
      await create({ ...familyB, ...empty }),
      await createJson({ ...familyB, ...empty, watermark: null }),
      await create({ ...familyB, style: '  ', input_reference: ' ' }),
    ]) {
      expect(answer.status).toBe(200)
      expect(answer.headers.get('x-ignored-params')).toBeNull()
      expect(await orderOf(answer.body['id'])).not.toHaveProperty('style')
      expect(await orderOf(answer.body['id'])).toMatchObject({ watermark: true, isPrivate: false })
    }
  })

  test('the empty file part of a browser counts as missing', async () => {
    const boundary = 'frontier'
    const part = (disposition: string, value: string) =>
      `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${value}\r\n`
    const fields = Object.entries(familyB).map(([name, value]) => part(`name="${name}"`, value))
    const body = `${fields.join('')}${part('name="input_reference"; filename=""', '')}--${boundary}--\r\n`
    const answer = await ask(endpoint(), key.text, {
      method: 'POST',
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
      body,
    })
    expect(answer.status).toBe(200)
    expect(await referencesOf(answer.body['id'])).toEqual([])
  })

  test('a form part without a name is ignored', async () => {
    const body = [
      'name="model"\r\n\r\nvidB-2',
      'name="prompt"\r\n\r\nhi',
      'name="seconds"\r\n\r\n4',
      'name="size"\r\n\r\n480x480',
    ]
      .concat('\r\n\r\nnameless', 'filename="x.png"\r\nContent-Type: image/png\r\n\r\nnameless')
      .map((part) => `--frontier\r\nContent-Disposition: form-data; ${part}\r\n`)
    const answer = await ask(endpoint(), key.text, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=frontier' },
      body: `${body.join('')}--frontier--\r\n`,
    })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-ignored-params')).toBeNull()
  })

  test('unknown parameters and those of the other family are ignored and listed', async () => {
    const formAnswer = await create({ ...familyA, private: 'true', style: 'anime', duration: '10' })
    expect(formAnswer.status).toBe(200)
    expect(formAnswer.headers.get('x-ignored-params')?.split(', ').toSorted()).toEqual([
      'duration',
      'private',
      'style',
    ])
    const jsonAnswer = await createJson({ ...familyB, 'naïve name': 1, __proto__x: 2, aspect_ratio: '16:9' })
    expect(jsonAnswer.headers.get('x-ignored-params')).toBe('na?ve?name, __proto__x, aspect_ratio')
    expect((await create(familyB)).headers.get('x-ignored-params')).toBeNull()
  })

  test('unknown query parameters are ignored and listed, once each', async () => {
    const answer = await askJson(`${gateway.url}/v1/videos?prompt=x&wings=2&dry_run=false`, key.text, {
      ...familyB,
      wings: 3,
      n: 1,
    })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-ignored-params')).toBe('prompt, wings, n')
  })

  test.each([
    ['webhookUrl', 'https://example.com/hook', /Did you mean 'webhook_url'/],
    ['webhook', 'https://example.com/hook', /Did you mean 'webhook_url'/],
    ['callback_url', 'https://example.com/hook', /Did you mean 'webhook_url'/],
    ['call-back', 'https://example.com/hook', /Did you mean 'webhook_url'/],
    ['webhook_event', 'video.failed', /Did you mean 'webhook_events'/],
    ['n', 2, /must be 1/],
    ['n', '3', /must be 1/],
    ['n', 'x', /must be 1/],
  ])('%s=%s is rejected in the body and in the query', async (name, value, message) => {
    const search = new URLSearchParams({ [name]: String(value) })
    const answers = [
      await createJson({ ...familyB, [name]: value }),
      await create({ ...familyB, [name]: String(value) }),
      await askJson(`${gateway.url}/v1/videos?${search.toString()}`, key.text, familyB),
    ]
    for (const answer of answers) {
      expectProblem(answer, 'invalid_parameter', name)
      expect((answer.body['error'] as { message: string }).message).toMatch(message)
    }
  })

  test.each([
    ['a data URI as text of a form', { input_reference: pixelUri }],
    ['the bracket field of client libraries', { 'input_reference[image_url]': pixelUri }],
  ])('an image is accepted as %s', async (_, reference) => {
    for (const fields of [familyB, without(familyA, 'input_reference')]) {
      const answer = await create({ ...fields, ...reference })
      expect(answer.status).toBe(200)
      expect(answer.headers.get('x-ignored-params')).toBeNull()
      expect(await referencesOf(answer.body['id'])).toHaveLength(1)
    }
  })

  test('an image is accepted as { image_url } in JSON and as a URL that is fetched', async () => {
    const url = `${imagesUrl}/pixel.png`
    for (const input_reference of [{ image_url: pixelUri }, url, { image_url: url }]) {
      const answer = await createJson({ ...familyAJson, input_reference })
      expect(answer.status).toBe(200)
      expect(await referencesOf(answer.body['id'])).toEqual([
        expect.objectContaining({ content_type: 'image/png', size_bytes: pixelBytes.length }),
      ])
    }
  })

  test('of two images for family B the first is used', async () => {
    const data = form(familyB)
    data.append('input_reference', pixel, 'first.png')
    data.append('input_reference', new Blob(['not an image']), 'second.png')
    const answer = await create(data)
    expect(answer.status).toBe(200)
    expect(await referencesOf(answer.body['id'])).toEqual([
      expect.objectContaining({ content_type: 'image/png', size_bytes: pixelBytes.length }),
    ])
  })

  test('a prompt of 32 000 characters is accepted, counted in code points', async () => {
    expect((await createJson({ ...familyB, prompt: '🐋'.repeat(32_000) })).status).toBe(200)
  })

  test('gzipped JSON is accepted', async () => {
    const answer = await ask(endpoint(), key.text, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: gzipSync(JSON.stringify(familyB)),
    })
    expect(answer.status).toBe(200)
  })

  test('the openai dialect returns queued for family B too', async () => {
    expect((await create(familyB, { headers: { 'x-api-dialect': 'openai' } })).body).toMatchObject({
      status: 'queued',
    })
    expect((await create(familyB, { headers: { 'x-stainless-poll-helper': 'true' } })).body).toMatchObject({
      status: 'queued',
    })
    expect((await create(familyB, { path: '/openai/v1/videos' })).body).toMatchObject({ status: 'queued' })
    const ofDialect = await createKey(gateway.database.postgres, accountId)
    await gateway.database.postgres.query(`update keys set dialect = 'openai' where id = $1`, [ofDialect.id])
    expect((await create(familyB, { text: ofDialect.text })).body).toMatchObject({ status: 'queued' })
  })

  test('an accepted task is one record, one event, one open row and one hold at the current price', async () => {
    const { postgres } = gateway.database
    const account = await createAccount(postgres, { balance: 10 })
    const spender = await createKey(postgres, account)
    const { body } = await create(familyA, { text: spender.text })
    const taskId = body['id']

    const tasks = await postgres.query<Record<string, unknown>>('select * from video_tasks where id = $1', [
      taskId,
    ])
    expect(tasks.rows).toEqual([
      expect.objectContaining({
        account_id: account,
        key_id: spender.id,
        state: 'pending',
        progress: 0,
        family: 'A',
        created_via: 'videos',
        // The prompt is in the order, and stored once.
        enhanced_prompt: '',
        wallet: 'payg',
        prices: [{ unit: 'second', unitMicros: 200_000, quantity: 5, totalMicros: 1_000_000 }],
        hold_micros: 1_000_000,
        captured_micros: null,
        finished_at: null,
      }),
    ])
    const events = await postgres.query<Record<string, unknown>>(
      'select kind from task_events where task_id = $1',
      [taskId],
    )
    expect(events.rows).toEqual([{ kind: 'accepted' }])
    const open = await postgres.query<Record<string, unknown>>(
      'select * from open_tasks where task_id = $1',
      [taskId],
    )
    expect(open.rows).toEqual([expect.objectContaining({ account_id: account, stage: 'accepted', run: 0 })])
    const legs = await postgres.query<Record<string, unknown>>(
      'select movement, book, amount_micros from ledger_entries where task_id = $1 order by book',
      [taskId],
    )
    expect(legs.rows).toEqual([
      { movement: 'hold', book: 'available', amount_micros: -1_000_000 },
      { movement: 'hold', book: 'held', amount_micros: 1_000_000 },
    ])
    const balances = await postgres.query<Record<string, unknown>>(
      'select available_micros, held_micros from balances where account_id = $1',
      [account],
    )
    expect(balances.rows).toEqual([{ available_micros: 9_000_000, held_micros: 1_000_000 }])
  })

  test('a subscription key spends the quota of its cycle, not the balance', async () => {
    const { postgres } = gateway.database
    const account = await createAccount(postgres, { balance: 0 })
    await subscribe(postgres, account, { quota: 0.4 })
    const subscriber = await createKey(postgres, account, { kind: 'subscription' })
    expect((await create(familyB, { text: subscriber.text })).status).toBe(200)
    const { rows } = await postgres.query<Record<string, unknown>>(
      'select wallet, available_micros, held_micros from balances where account_id = $1 order by wallet',
      [account],
    )
    expect(rows).toEqual([
      { wallet: 'payg', available_micros: 0, held_micros: 0 },
      { wallet: 'subscription', available_micros: 0, held_micros: 400_000 },
    ])
  })

  test('a failed payment does not matter if the balance is sufficient', async () => {
    const { postgres } = gateway.database
    const account = await createAccount(postgres, { balance: 0.4 })
    await postgres.query(`update accounts set payment_state = 'failed' where id = $1`, [account])
    const spender = await createKey(postgres, account)
    expect((await create(familyB, { text: spender.text })).status).toBe(200)
  })
})

describe('400 invalid_request', () => {
  test.each([
    ['malformed JSON', '{"model":'],
    ['an empty body', ''],
    ['a list', '[]'],
    ['a text', '"vidB-2"'],
    ['null', 'null'],
    ['a number', '5'],
    ['JSON that is nested too deeply', `{"a":${'['.repeat(40)}${']'.repeat(40)}}`],
    ['JSON with too many members', JSON.stringify({ a: Array.from({ length: 1_001 }, () => 0) })],
  ])('%s', async (_, body) => {
    await expectRefused(() => createJson(body), 'invalid_request')
  })

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'nonsense',
    'application/json, text/plain',
  ])('the content type %s', async (type) => {
    await expectRefused(() => createJson(familyB, { headers: { 'content-type': type } }), 'invalid_request')
  })

  test('no content type, with and without a body', async () => {
    const headers = `Host: x\r\nAuthorization: Bearer ${key.text}\r\nConnection: close\r\n`
    for (const rest of ['Content-Length: 2\r\n\r\n{}', 'Content-Length: 0\r\n\r\n', '\r\n']) {
      const text = await askRaw(gateway.url, `POST /v1/videos HTTP/1.1\r\n${headers}${rest}`)
      expect(text).toMatch(/^HTTP\/1\.1 400 /)
      expect(text).toContain('"code":"invalid_request"')
    }
  })

  test.each([
    ['without a boundary', 'multipart/form-data', 'whatever'],
    [
      'that ends in the middle',
      'multipart/form-data; boundary=x',
      '--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nvidB',
    ],
    [
      'that ends in the middle of a file',
      'multipart/form-data; boundary=x',
      '--x\r\nContent-Disposition: form-data; name="input_reference"; filename="a.png"\r\n\r\nabc',
    ],
    [
      'with another boundary',
      'multipart/form-data; boundary=x',
      '--y\r\nContent-Disposition: form-data; name="model"\r\n\r\nvidB-2\r\n--y--',
    ],
  ])('a form %s', async (_, type, body) => {
    const send = () => ask(endpoint(), key.text, { method: 'POST', headers: { 'content-type': type }, body })
    await expectRefused(send, 'invalid_request')
  })

  test.each(['br', 'deflate', 'gzip, gzip', 'nonsense'])('the content encoding %s', async (encoding) => {
    await expectRefused(
      () => createJson(familyB, { headers: { 'content-encoding': encoding } }),
      'invalid_request',
    )
  })

  test('a body that is declared as gzip but is not', async () => {
    await expectRefused(
      () => createJson(familyB, { headers: { 'content-encoding': 'gzip' } }),
      'invalid_request',
    )
  })

  test('an aborted upload leaves no file behind', async () => {
    const before = await recordOf(gateway)
    const { hostname, port } = new URL(gateway.url)
    const socket = connect({ host: hostname, port: Number(port) })
    socket.write(
      `POST /v1/videos HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.text}\r\nContent-Length: 100000\r\n` +
        'Content-Type: multipart/form-data; boundary=x\r\n\r\n' +
        '--x\r\nContent-Disposition: form-data; name="input_reference"; filename="a.png"\r\n\r\n' +
        'a'.repeat(50_000),
    )
    // Wait for the spooled file first, so that its absence afterwards means something.
    await expect.poll(async () => (await recordOf(gateway)).files.length).toBe(before.files.length + 1)
    socket.destroy()
    await expect.poll(() => recordOf(gateway)).toEqual(before)
  })

  test('an aborted gzipped body does not block later requests', async () => {
    const { hostname, port } = new URL(gateway.url)
    const socket = connect({ host: hostname, port: Number(port) })
    socket.write(
      `POST /v1/videos HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.text}\r\nContent-Length: 100000\r\n` +
        'Content-Type: application/json\r\nContent-Encoding: gzip\r\nExpect: 100-continue\r\n\r\n',
    )
    // The server sends 100 Continue once it has accepted the request.
    await new Promise((resolve) => socket.once('data', resolve))
    socket.destroy()
    const answer = await ask(endpoint(), key.text, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: gzipSync(JSON.stringify(familyB)),
      signal: AbortSignal.timeout(120_000),
    })
    expect(answer.status).toBe(200)
  })

  test('a client that disconnects before its body is read does not block later requests', async () => {
    const { hostname, port } = new URL(gateway.url)
    for (const contentType of ['application/json', 'multipart/form-data; boundary=x']) {
      const socket = connect({ host: hostname, port: Number(port) })
      await new Promise<void>((resolve) => {
        socket.end(
          `POST /v1/videos HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.text}\r\n` +
            `Content-Type: ${contentType}\r\nTransfer-Encoding: chunked\r\n\r\n`,
          resolve,
        )
      })
      socket.destroy()
    }
    const answer = await ask(endpoint(), key.text, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: gzipSync(JSON.stringify(familyB)),
      signal: AbortSignal.timeout(120_000),
    })
    expect(answer.status).toBe(200)
  })
})

describe('400 missing_parameter', () => {
  const required = {
    A: ['model', 'prompt', 'seconds', 'size', 'input_reference'],
    B: ['model', 'prompt', 'seconds', 'size'],
  }
  const cases = Object.entries(required).flatMap(([family, names]) =>
    names.map((name): [string, string] => [name, family]),
  )

  test.each(cases)('%s of family %s, if missing, empty or blank', async (name, family) => {
    const fields: FormFields = family === 'A' ? familyA : familyB
    const json = family === 'A' ? familyAJson : familyB
    await expectRefused(() => create(without(fields, name)), 'missing_parameter', name)
    await expectRefused(() => create({ ...fields, [name]: '' }), 'missing_parameter', name)
    await expectRefused(() => create({ ...fields, [name]: ' \t\n' }), 'missing_parameter', name)
    await expectRefused(() => createJson(without(json, name)), 'missing_parameter', name)
    await expectRefused(() => createJson({ ...json, [name]: '  ' }), 'missing_parameter', name)
    await expectRefused(() => createJson({ ...json, [name]: null }), 'missing_parameter', name)
  })
})

describe('400 invalid_parameter', () => {
  const wrongA: [string, unknown][] = [
    ['seconds', '0'],
    ['seconds', '61'],
    ['seconds', '5.5'],
    ['seconds', 'abc'],
    ['seconds', '-5'],
    ['seconds', '1e1'],
    ['seconds', '0x5'],
    ['seconds', '99999999999999999999'],
    ['size', '1280x720'],
    ['size', '16X9'],
    ['watermark', 'ture'],
    ['watermark', '1'],
  ]
  const wrongB: [string, unknown][] = [
    ['seconds', '9'],
    ['seconds', '5'],
    ['seconds', 'ten'],
    ['size', '16x9'],
    ['size', 'large'],
    ['watermark', 'ture'],
    ['private', 'yes'],
    ['style', 'two words'],
    ['style', 'é'],
    ['style', 'x'.repeat(65)],
  ]
  test.each(wrongA)('family A with %s %s', async (name, value) => {
    await expectRefused(() => create({ ...familyA, [name]: String(value) }), 'invalid_parameter', name)
    await expectRefused(() => createJson({ ...familyAJson, [name]: value }), 'invalid_parameter', name)
  })
  test.each(wrongB)('family B with %s %s', async (name, value) => {
    await expectRefused(() => create({ ...familyB, [name]: String(value) }), 'invalid_parameter', name)
    await expectRefused(() => createJson({ ...familyB, [name]: value }), 'invalid_parameter', name)
  })

  test.each<[string, unknown]>([
    ['model', 5],
    ['model', ['vidB-2']],
    ['prompt', 5],
    ['prompt', { text: 'hi' }],
    ['seconds', 4.5],
    ['seconds', true],
    ['seconds', ['4']],
    ['size', 1280],
    ['watermark', 1],
    ['private', {}],
    ['style', 7],
    ['input_reference', 7],
    ['input_reference', { file_id: 'file-1' }],
    ['input_reference', [pixelUri]],
  ])('JSON with a %s of the wrong type (%j)', async (name, value) => {
    await expectRefused(() => createJson({ ...familyB, [name]: value }), 'invalid_parameter', name)
  })

  test('a prompt of more than 32 000 characters', async () => {
    await expectRefused(
      () => create({ ...familyB, prompt: 'a'.repeat(32_001) }),
      'invalid_parameter',
      'prompt',
    )
  })

  test('a prompt with a zero byte or a lone surrogate', async () => {
    await expectRefused(() => create({ ...familyB, prompt: 'a\0b' }), 'invalid_parameter', 'prompt')
    await expectRefused(() => createJson({ ...familyB, prompt: 'a\0b' }), 'invalid_parameter', 'prompt')
    const half = JSON.stringify({ ...familyB, prompt: 'PROMPT' }).replace('PROMPT', String.raw`\ud83d`)
    await expectRefused(() => createJson(half), 'invalid_parameter', 'prompt')
  })

  test('a file in place of text', async () => {
    await expectRefused(() => create({ ...familyB, prompt: pixel }), 'invalid_parameter', 'prompt')
  })

  test.each(['vidA3.1', 'vidA2', 'asr-1', 'chat-4o-mini-tts-2025-12-15', 'chat-4o-audio-preview'])(
    'the model %s, which other endpoints serve',
    async (model) => {
      const answer = await expectRefused(() => create({ ...familyB, model }), 'invalid_parameter', 'model')
      expect(answer.body['error']).toHaveProperty(
        'message',
        expect.stringContaining('vidA_3_1, vidA_3_1-fast, vidB-2, vidB-2-pro'),
      )
    },
  )

  test('two images for family A', async () => {
    const data = form(familyA)
    data.append('input_reference', pixel, 'second.png')
    await expectRefused(() => create(data), 'invalid_parameter', 'input_reference')
  })
})

describe('400 invalid_image', () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>'
  test.each([
    ['a text file', new Blob(['just text'], { type: 'image/png' })],
    ['an SVG', new Blob([svg], { type: 'image/svg+xml' })],
    ['an empty file', new Blob([], { type: 'image/png' })],
    [
      'a file of 20 MB and a byte',
      new Blob([pixelBytes, Buffer.alloc(20 * megabyte + 1 - pixelBytes.length)]),
    ],
  ])('%s, as a file', async (_, input_reference) => {
    await expectRefused(() => create({ ...familyA, input_reference }), 'invalid_image', 'input_reference')
  })

  test('a file of exactly 20 MB is accepted', async () => {
    const input_reference = new Blob([pixelBytes, Buffer.alloc(20 * megabyte - pixelBytes.length)])
    expect((await create({ ...familyA, input_reference })).status).toBe(200)
  })

  test.each([
    ['a data URI with bad base64', 'data:image/png;base64,@@@@'],
    ['a data URI with base64 of an impossible length', 'data:image/png;base64,iVBOR'],
    ['a data URI without base64', 'data:image/png,iVBORw0KGgo'],
    ['a data URI of another type', `data:text/plain;base64,${pixelBytes.toString('base64')}`],
    ['a data URI of an SVG', `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`],
    [
      'a data URI that does not contain an image',
      `data:image/png;base64,${Buffer.from('text').toString('base64')}`,
    ],
    ['a data URI without content', 'data:image/png;base64,'],
    ['a loopback URL', 'http://127.0.0.1:1/a.png'],
    ['an obfuscated loopback URL', 'http://0x7f.1/a.png'],
    ['the address of cloud metadata', 'http://169.254.169.254/'],
    ['a private URL', 'http://10.0.0.1/a.png'],
    ['a local host name', 'http://localhost/a.png'],
    ['an address of IPv6 loopback', 'http://[::1]/a.png'],
    ['another scheme', 'ftp://example.com/a.png'],
    ['a local path', 'file:///etc/passwd'],
    ['text that is not a URL', 'image.png'],
  ])('%s', async (_, input_reference) => {
    await expectRefused(
      () => createJson({ ...familyAJson, input_reference }),
      'invalid_image',
      'input_reference',
    )
    await expectRefused(() => create({ ...familyB, input_reference }), 'invalid_image', 'input_reference')
  })

  test('a data URI of more than 20 MB', async () => {
    const uri = `data:image/png;base64,${Buffer.concat([pixelBytes, Buffer.alloc(20 * megabyte)]).toString('base64')}`
    const send = () => createJson({ ...familyAJson, input_reference: uri })
    await expectRefused(send, 'invalid_image', 'input_reference')
  })

  test('a URL that does not return an image', async () => {
    const send = () => createJson({ ...familyAJson, input_reference: `${imagesUrl}/missing.png` })
    await expectRefused(send, 'invalid_image', 'input_reference')
  })
})

describe('402', () => {
  const spender = async (
    balance: number,
    {
      isPaymentFailed = false,
      ...traits
    }: Parameters<typeof createKey>[2] & { isPaymentFailed?: boolean } = {},
  ) => {
    const { postgres } = gateway.database
    const account = await createAccount(postgres, { balance })
    if (isPaymentFailed)
      await postgres.query(`update accounts set payment_state = 'failed' where id = $1`, [account])
    return { account, ...(await createKey(postgres, account, traits)) }
  }
  const expectUnpaid = async (text: string, code: ErrorCode) => {
    for (const fields of [familyB, familyA]) {
      const answer = await expectRefused(() => create(fields, { text }), code)
      expect(answer.headers.get('x-should-retry')).toBe('false')
    }
  }
  const yesterday = new Date(Date.now() - 86_400_000)

  test('insufficient_balance if the balance is slightly too low', async () => {
    await expectUnpaid((await spender(0.399_999)).text, 'insufficient_balance')
  })

  test('insufficient_balance if the balance is zero or was never topped up', async () => {
    await expectUnpaid((await spender(0)).text, 'insufficient_balance')
    const { text, account } = await spender(0)
    await gateway.database.postgres.query('delete from balances where account_id = $1', [account])
    await expectUnpaid(text, 'insufficient_balance')
  })

  test("quota_exceeded if the key's quota is used up, whatever the balance", async () => {
    await expectUnpaid((await spender(1000, { quotaMicros: 0 })).text, 'quota_exceeded')
    const almost = await spender(1000, { quotaMicros: 799_999 })
    expect((await create(familyB, { text: almost.text })).status).toBe(200)
    await expectUnpaid(almost.text, 'quota_exceeded')
  })

  test("quota_exceeded if the quota of the subscription's cycle is used up, whatever the balance", async () => {
    const { account, text } = await spender(1000, { kind: 'subscription' })
    await subscribe(gateway.database.postgres, account, { quota: 0.399_999 })
    await expectUnpaid(text, 'quota_exceeded')
  })

  test('subscription_expired if the subscription has ended or there was none', async () => {
    const ended = await spender(1000, { kind: 'subscription' })
    await subscribe(gateway.database.postgres, ended.account, { endsAt: yesterday })
    await expectUnpaid(ended.text, 'subscription_expired')
    await expectUnpaid((await spender(1000, { kind: 'subscription' })).text, 'subscription_expired')
  })

  test('payment_failed if the last payment failed and the balance is too low', async () => {
    await expectUnpaid((await spender(0.1, { isPaymentFailed: true })).text, 'payment_failed')
  })

  test('the precedence is subscription_expired, quota_exceeded, payment_failed, insufficient_balance', async () => {
    const everything = await spender(0, { kind: 'subscription', quotaMicros: 0, isPaymentFailed: true })
    await subscribe(gateway.database.postgres, everything.account, { quota: 0, endsAt: yesterday })
    await expectUnpaid(everything.text, 'subscription_expired')
    await expectUnpaid((await spender(0, { quotaMicros: 0, isPaymentFailed: true })).text, 'quota_exceeded')
    await expectUnpaid((await spender(0, { isPaymentFailed: true })).text, 'payment_failed')
    await expectUnpaid((await spender(0)).text, 'insufficient_balance')
  })

  test('the parameters of a small JSON body are checked before the balance', async () => {
    const { text } = await spender(0)
    const body = { ...familyB, seconds: 9 }
    await expectRefused(() => createJson(body, { text }), 'invalid_parameter', 'seconds')
  })
})

describe('403 model_access_denied', () => {
  test('a model that the key may not use', async () => {
    const { text } = await createKey(gateway.database.postgres, accountId, { models: ['vidB-2'] })
    expect((await create(familyB, { text })).status).toBe(200)
    await expectRefused(
      () => create({ ...familyB, model: 'vidB-2-pro' }, { text }),
      'model_access_denied',
      'model',
    )
    await expectRefused(
      () => create({ ...familyB, model: 'asr-1' }, { text }),
      'model_access_denied',
      'model',
    )
  })

  test('comes after the 404 of an unknown model and before the parameters are checked', async () => {
    const { text } = await createKey(gateway.database.postgres, accountId, { models: [] })
    await expectRefused(() => create({ ...familyB, model: 'vidC' }, { text }), 'model_not_found', 'model')
    await expectRefused(() => create({ model: 'vidB-2' }, { text }), 'model_access_denied', 'model')
  })
})

describe('404 model_not_found', () => {
  const messageOf = ({ body }: Answer) => (body['error'] as { message: string }).message

  test.each([
    ['VIDB-2', 'vidB-2'],
    ['vidB2', 'vidB-2'],
    ['vidb-2-p', 'vidB-2-pro'],
    ['asr', 'asr-1'],
  ])('%s gets the suggestion %s', async (model, meant) => {
    const answer = await expectRefused(() => create({ ...familyB, model }), 'model_not_found', 'model')
    expect(messageOf(answer)).toContain(`Did you mean ${meant}?`)
  })

  test.each([
    ['of another service', 'dall-e-3'],
    ['of punctuation only', '???'],
    ['of an object property', '__proto__'],
    ['that is very long', 'x'.repeat(5_000)],
    ['with a zero byte', 'a\0b'],
    ['of a path', '../../etc/passwd'],
  ])('a name %s gets no suggestion', async (_, model) => {
    const answer = await expectRefused(() => createJson({ ...familyB, model }), 'model_not_found', 'model')
    expect(messageOf(answer)).not.toContain('Did you mean')
    expect(messageOf(answer).length).toBeLessThan(200)
  })
})

describe('413 request_too_large', () => {
  test('JSON with a Content-Length over the limit is refused without reading it', async () => {
    const before = await recordOf(gateway)
    const text = await askRaw(
      gateway.url,
      `POST /v1/videos HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.text}\r\nConnection: close\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${88 * megabyte + 1}\r\n\r\n{`,
    )
    expect(text).toMatch(/^HTTP\/1\.1 413 /)
    expect(text).toContain('"type":"invalid_request_error","code":"request_too_large"')
    expect(await recordOf(gateway)).toEqual(before)
  })

  test('chunked JSON over the limit is refused with an error', async () => {
    const chunk = Buffer.alloc(4 * megabyte, ' ')
    const body = ReadableStream.from(Array.from({ length: 23 }, () => chunk))
    const send = () =>
      ask(endpoint(), key.text, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
        duplex: 'half',
      })
    await expectRefused(send, 'request_too_large')
  })

  test('a gzip bomb is refused at the limit of its decompressed size', async () => {
    const bomb = gzipSync(Buffer.alloc(89 * megabyte, ' '))
    expect(bomb.length).toBeLessThan(megabyte)
    const send = () =>
      ask(endpoint(), key.text, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
        body: bomb,
      })
    await expectRefused(send, 'request_too_large')
  })

  test('a field of more than a mebibyte', async () => {
    await expectRefused(() => create({ ...familyA, prompt: 'a'.repeat(megabyte + 1) }), 'request_too_large')
  })

  test('a form with too many parts', async () => {
    const data = form(familyB)
    for (let index = 0; index < 120; index += 1) data.append(`field${index}`, 'x')
    await expectRefused(() => create(data), 'request_too_large')
    const files = form(familyB)
    for (let index = 0; index < 12; index += 1) files.append('input_reference', pixel, 'a.png')
    await expectRefused(() => create(files), 'request_too_large')
  })
})

describe('429 rate_limit_exceeded', () => {
  test('has four headers with the limit and the time to retry', async () => {
    const { text } = await createKey(gateway.database.postgres, accountId, { limits: { create: 2 } })
    const first = await create(familyB, { text })
    expect(first.headers.get('x-ratelimit-limit')).toBe('2')
    expect(first.headers.get('x-ratelimit-remaining')).toBe('1')
    await create(familyB, { text })
    const answer = await expectRefused(() => create(familyB, { text }), 'rate_limit_exceeded')
    expect(answer.headers.get('x-ratelimit-limit')).toBe('2')
    expect(answer.headers.get('x-ratelimit-remaining')).toBe('0')
    const resetsAt = Number(answer.headers.get('x-ratelimit-reset'))
    expect(resetsAt).toBeGreaterThan(Date.now() / 1000)
    expect(resetsAt).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000) + 61)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(60)
    expect(Number(answer.headers.get('retry-after-ms'))).toBeGreaterThanOrEqual(1)
  })
})

describe('deprecated and retired models', () => {
  const startWith = async (models: string) => {
    const file = join(gateway.directory, `${uuidV7()}.yaml`)
    await writeFile(file, models)
    return startGateway({ PROVIDERS_FILE: file }, gateway)
  }

  test('a deprecated model still works and has its end date in the headers', async () => {
    await using later = await startWith(
      'models: {vidB-2: {state: deprecated, deprecationDate: 2026-09-09, shutdownDate: 2027-01-01}}',
    )
    const answer = await askJson(`${later.url}/v1/videos`, key.text, familyB)
    expect(answer.status).toBe(200)
    // The structured field of RFC 9745: @ and Unix seconds.
    expect(answer.headers.get('deprecation')).toBe('@1788912000')
    expect(answer.headers.get('sunset')).toBe('Fri, 01 Jan 2027 00:00:00 GMT')
    const other = await askJson(`${later.url}/v1/videos`, key.text, { ...familyB, model: 'vidB-2-pro' })
    expect(other.headers.get('deprecation')).toBeNull()
    expect(other.headers.get('sunset')).toBeNull()
  })

  test('a retired model is not found, and the message names its successor', async () => {
    await using later = await startWith('models: {vidB-2: {state: retired, successor: vidB-2-pro}}')
    const answer = await askJson(`${later.url}/v1/videos`, key.text, familyB)
    expectProblem(answer, 'model_not_found', 'model')
    expect(answer.body['error']).toHaveProperty(
      'message',
      "The model 'vidB-2' has been retired. Use vidB-2-pro instead.",
    )
  })

  test('a changed price applies to new tasks only', async () => {
    const { body: earlier } = await createJson(familyB)
    await using later = await startWith('models: {vidB-2: {prices: [{ unit: second, micros: 7 }]}}')
    const { body: newer } = await askJson(`${later.url}/v1/videos`, key.text, familyB)
    const { postgres } = gateway.database
    await completeTask(gateway, accountId, String(earlier['id']))
    const { rows } = await postgres.query<Record<string, unknown>>(
      'select hold_micros, captured_micros from video_tasks where id = any($1) order by hold_micros',
      [[earlier['id'], newer['id']]],
    )
    expect(rows).toEqual([
      { hold_micros: 28, captured_micros: null },
      { hold_micros: 400_000, captured_micros: 400_000 },
    ])
  })
})

describe('200, concurrent spending', () => {
  const spend = async (gateways: TestGateway[]) => {
    const [first] = gateways as [TestGateway]
    const { postgres } = first.database
    const account = await createAccount(postgres, { balance: 40 })
    const spenders = await Promise.all([createKey(postgres, account), createKey(postgres, account)])
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => {
        const { url } = gateways[index % gateways.length] as TestGateway
        return askJson(`${url}/v1/videos`, spenders[(index >> 1) % 2]?.text, familyB)
      }),
    )
    const accepted = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status !== 200)
    expect(new Set(accepted.map(({ body }) => body['id'])).size).toBe(100)
    expect(refused).toHaveLength(100)
    for (const answer of refused) expectProblem(answer, 'insufficient_balance')

    const { rows: balances } = await postgres.query<Record<string, unknown>>(
      'select available_micros, held_micros from balances where account_id = $1',
      [account],
    )
    expect(balances).toEqual([{ available_micros: 0, held_micros: 100 * 400_000 }])
    const { rows: tasks } = await postgres.query<Record<string, unknown>>(
      'select count(*), sum(hold_micros) from video_tasks where account_id = $1',
      [account],
    )
    expect(tasks).toEqual([{ count: 100, sum: 100 * 400_000 }])
    expect(await brokenInvariants(postgres)).toEqual([])
  }

  test('of 200 concurrent creates with a balance for 100, exactly 100 are accepted', async () => {
    await spend([gateway])
  })

  test('of 200 concurrent creates on two gateways, exactly 100 are accepted', async () => {
    await using second = await startGateway({}, gateway)
    await spend([gateway, second])
  })

  test('concurrent creates and ends of several accounts on two gateways leave every balance exact', async () => {
    await using second = await startGateway({}, gateway)
    const { postgres } = gateway.database
    const accounts = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const account = await createAccount(postgres, { balance: 4 })
        const bounded = await createKey(postgres, account, { quotaMicros: 20 * 400_000 })
        return { account, keys: [bounded, await createKey(postgres, account)] }
      }),
    )
    const createAndEnd = async (index: number) => {
      const { keys } = accounts[index % accounts.length] as (typeof accounts)[number]
      const { url } = index % 2 === 0 ? gateway : second
      const answer = await askJson(`${url}/v1/videos`, keys[(index >> 3) % 2]?.text, familyB)
      if (answer.status === 200) {
        const ending = { kind: 'failed', code: 'upstream_error', message: 'It broke.' } as const
        await endTask(postgres, String(answer.body['id']), ending)
      }
      return answer.status
    }
    const statuses = new Set(
      await Promise.all(Array.from({ length: 240 }, (_, index) => createAndEnd(index))),
    )
    expect([...statuses].filter((status) => status !== 200 && status !== 402)).toEqual([])
    const { rows: balances } = await postgres.query<Record<string, unknown>>(
      'select distinct available_micros, held_micros from balances where account_id = any($1)',
      [accounts.map(({ account }) => account)],
    )
    expect(balances).toEqual([{ available_micros: 4_000_000, held_micros: 0 }])
    const { rows: quotas } = await postgres.query<Record<string, unknown>>(
      'select distinct used_micros from key_quotas where key_id = any($1)',
      [accounts.map(({ keys }) => keys[0]?.id)],
    )
    expect(quotas).toEqual([{ used_micros: 0 }])
    expect(await brokenInvariants(postgres)).toEqual([])
  })

  test("concurrent creates never exceed a key's quota", async () => {
    const { postgres } = gateway.database
    const account = await createAccount(postgres)
    const bounded = await createKey(postgres, account, { quotaMicros: 5 * 400_000 })
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => createJson(familyB, { text: bounded.text })),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5)
    for (const answer of answers.filter(({ status }) => status !== 200))
      expectProblem(answer, 'quota_exceeded')
    const { rows } = await postgres.query<Record<string, unknown>>(
      'select quota_micros, used_micros from key_quotas where key_id = $1',
      [bounded.id],
    )
    expect(rows).toEqual([{ quota_micros: 2_000_000, used_micros: 2_000_000 }])
  })
})

describe('200, value by value', () => {
  test.each(['vidB-2', 'vidB-2-pro'])('%s supports each size of family B', async (model) => {
    for (const size of ['720x1280', '1280x720', '480x480', '1080x1080']) {
      const { body } = await create({ ...familyB, model, size })
      expect(body).toMatchObject({ size })
    }
  })

  test('created_at is an integer of seconds in both families', async () => {
    for (const fields of [familyA, familyB])
      expect(Number.isInteger((await create(fields)).body['created_at'])).toBe(true)
  })

  test('family B supports exactly the six documented lengths', async () => {
    const accepted: number[] = []
    for (let seconds = 0; seconds <= 30; seconds += 1) {
      const answer = await createJson({ ...familyB, seconds })
      if (answer.status === 200) accepted.push(seconds)
      else expectProblem(answer, 'invalid_parameter', 'seconds')
    }
    expect(accepted).toEqual([4, 8, 10, 12, 15, 25])
  })

  test.each(['true', 'false'])('both families accept a watermark of %s', async (watermark) => {
    for (const fields of [familyA, familyB]) {
      const { body } = await create({ ...fields, watermark })
      expect(await orderOf(body['id'])).toMatchObject({ watermark: watermark === 'true' })
    }
  })

  test('style, metadata and private of a form are stored with the order', async () => {
    const metadata = JSON.stringify({ scene: 7 })
    const answer = await create({ ...familyB, style: 'noir', metadata, private: 'true' })
    expect(answer.headers.get('x-ignored-params')).toBeNull()
    expect(await orderOf(answer.body['id'])).toMatchObject({
      style: 'noir',
      isPrivate: true,
      metadata: { scene: 7 },
    })
  })

  test.each([
    ['image/png', pixelBytes.toString('base64')],
    [
      'image/jpeg',
      '/9j/4AAQSkZJRgABAgAAAQABAAD/2wBDAAgEBAQEBAUFBQUFBQYGBgYGBgYGBgYGBgYHBwcICAgHBwcGBgcHCAgICAkJCQgICAgJCQoKCgwMCwsODg4RERT/xABLAAEBAAAAAAAAAAAAAAAAAAAABwEBAAAAAAAAAAAAAAAAAAAAABABAAAAAAAAAAAAAAAAAAAAABEBAAAAAAAAAAAAAAAAAAAAAP/AABEIAAIAAgMBIgACEQADEQD/2gAMAwEAAhEDEQA/AL+AD//Z',
    ],
    ['image/webp', 'UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoCAAIAAgA0JaQAA3AA/vuUAAA='],
    ['image/gif', 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'],
  ])('%s is accepted as a file and as a data URI', async (type, base64) => {
    const bytes = Buffer.from(base64, 'base64')
    for (const answer of [
      await create({ ...familyA, input_reference: new Blob([bytes], { type }) }),
      await createJson({ ...familyAJson, input_reference: `data:${type};base64,${base64}` }),
    ]) {
      expect(await referencesOf(answer.body['id'])).toEqual([
        expect.objectContaining({ content_type: type, size_bytes: bytes.length }),
      ])
    }
  })
})

describe('after all tests', () => {
  test('the ledger balances', async () => {
    const audit = await brokenInvariants(gateway.database.postgres)
    expect(audit).toEqual([])
  })

  test('every stored file has a record', async () => {
    const { files } = await recordOf(gateway)
    const { rows } = await gateway.database.postgres.query<{ key: string }>(
      'select storage_key as key from media',
    )
    expect(files).toEqual(rows.map(({ key }) => key).toSorted())
  })
})
