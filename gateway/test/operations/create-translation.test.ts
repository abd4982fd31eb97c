import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import type { ErrorCode } from '@kinora/contract/errors'
import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ask, askJson, expectProblem, type Answer } from '../kit/answers.ts'
import { createAccount, createKey, subscribe, type TestKey } from '../kit/factories.ts'
import { audioForm, encoded, wave, waveOf } from '../kit/sound.ts'
import { createSpender, type Traits } from '../kit/spender.ts'
import { recordOf, startGateway } from '../kit/start-gateway.ts'
import { readSrt, readVtt } from '../kit/subtitles.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'

let gateway: VendorGateway
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startVendorGateway({ AUDIO_SECONDS_MAX: '60' })
  accountId = await createAccount(gateway.database.postgres, { balance: 100 })
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const listen = async (answer: Parameters<typeof createServer>[1]) => {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const sound = wave(5)
const text = `vendor translation of ${sound.length} bytes`

const send = (body: FormData, { text: keyText = key.text, url = gateway.url } = {}) =>
  ask(`${url}/v1/audio/translations`, keyText, { method: 'POST', body })
const translate = (fields: Record<string, string>, given: Parameters<typeof send>[1] = {}) =>
  send(audioForm(sound, { model: 'asr-1', ...fields }), given)

const spender = (balance: number, traits?: Traits) =>
  createSpender(gateway.database.postgres, balance, traits)

const expectRefused = async (attempt: () => Promise<Answer>, code: ErrorCode, param?: string) => {
  const before = await recordOf(gateway)
  const calls = gateway.vendor.transcriptions().length
  const answer = await attempt()
  expectProblem(answer, code, param)
  expect(await recordOf(gateway)).toEqual(before)
  expect(gateway.vendor.transcriptions()).toHaveLength(calls)
  return answer
}

describe('200', () => {
  test('the default format is json, and the vendor gets a translation request', async () => {
    const answer = await translate({ prompt: 'Names: Kinora', temperature: '0.2' })
    expect(answer.body).toEqual({ text })
    expect(gateway.vendor.transcriptions().at(-1)).toMatchObject({
      task: 'translate',
      fields: {
        model: ['asr-1'],
        prompt: ['Names: Kinora'],
        temperature: ['0.2'],
        response_format: ['json'],
      },
      filename: 'audio.wav',
    })
  })

  test('the language in verbose_json is always English', async () => {
    const { body } = await translate({ response_format: 'verbose_json', prompt: 'vendor:language=de' })
    expect(body).toMatchObject({ task: 'translate', language: 'english', duration: 5, text })
    expect(body['segments']).toHaveLength(3)
  })

  test.each([
    ['none', 'spanish'],
    ['partial', 'english'],
  ])('text that stayed untranslated is reported in x-translation: %s', async (translation, language) => {
    await using local = await listen((request, response) => {
      request.resume().on('end', () => {
        response.writeHead(200, { 'content-type': 'application/json', 'x-translation': translation })
        response.end(JSON.stringify({ text: 'El tren sale.', language: 'es', duration: 5, segments: [] }))
      })
    })
    await using own = await startGateway({ LOCAL_URL: local.url }, gateway)
    const plain = await translate({}, { url: own.url })
    expect(plain.body).toEqual({ text: 'El tren sale.' })
    expect(plain.headers.get('x-translation')).toBe(translation)
    const verbose = await translate({ response_format: 'verbose_json' }, { url: own.url })
    expect(verbose.body).toMatchObject({ task: 'translate', language, text: 'El tren sale.' })
    expect(verbose.headers.get('x-translation')).toBe(translation)
    expect((await translate({})).headers.has('x-translation')).toBe(false)
  })

  test('language, stream and granularities are ignored', async () => {
    const answer = await translate({ language: 'de', stream: 'true', 'timestamp_granularities[]': 'word' })
    expect(answer.body).toEqual({ text })
    expect(answer.headers.get('x-ignored-params')).toBe('language, stream, timestamp_granularities[]')
    expect(gateway.vendor.transcriptions().at(-1)?.fields).not.toHaveProperty('language')
  })

  test('every format with the official client library', async () => {
    const client = new OpenAI({ apiKey: key.text, baseURL: `${gateway.url}/openai/v1`, maxRetries: 0 })
    const as = async (format: 'json' | 'text' | 'srt' | 'verbose_json' | 'vtt') =>
      (await client.audio.translations.create({
        file: await toFile(sound, 'speech.wav'),
        model: 'asr-large-v3-turbo',
        response_format: format,
      })) as unknown
    expect(await as('json')).toMatchObject({ text })
    expect(await as('verbose_json')).toMatchObject({ text, language: 'english', duration: 5 })
    expect(await as('text')).toBe(`${text}\n`)
    expect(readSrt((await as('srt')) as string)).toHaveLength(3)
    expect(readVtt((await as('vtt')) as string)).toHaveLength(3)
  })

  test('a translation is charged by its measured duration', async () => {
    const { account, text: keyText } = await spender(1)
    await send(audioForm(wave(30), { model: 'asr-large-v3-turbo' }), { text: keyText })
    const { rows } = await gateway.database.postgres.query<Record<string, unknown>>(
      `select operation, outcome, hold_micros as held, captured_micros as captured from metered_requests
        where account_id = $1`,
      [account],
    )
    // Half a minute at 3000 micros per minute.
    expect(rows).toEqual([
      { operation: 'createTranslation', outcome: 'completed', held: 1_500, captured: 1_500 },
    ])
  })
})

describe('errors', () => {
  test('400 invalid_request: a body that is not a form', async () => {
    const url = `${gateway.url}/v1/audio/translations`
    await expectRefused(() => askJson(url, key.text, { model: 'asr-1' }), 'invalid_request')
  })

  test('400 missing_parameter', async () => {
    await expectRefused(() => send(audioForm(undefined, { model: 'asr-1' })), 'missing_parameter', 'file')
    await expectRefused(() => send(audioForm(sound)), 'missing_parameter', 'model')
  })

  test.each([
    ['response_format', 'xml'],
    ['temperature', '1.5'],
    ['prompt', 'x'.repeat(10_001)],
    // This model transcribes, but does not translate.
    ['model', 'chat-4o-transcribe'],
    ['model', 'vidB-2'],
  ])('400 invalid_parameter: %s', async (name, value) => {
    await expectRefused(() => translate({ [name]: value }), 'invalid_parameter', name)
  })

  test('400 invalid_parameter: a recording that is too long', async () => {
    await expectRefused(() => send(audioForm(wave(61), { model: 'asr-1' })), 'invalid_parameter', 'file')
  })

  test('400 invalid_file_format', async () => {
    const film = ['-f', 'lavfi', '-i', 'testsrc=d=1:s=64x64:r=5', '-map', '1:v']
    for (const bytes of [Buffer.alloc(0), Buffer.from('words'), await encoded(sound, 'out.mp4', film)]) {
      await expectRefused(() => send(audioForm(bytes, { model: 'asr-1' })), 'invalid_file_format', 'file')
    }
  })

  test('413 file_too_large, request_too_large', async () => {
    const bytes = waveOf(Buffer.alloc(26_214_400 - 43))
    await expectRefused(() => send(audioForm(bytes, { model: 'asr-1' })), 'file_too_large', 'file')
    await expectRefused(() => translate({ prompt: 'x'.repeat(1_100_000) }), 'request_too_large')
  })

  test('402', async () => {
    const refused = async (code: ErrorCode, [balance, traits]: Parameters<typeof spender>) => {
      const { text: keyText } = await spender(balance, traits)
      await expectRefused(() => translate({}, { text: keyText }), code)
    }
    await refused('insufficient_balance', [0])
    await refused('quota_exceeded', [10, { quotaMicros: 0 }])
    await refused('payment_failed', [0, { hasFailed: true }])
    await refused('subscription_expired', [10, { kind: 'subscription' }])
  })

  test('403 audio_requires_payg, if the operator requires it', async () => {
    const subscriber = await spender(0, { kind: 'subscription' })
    await subscribe(gateway.database.postgres, subscriber.account)
    expect((await translate({}, { text: subscriber.text })).status).toBe(200)
    await using strict = await startGateway({ AUDIO_REQUIRES_PAYG: 'true' }, gateway)
    await expectRefused(
      () => translate({}, { text: subscriber.text, url: strict.url }),
      'audio_requires_payg',
    )
  })

  test('403 model_access_denied, 404 model_not_found', async () => {
    const { text: keyText } = await createKey(gateway.database.postgres, accountId, { models: ['vidB-2'] })
    await expectRefused(() => translate({}, { text: keyText }), 'model_access_denied', 'model')
    await expectRefused(() => translate({ model: 'nonsense' }), 'model_not_found', 'model')
  })
})

describe('vendor failures', () => {
  test.each([
    ['vendor:moderated', 'content_policy_violation'],
    ['vendor:500', 'upstream_error'],
    ['vendor:cut', 'upstream_error'],
    ['vendor:garbage', 'upstream_error'],
    ['vendor:busy', 'model_overloaded'],
  ] as const)('%s is %s and not charged', async (prompt, code) => {
    const { account, text: keyText } = await spender(1)
    expectProblem(await translate({ prompt }, { text: keyText }), code)
    const { rows } = await gateway.database.postgres.query<Record<string, unknown>>(
      `select available_micros as available, held_micros as held from balances where account_id = $1`,
      [account],
    )
    expect(rows).toEqual([{ available: 1_000_000, held: 0 }])
  })
})

describe('200, value by value', () => {
  test.each(['asr-1', 'asr-large-v3', 'asr-large-v3-turbo'])(
    '%s translates, in every format',
    async (model) => {
      expect((await translate({ model })).body).toEqual({ text })
      expect(gateway.vendor.transcriptions().at(-1)).toMatchObject({
        task: 'translate',
        fields: { model: [model] },
      })
      for (const format of ['json', 'text', 'srt', 'vtt', 'verbose_json']) {
        const response = await fetch(`${gateway.url}/v1/audio/translations`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key.text}` },
          body: audioForm(sound, { model, response_format: format }),
        })
        expect(response.status).toBe(200)
        await response.text()
      }
    },
  )

  test('a file of exactly 25 MB', async () => {
    // Zeros alone would be millions of empty chunks, which take ffmpeg many seconds.
    const rest = Buffer.alloc(26_214_400 - sound.length)
    rest.write('JUNK')
    rest.writeUInt32LE(rest.length - 8, 4)
    const bytes = Buffer.concat([sound, rest])
    const { body } = await send(audioForm(bytes, { model: 'asr-1' }))
    expect(body).toEqual({ text: 'vendor translation of 26214400 bytes' })
  })

  test('a temperature from 0 to 1, with the default 0', async () => {
    for (const [given, sent] of [
      [{}, '0'],
      [{ temperature: '0' }, '0'],
      [{ temperature: '1' }, '1'],
    ] as const) {
      expect((await translate(given)).status).toBe(200)
      expect(gateway.vendor.transcriptions().at(-1)?.fields).toMatchObject({ temperature: [sent] })
    }
    for (const temperature of ['-0.01', '1.01'])
      await expectRefused(() => translate({ temperature }), 'invalid_parameter', 'temperature')
  })
})
