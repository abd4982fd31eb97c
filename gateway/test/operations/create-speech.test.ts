import { execFile } from 'node:child_process'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'

import type { ErrorCode } from '@kinora/contract/errors'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { askJson, errorBodyOf, expectProblem, type Answer } from '../kit/answers.ts'
import { allEventsIn, dataOf, eventsIn, nextOf } from '../kit/event-reader.ts'
import { createAccount, createKey, subscribe, type TestKey } from '../kit/factories.ts'
import { brokenInvariants } from '../kit/ledger.ts'
import { createSpender, meteredRequestsOf, paygBalanceOf, type Traits } from '../kit/spender.ts'
import { recordOf, startGateway } from '../kit/start-gateway.ts'
import { startVendorGateway, vendorKey, type VendorGateway } from '../kit/vendor-gateway.ts'

let gateway: VendorGateway
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startVendorGateway()
  accountId = await createAccount(gateway.database.postgres, { balance: 100_000 })
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const modelA = 'chat-4o-mini-tts-2025-12-15'
const modelB = 'ttsB-3.1-flash-tts-preview'
const hello = { model: modelA, input: 'Hello there, how are you?', voice: 'alloy' }

const say = (
  body: unknown,
  { text = key.text, url = gateway.url, signal = AbortSignal.timeout(120_000) } = {},
) =>
  fetch(`${url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${text}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  })
const ask = (body: unknown, { text = key.text, url = gateway.url, headers = {} } = {}) =>
  askJson(`${url}/v1/audio/speech`, text, body, headers)
const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer())
const lastSpeech = () => {
  const last = gateway.vendor.speeches().at(-1)
  if (last === undefined) throw new Error('the vendor has received no request')
  return last
}

const spender = (balance: number, traits?: Traits) =>
  createSpender(gateway.database.postgres, balance, traits)
const requestsOf = (account: string) => meteredRequestsOf(gateway.database.postgres, account)
const balanceOf = (account: string) => paygBalanceOf(gateway.database.postgres, account)

/** The end of a speech does not wait for its charge. */
const untilSettled = () =>
  expect
    .poll(async () => {
      const { rows } = await gateway.database.postgres.query(
        `select from metered_requests where outcome = 'open' limit 1`,
      )
      return rows
    })
    .toEqual([])

const expectRefused = async (send: () => Promise<Answer>, code: ErrorCode, param?: string) => {
  await untilSettled()
  const before = await recordOf(gateway)
  const calls = gateway.vendor.speeches().length
  const answer = await send()
  expectProblem(answer, code, param)
  expect(await recordOf(gateway)).toEqual(before)
  expect(gateway.vendor.speeches()).toHaveLength(calls)
  return answer
}

/** The codec that ffprobe detects. */
const codecOf = async (bytes: Buffer, given: string[] = []) => {
  const probing = promisify(execFile)('ffprobe', [
    ...['-v', 'error', ...given, '-i', 'pipe:0'],
    ...['-show_entries', 'stream=codec_name,sample_rate,channels', '-of', 'csv=p=0'],
  ])
  probing.child.stdin?.on('error', () => undefined).end(bytes)
  return (await probing).stdout.trim()
}

describe('200', () => {
  test.each([
    ['mp3', 'audio/mpeg', 'mp3,24000,1'],
    ['opus', 'audio/ogg', 'opus,48000,1'],
    ['aac', 'audio/aac', 'aac,24000,1'],
    ['flac', 'audio/flac', 'flac,24000,1'],
    ['wav', 'audio/wav', 'pcm_s16le,24000,1'],
    ['pcm', 'audio/pcm', 'pcm_s16le,24000,1'],
  ] as const)('%s by the official client library', async (format, contentType, codec) => {
    const client = new OpenAI({ apiKey: key.text, baseURL: `${gateway.url}/openai/v1`, maxRetries: 0 })
    const response = await client.audio.speech.create({ ...hello, response_format: format })
    expect(response.headers.get('content-type')).toBe(contentType)
    expect(response.headers.get('transfer-encoding')).toBe('chunked')
    expect(response.headers.get('content-length')).toBeNull()
    expect(response.headers.get('x-audio-format')).toBe(
      format === 'pcm' ? 'pcm_s16le;rate=24000;channels=1' : null,
    )
    const bytes = Buffer.from(await response.arrayBuffer())
    expect(bytes).toHaveLength(lastSpeech().sizeBytes)
    expect(await codecOf(bytes, format === 'pcm' ? ['-f', 's16le', '-ar', '24000', '-ac', '1'] : [])).toBe(
      codec,
    )
  })

  test('the defaults are mp3 and speed 1', async () => {
    const response = await say(hello)
    expect(response.headers.get('content-type')).toBe('audio/mpeg')
    await bytesOf(response)
    expect(lastSpeech()).toMatchObject({
      ...hello,
      format: 'mp3',
      speed: 1,
      instructions: undefined,
      state: 'finished',
    })
  })

  test('all parameters reach the vendor, with a voice by name or by id', async () => {
    const order = {
      ...hello,
      voice: { id: 'nova' },
      speed: 1.25,
      instructions: 'Whisper.',
      response_format: 'pcm',
    }
    const response = await say(order)
    expect(response.headers.get('x-ignored-params')).toBeNull()
    await bytesOf(response)
    expect(lastSpeech()).toMatchObject({
      voice: 'nova',
      speed: 1.25,
      instructions: 'Whisper.',
      format: 'pcm',
    })
  })

  test('the vendor gets its own name of the model', async () => {
    await using other = await startVendorGateway({}, { [modelB]: { upstreamModel: 'speaker-9' } })
    const account = await createAccount(other.database.postgres)
    const { text } = await createKey(other.database.postgres, account)
    await bytesOf(await say({ ...hello, model: modelB, voice: 'Kore' }, { text, url: other.url }))
    expect(other.vendor.speeches()[0]).toMatchObject({ model: 'speaker-9', voice: 'Kore' })
  })

  test('instructions are ignored and listed for a model that does not support them, even invalid ones', async () => {
    for (const instructions of ['Whisper.', 7, 'x'.repeat(5_000)]) {
      const response = await say({ ...hello, model: modelB, voice: 'Puck', instructions, mood: 'gay' })
      expect(response.status).toBe(200)
      expect(response.headers.get('x-ignored-params')).toBe('instructions, mood')
      await bytesOf(response)
      expect(lastSpeech().instructions).toBeUndefined()
    }
  })

  test.each([0.25, 4, '1.5'])('a speed of %j', async (speed) => {
    expect((await bytesOf(await say({ ...hello, speed }))).length).toBeGreaterThan(0)
    expect(lastSpeech().speed).toBe(Number(speed))
  })

  test('input is counted in code points: 4096 emojis are allowed', async () => {
    const response = await say({ ...hello, input: '😀'.repeat(4_096), speed: 4 })
    expect(response.status).toBe(200)
    await bytesOf(response)
    expect([...lastSpeech().input]).toHaveLength(4_096)
  })

  test('the first bytes arrive while the vendor is still sending', async () => {
    const response = await say({
      ...hello,
      input: 'On and on vendor:pace=20 vendor:chunks=64',
      response_format: 'pcm',
    })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    const { value } = await reader.read()
    expect(value?.length).toBeGreaterThan(0)
    const { state, sentBytes, sizeBytes } = lastSpeech()
    expect(state).toBe('under way')
    expect(sentBytes).toBeLessThan(sizeBytes / 2)
    await reader.cancel()
  })

  test('a client that does not read stops the vendor by backpressure', async () => {
    // Four and a half minutes of samples are 13 MB, more than the socket buffers can hold.
    const input = 'a'.repeat(4_000)
    const sent = await new Promise<number>((resolve, reject) => {
      const request = httpRequest(`${gateway.url}/v1/audio/speech`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key.text}`, 'content-type': 'application/json' },
      })
      request.on('error', reject).on('response', (response) => {
        response.pause()
        let last = -1
        const watch = setInterval(() => {
          const { sentBytes } = lastSpeech()
          if (sentBytes !== last) {
            last = sentBytes
            return
          }
          clearInterval(watch)
          response.on('error', () => undefined)
          request.destroy()
          resolve(sentBytes)
        }, 300)
      })
      request.end(
        JSON.stringify({ ...hello, input: `${input} vendor:pace=0`, speed: 0.5, response_format: 'wav' }),
      )
    })
    expect(sent).toBeGreaterThan(0)
    expect(sent).toBeLessThan(lastSpeech().sizeBytes)
  })

  test('server-sent events contain the same bytes in base64 and an end event', async () => {
    const body = { ...hello, response_format: 'wav' }
    const whole = await bytesOf(await say(body))
    const response = await say({ ...body, stream_format: 'sse' })
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const events = (await allEventsIn(response.body)).map(dataOf) as { type: string; audio?: string }[]
    expect(events.length).toBeGreaterThan(2)
    expect(events.at(-1)).toEqual({ type: 'speech.audio.done' })
    const parts = events.slice(0, -1).map(({ type, audio = '' }) => {
      expect(type).toBe('speech.audio.delta')
      return Buffer.from(audio, 'base64')
    })
    expect(Buffer.concat(parts).equals(whole)).toBe(true)
  })

  test('a fallback engine is named in the headers', async () => {
    await using local = await listen((_, response) => {
      response.writeHead(200, {
        'content-type': 'audio/wav',
        'x-engine': 'espeak-ng',
        'x-engine-wanted': 'kokoro',
      })
      response.end('RIFF')
    })
    await using own = await startGateway({ LOCAL_URL: local.url }, gateway)
    const response = await say(
      { ...hello, instructions: 'Whisper.', response_format: 'wav' },
      { url: own.url },
    )
    expect(response.headers.get('x-engine')).toBe('espeak-ng')
    expect(response.headers.get('x-engine-wanted')).toBe('kokoro')
    expect(response.headers.get('x-ignored-params')).toBe('instructions')
    expect((await bytesOf(response)).toString()).toBe('RIFF')
  })
})

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

describe('money', () => {
  // 100 characters at 15 micros each.
  const hundred = (words: string) => words.padEnd(100, '.')

  test('a complete speech is charged by its characters', async () => {
    const { account, text } = await spender(1)
    // The emoji is one character but two UTF-16 units, so there are 99 characters.
    await bytesOf(await say({ ...hello, input: hundred('Hello 😀') }, { text }))
    await untilSettled()
    expect(await requestsOf(account)).toEqual([
      {
        operation: 'createSpeech',
        model: modelA,
        provider: 'vendor',
        outcome: 'completed',
        held: 1_485,
        captured: 1_485,
      },
    ])
    expect(await balanceOf(account)).toEqual({ available: 1_000_000 - 1_485, held: 0 })
  })

  test.each([0.02, 0.25, 0.987])(
    'a client that disconnects after %d of a speech pays for the whole text, and the vendor is stopped',
    async (part) => {
      const { account, text } = await spender(1, { quotaMicros: 10_000 })
      const disconnect = new AbortController()
      const input = hundred('On and on vendor:chunks=400 vendor:pace=1')
      const response = await say(
        { ...hello, input, response_format: 'pcm' },
        { text, signal: disconnect.signal },
      )
      const reader = (response.body as ReadableStream<Uint8Array>).getReader()
      for (let received = 0; received < lastSpeech().sizeBytes * part;)
        received += (await reader.read()).value?.length ?? 0
      disconnect.abort()
      await expect.poll(() => lastSpeech().state).not.toBe('under way')
      if (part < 0.5) expect(lastSpeech().state).toBe('abandoned')
      await expect.poll(async () => (await requestsOf(account))[0]).toMatchObject({ captured: 1_500 })
      expect(await balanceOf(account)).toEqual({ available: 1_000_000 - 1_500, held: 0 })
      const { rows } = await gateway.database.postgres.query<Record<string, unknown>>(
        'select used_micros as used from key_quotas where key_id in (select id from keys where account_id = $1)',
        [account],
      )
      expect(rows).toEqual([{ used: 1_500 }])
    },
  )

  test('a vendor failure resets the connection and releases the share that was not sent', async () => {
    const { account, text } = await spender(1)
    const input = hundred('On and on vendor:die')
    const response = await say({ ...hello, input, response_format: 'wav' }, { text })
    expect(response.status).toBe(200)
    await expect(bytesOf(response)).rejects.toThrow()
    await expect
      .poll(async () => (await requestsOf(account))[0])
      .toMatchObject({ outcome: 'failed', held: 1_500 })
    const captured = Number((await requestsOf(account))[0]?.['captured'])
    expect(captured).toBeGreaterThan(0)
    expect(captured).toBeLessThanOrEqual(900)
  })

  test('a vendor failure in an event stream is an error event, without an end event', async () => {
    const { account, text } = await spender(1)
    const input = hundred('On and on vendor:die')
    const body = { ...hello, input, response_format: 'wav', stream_format: 'sse' }
    const response = await say(body, { text })
    const events = (await allEventsIn(response.body)).map(dataOf)
    const requestId = response.headers.get('x-request-id')
    expect(events.at(-1)).toEqual(errorBodyOf('upstream_error', { request_id: requestId }))
    expect(events).not.toContainEqual({ type: 'speech.audio.done' })
    expect((await requestsOf(account))[0]).toMatchObject({ outcome: 'failed' })
  })

  test('a disconnect from an event stream stops the vendor and charges the whole text', async () => {
    const { account, text } = await spender(1)
    const disconnect = new AbortController()
    const input = hundred('On and on vendor:chunks=64 vendor:pace=20')
    const body = { ...hello, input, response_format: 'pcm', stream_format: 'sse' }
    const events = eventsIn((await say(body, { text, signal: disconnect.signal })).body)
    await nextOf(events)
    disconnect.abort()
    await expect.poll(() => lastSpeech().state).toBe('abandoned')
    await expect
      .poll(async () => (await requestsOf(account))[0])
      .toMatchObject({ outcome: 'aborted', captured: 1_500 })
  })

  test('a failure before the first byte is not charged', async () => {
    const { account, text } = await spender(1, { quotaMicros: 10_000 })
    expectProblem(await ask({ ...hello, input: 'No vendor:500' }, { text }), 'upstream_error')
    expect(await requestsOf(account)).toMatchObject([{ outcome: 'failed', captured: 0 }])
    expect(await balanceOf(account)).toEqual({ available: 1_000_000, held: 0 })
  })
})

describe('400 invalid_request', () => {
  test.each([
    ['malformed JSON', '{"model":'],
    ['a list', '[]'],
  ])('%s', async (_, body) => {
    await expectRefused(() => ask(body), 'invalid_request')
  })

  test('a form', async () => {
    await expectRefused(
      () => ask('--x--', { headers: { 'content-type': 'multipart/form-data; boundary=x' } }),
      'invalid_request',
    )
  })
})

describe('413 request_too_large', () => {
  test('more than a mebibyte', async () => {
    await expectRefused(() => ask({ ...hello, input: 'a'.repeat(1_048_576) }), 'request_too_large')
  })
})

describe('400 missing_parameter', () => {
  test.each(['model', 'input', 'voice'])('%s, absent, empty or blank', async (name) => {
    for (const value of [undefined, '', '  \n', null]) {
      await expectRefused(() => ask({ ...hello, [name]: value }), 'missing_parameter', name)
    }
  })
})

describe('400 invalid_parameter', () => {
  test.each([
    ['model', [7]],
    ['input', [7, 'a'.repeat(4_097), 'half a pair \ud800']],
    ['voice', [7, { id: 7 }, ['alloy']]],
    ['response_format', ['ogg', 'MP3', 7]],
    ['speed', [0.24, 4.01, 'fast', '1e0']],
    ['instructions', [7, 'x'.repeat(4_097)]],
    ['stream_format', ['websocket']],
  ])('%s', async (name, values) => {
    for (const value of values) {
      await expectRefused(() => ask({ ...hello, [name]: value }), 'invalid_parameter', name)
    }
  })

  test('a model that does not support speech', async () => {
    const { body } = await expectRefused(
      () => ask({ ...hello, model: 'asr-1' }),
      'invalid_parameter',
      'model',
    )
    expect(body['error']).toHaveProperty('message', expect.stringContaining(`one of: ${modelA}, ${modelB}.`))
  })

  test('a value that the vendor rejects', async () => {
    expectProblem(await ask({ ...hello, input: 'vendor:reject=invalid_value' }), 'invalid_parameter', 'input')
  })
})

describe('400 voice_not_supported', () => {
  test.each([
    [modelA, ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer']],
    [modelB, ['Aoede', 'Charon', 'Fenrir', 'Kore', 'Puck']],
  ])('%s has exactly its voices, and the error lists them', async (model, voices) => {
    for (const voice of voices) {
      const response = await say({ ...hello, model, voice })
      expect(response.status).toBe(200)
      await bytesOf(response)
    }
    const [first = ''] = voices
    const others = ['alloy', 'Kore', 'nobody'].filter((voice) => !voices.includes(voice))
    for (const voice of [...others, first.toUpperCase(), `${first} `, { id: 'nobody' }]) {
      const { body } = await expectRefused(
        () => ask({ ...hello, model, voice }),
        'voice_not_supported',
        'voice',
      )
      expect(body['error']).toHaveProperty('message', expect.stringContaining(voices.join(', ')))
    }
  })
})

describe('400 content_policy_violation', () => {
  test('a text that the vendor rejects', async () => {
    expectProblem(await ask({ ...hello, input: 'vendor:moderated' }), 'content_policy_violation')
  })
})

describe('400 output_length_exceeded', () => {
  test('a vendor that stops at its length limit without output', async () => {
    expectProblem(await ask({ ...hello, input: 'vendor:reject=max_output_tokens' }), 'output_length_exceeded')
  })
})

describe('402', () => {
  const refused = (text: string, code: ErrorCode) => expectRefused(() => ask(hello, { text }), code)

  test('insufficient_balance', async () => {
    const { text } = await spender(0)
    const { headers } = await refused(text, 'insufficient_balance')
    expect(headers.get('x-should-retry')).toBe('false')
  })

  test('quota_exceeded', async () => {
    await refused((await spender(10, { quotaMicros: 0 })).text, 'quota_exceeded')
  })

  test('payment_failed', async () => {
    await refused((await spender(0, { hasFailed: true })).text, 'payment_failed')
  })

  test('subscription_expired', async () => {
    await refused((await spender(10, { kind: 'subscription' })).text, 'subscription_expired')
  })
})

describe('403 audio_requires_payg', () => {
  test('a subscription key, if the operator requires it, before parameters are checked', async () => {
    const { postgres } = gateway.database
    const subscriber = await spender(0, { kind: 'subscription' })
    await subscribe(postgres, subscriber.account)
    const response = await say(hello, { text: subscriber.text })
    expect(response.status).toBe(200)
    await bytesOf(response)

    await using strict = await startGateway({ AUDIO_REQUIRES_PAYG: 'true' }, gateway)
    const options = { text: subscriber.text, url: strict.url }
    await expectRefused(() => ask({ ...hello, voice: 'nobody' }, options), 'audio_requires_payg')
    await expectRefused(() => ask({ ...hello, model: 'nonsense' }, options), 'model_not_found', 'model')
  })
})

describe('403 model_access_denied', () => {
  test('a model that the key may not use', async () => {
    const { text } = await createKey(gateway.database.postgres, accountId, { models: [modelB] })
    await expectRefused(() => ask(hello, { text }), 'model_access_denied', 'model')
  })
})

describe('404 model_not_found', () => {
  test('an unknown model, before other errors', async () => {
    await expectRefused(() => ask({ model: 'tts-1' }), 'model_not_found', 'model')
  })
})

describe('502 upstream_error', () => {
  test.each(['vendor:500', 'vendor:empty', 'vendor:wrong-type=html', 'vendor:reject=model_gone'])(
    '%s',
    async (input) => {
      expectProblem(await ask({ ...hello, input }), 'upstream_error')
    },
  )

  test("the error does not contain the vendor's message, host or key", async () => {
    const { body } = await ask({ ...hello, input: 'vendor:leak' })
    expect(body['error']).toMatchObject({ code: 'invalid_parameter' })
    expect(JSON.stringify(body)).not.toContain(vendorKey)
    expect(JSON.stringify(body)).not.toContain(new URL(gateway.vendor.url).host)
    expect(JSON.stringify(body)).not.toContain('refused')
  })

  test('an unreachable vendor', async () => {
    gateway.vendor.faults.down = true
    expectProblem(await ask(hello), 'upstream_error')
    gateway.vendor.faults.down = false
  })
})

describe('503 model_overloaded', () => {
  test('an overloaded vendor, with its Retry-After', async () => {
    const answer = await ask({ ...hello, input: 'vendor:busy' })
    expectProblem(answer, 'model_overloaded')
    expect(answer.headers.get('retry-after')).toBe('7')
  })
})

describe('503 service_unavailable', () => {
  test('the built-in provider without weights explains how to install them', async () => {
    const message = 'No engine that speaks is here. Run `kinora models pull speech`.'
    await using local = await listen((_, response) => {
      response.writeHead(503, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { code: 'weights_missing', message } }))
    })
    await using own = await startGateway({ LOCAL_URL: local.url }, gateway)
    const answer = await ask(hello, { url: own.url })
    expectProblem(answer, 'service_unavailable')
    expect(answer.body['error']).toHaveProperty('message', message)
  })
})

describe('after all tests', () => {
  test('the ledger is balanced and nothing is held', async () => {
    const held = async () => {
      const { rows } = await gateway.database.postgres.query<{ held: number }>(
        'select sum(held_micros) as held from balances',
      )
      return rows[0]?.held
    }
    await expect.poll(held).toBe(0)
    expect(await brokenInvariants(gateway.database.postgres)).toEqual([])
  })
})
