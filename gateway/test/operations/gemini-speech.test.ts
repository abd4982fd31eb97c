/** Speech from a vendor with only PCM: callers can still use every format. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { askJson, expectProblem } from '../kit/answers.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { meteredRequestsOf } from '../kit/spender.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'

let gateway: VendorGateway
let account: string
let key: TestKey
let headers: Record<string, string>

beforeAll(async () => {
  gateway = await startVendorGateway({}, {}, { kind: 'gemini' })
  account = await createAccount(gateway.database.postgres, { balance: 1_000 })
  key = await createKey(gateway.database.postgres, account)
  headers = { authorization: `Bearer ${key.text}`, 'content-type': 'application/json' }
})
afterAll(() => gateway[Symbol.asyncDispose]())

const hello = { model: 'ttsB-3.1-flash-tts-preview', input: 'Hello there, how are you?', voice: 'Kore' }

const say = (body: object) =>
  fetch(`${gateway.url}/v1/audio/speech`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ ...hello, ...body }),
    signal: AbortSignal.timeout(120_000),
  })
const ask = (body: object) => askJson(`${gateway.url}/v1/audio/speech`, key.text, { ...hello, ...body })
const requests = () => meteredRequestsOf(gateway.database.postgres, account)

/** The format according to ffprobe. */
const codecOf = async (bytes: Buffer, format: string | undefined) => {
  const given = format === 'pcm' ? ['-f', 's16le', '-ar', '24000', '-ac', '1'] : []
  const probing = promisify(execFile)('ffprobe', [
    ...['-v', 'error', ...given, '-i', 'pipe:0'],
    ...['-show_entries', 'stream=codec_name,sample_rate,channels', '-of', 'csv=p=0'],
  ])
  probing.child.stdin?.on('error', () => undefined).end(bytes)
  return (await probing).stdout.trim()
}

test('every format is available, and mp3 is the default', async () => {
  const expected = [
    [undefined, 'audio/mpeg', 'mp3,24000,1'],
    ['mp3', 'audio/mpeg', 'mp3,24000,1'],
    ['opus', 'audio/ogg', 'opus,48000,1'],
    ['aac', 'audio/aac', 'aac,24000,1'],
    ['flac', 'audio/flac', 'flac,24000,1'],
    ['wav', 'audio/wav', 'pcm_s16le,24000,1'],
    ['pcm', 'audio/pcm', 'pcm_s16le,24000,1'],
  ] as const
  const heard = expected.map(async ([format]) => {
    const response = await say({ response_format: format })
    const bytes = Buffer.from(await response.arrayBuffer())
    return [format, response.headers.get('content-type'), await codecOf(bytes, format)]
  })
  expect(await Promise.all(heard)).toEqual(expected)
  const [asked] = gateway.vendor.speeches().slice(-1)
  expect(asked).toMatchObject({ model: hello.model, input: hello.input, voice: 'Kore', state: 'finished' })
  // 25 characters at 20 micros each.
  await expect
    .poll(async () => (await requests()).map(({ outcome, captured }) => [outcome, captured]))
    .toEqual(expected.map(() => ['completed', 500]))
})

test("voices are sent by the vendor's names, with instructions", async () => {
  const model = 'chat-4o-mini-tts-2025-12-15'
  const response = await say({ model, voice: 'alloy', instructions: 'Whisper.', response_format: 'pcm' })
  expect(response.headers.get('x-ignored-params')).toBeNull()
  await response.arrayBuffer()
  const [asked] = gateway.vendor.speeches().slice(-1)
  expect(asked).toMatchObject({ voice: 'Kore', input: expect.stringMatching(/^Whisper\.[^]*Hello there/) })
})

test.each([
  ['vendor:moderated', 'content_policy_violation', undefined],
  ['vendor:too-long', 'output_length_exceeded', undefined],
  ['vendor:reject=invalid_value', 'invalid_parameter', 'input'],
  ['vendor:empty', 'upstream_error', undefined],
  ['vendor:busy', 'model_overloaded', undefined],
] as const)('%s is %s', async (input, code, param) => {
  expectProblem(await ask({ input }), code, param)
  expect((await requests()).at(-1)).toMatchObject({ outcome: 'failed', captured: 0 })
})

test('a client that disconnects stops the vendor', async () => {
  const asked = httpRequest(`${gateway.url}/v1/audio/speech`, { method: 'POST', agent: false, headers })
  const input = 'A story that goes on for quite a while vendor:stall'
  asked.end(JSON.stringify({ ...hello, input, response_format: 'wav' }))
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  expect(response.statusCode).toBe(200)
  asked.destroy()
  await expect.poll(() => gateway.vendor.speeches().at(-1)?.state).toBe('abandoned')
  await expect.poll(async () => (await requests()).at(-1)).toMatchObject({ outcome: 'aborted' })
})
