/** What a message says: what is wrong, with which value, and nothing that its reader must not know. */
import type { ErrorCode } from '@kinora/contract/errors'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { createKeyText } from '../../src/auth/key-text.ts'
import { ask, askJson, expectProblem, form, type Answer } from '../kit/answers.ts'
import { serveDns, type DnsServer } from '../kit/dns-server.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { serveFiles, type FileServer } from '../kit/file-server.ts'
import { createOperator } from '../kit/operator.ts'
import { audioForm } from '../kit/sound.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let files: FileServer
let dns: DnsServer
let gateway: TestGateway
let accountId: string
let key: TestKey

beforeAll(async () => {
  files = await serveFiles({})
  dns = await serveDns((name, family) => (name === 'inside.example' && family === 4 ? ['10.1.2.3'] : []))
  gateway = await startGateway({
    FETCH_ALLOW_ORIGINS: files.url,
    FETCH_DNS_SERVERS: dns.server,
    TRUSTED_PROXIES: '127.0.0.1',
  })
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await files[Symbol.asyncDispose]()
  await dns[Symbol.asyncDispose]()
})

const messageOf = ({ body }: Answer) => (body['error'] as { message: string }).message
const models = (authorization: string, headers: Record<string, string> = {}) =>
  ask(`${gateway.url}/v1/models`, undefined, { headers: { authorization, ...headers } })

const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
const create = (more: object) => askJson(`${gateway.url}/v1/videos`, key.text, { ...order, ...more })

const expectMessage = (answer: Answer, code: ErrorCode, param: string | undefined, message: string) => {
  expectProblem(answer, code, param)
  expect(messageOf(answer)).toBe(message)
}

describe('a key', () => {
  test('that is missing: how to send one', async () => {
    const answer = await ask(`${gateway.url}/v1/models`, undefined)
    expectMessage(answer, 'missing_api_key', undefined, 'No API key. Send `Authorization: Bearer sk-…`.')
  })

  test.each([
    ['unknown', () => createKeyText('payg'), 'This key is not known here (it ends in …'],
    [
      'mistyped',
      () => `${key.text.slice(0, -4)}wxyz`,
      'This is not a key of this service (it ends in …wxyz). Check that it was copied completely.',
    ],
    ['too short to be shown', () => 'hunter2', 'This is not a key of this service. Check that'],
  ])('that is %s: no more than its last four characters', async (_, text, message) => {
    const sent = text()
    const answer = await models(`Bearer ${sent}`)
    expectProblem(answer, 'invalid_api_key')
    expect(messageOf(answer)).toContain(message)
    for (let at = 0; at + 5 <= sent.length; at += 1) {
      expect(JSON.stringify(answer.body)).not.toContain(sent.slice(at, at + 5))
    }
  })

  test.each(['', 'Basic ', 'Token '])('without `Bearer` (%s): nothing of it', async (scheme) => {
    const answer = await models(`${scheme}${key.text}`)
    expectProblem(answer, 'invalid_api_key')
    expect(messageOf(answer)).toContain('does not start with `Bearer`')
    expect(JSON.stringify(answer.body)).not.toContain(key.text.slice(-4))
  })

  test('that is bound to other addresses: the address that was seen', async () => {
    const { postgres } = gateway.database
    const { text } = await createKey(postgres, accountId, { addresses: ['192.0.2.1'] })
    const answer = await models(`Bearer ${text}`, { 'x-forwarded-for': '203.0.113.7' })
    const message = `This key (…${text.slice(-4)}) may not be used from 203.0.113.7.`
    expectMessage(answer, 'ip_not_allowed', undefined, message)
    expect(JSON.stringify(answer.body)).not.toContain('192.0.2.1')
  })

  test('that has expired: since when', async () => {
    const expiresAt = new Date('2026-01-31T12:00:00Z')
    const { text } = await createKey(gateway.database.postgres, accountId, { expiresAt })
    const message = `This key (…${text.slice(-4)}) expired at 2026-01-31T12:00:00.000Z.`
    expectMessage(await models(`Bearer ${text}`), 'expired_api_key', undefined, message)
  })
})

describe('a URL', () => {
  const noPublicAddress =
    "'input_reference' could not be fetched: its host has no public address; private addresses are not allowed."

  test.each([
    'http://127.0.0.1/a.png',
    'https://10.0.0.1/a.png',
    'http://[::1]/a.png',
    'http://169.254.169.254/latest',
    'http://localhost/a.png',
    'http://inside.example/a.png',
    'http://missing.example/a.png',
  ])('%s has no public address, whether or not it exists', async (url) => {
    const answer = await create({ input_reference: url })
    expectMessage(answer, 'invalid_image', 'input_reference', noPublicAddress)
  })

  test.each([
    ['https://me:secret@example.com/a.png', 'a user name or password in the URL is not allowed.'],
    ['https://example.com:8443/a.png', 'port 8443 is not allowed; use 80 or 443.'],
  ])('%s: %s', async (url, reason) => {
    const message = `'input_reference' could not be fetched: ${reason}`
    expectMessage(await create({ input_reference: url }), 'invalid_image', 'input_reference', message)
  })

  test('of a server that responds with 404', async () => {
    const url = `${files.url}/a`
    const message = (param: string) =>
      `'${param}' could not be fetched: the server responded with status 404.`
    const image = await create({ input_reference: url })
    expectMessage(image, 'invalid_image', 'input_reference', message('input_reference'))
    const character = await askJson(`${gateway.url}/vidB/v1/characters`, key.text, { url, timestamps: '1,3' })
    expectMessage(character, 'invalid_parameter', 'url', message('url'))
  })
})

describe('a body', () => {
  const send = (body: string, headers: Record<string, string> = {}) =>
    askJson(`${gateway.url}/v1/videos`, key.text, body, headers)

  test.each([
    [
      '{\n  "model": "vidB-2",\n  "prompt": A whale\n}',
      "The body is not valid JSON: unexpected 'A' at line 3, column 13.",
    ],
    ['{"model": "vidB-2"', 'The body is not valid JSON: it ends too early, at line 1, column 19.'],
    ['', 'The body is empty. Send a JSON object.'],
    ['[]', 'The body must be a JSON object: `{…}`.'],
  ])('%j', async (body, message) => {
    expectMessage(await send(body), 'invalid_request', undefined, message)
  })

  test('that is not gzip although it says so', async () => {
    const answer = await send('{}', { 'content-encoding': 'gzip' })
    expectProblem(answer, 'invalid_request')
    expect(messageOf(answer)).toContain('could not be decompressed')
  })

  test('of a form without a boundary', async () => {
    const answer = await send('x', { 'content-type': 'multipart/form-data' })
    expectProblem(answer, 'invalid_request')
    expect(messageOf(answer)).toContain('no boundary')
  })
})

describe('what is empty is called empty', () => {
  test.each(['', '   '])('a prompt (%j)', async (prompt) => {
    expectMessage(await create({ prompt }), 'missing_parameter', 'prompt', "'prompt' is empty.")
  })

  test('a prompt that is absent is required', async () => {
    expectMessage(await create({ prompt: undefined }), 'missing_parameter', 'prompt', "'prompt' is required.")
  })

  test('a text to speak, and a list of messages', async () => {
    const speech = { model: 'chat-4o-mini-tts-2025-12-15', input: '', voice: 'alloy' }
    const spoken = await askJson(`${gateway.url}/v1/audio/speech`, key.text, speech)
    expectMessage(spoken, 'missing_parameter', 'input', "'input' is empty.")
    for (const model of ['chat-4o-audio-preview', 'vidB-2']) {
      const chat = { model, messages: [] }
      const answered = await askJson(`${gateway.url}/v1/chat/completions`, key.text, chat)
      expectMessage(answered, 'missing_parameter', 'messages', "'messages' is empty.")
    }
  })

  test('a recording', async () => {
    const body = audioForm(Buffer.alloc(0), { model: 'asr-1' })
    const answer = await ask(`${gateway.url}/v1/audio/transcriptions`, key.text, { method: 'POST', body })
    expectMessage(answer, 'invalid_file_format', 'file', "'file' is empty: it has 0 bytes.")
  })

  test('an image, as a file and as a data URI', async () => {
    const message = "'input_reference' is empty: it has 0 bytes."
    const body = form({ ...order, seconds: '4', input_reference: new Blob([]) })
    const file = await ask(`${gateway.url}/v1/videos`, key.text, { method: 'POST', body })
    expectMessage(file, 'invalid_image', 'input_reference', message)
    const uri = await create({ input_reference: 'data:image/png;base64,' })
    expectMessage(uri, 'invalid_image', 'input_reference', message)
  })
})

test('a method that an endpoint does not have: at which path', async () => {
  const answer = await ask(`${gateway.url}/v1/models?limit=3`, key.text, { method: 'DELETE' })
  const message = 'DELETE is not allowed at /v1/models; use GET, HEAD, OPTIONS.'
  expectMessage(answer, 'method_not_allowed', undefined, message)
})

test('a failed payment: what is available and what is needed', async () => {
  const operator = await createOperator(gateway)
  const account = await createAccount(gateway.database.postgres, { balance: 0.1 })
  await operator.call('updateAccount', { id: account, body: { payment_state: 'failed' } })
  const { text } = await createKey(gateway.database.postgres, account)
  const answer = await askJson(`${gateway.url}/v1/videos`, text, order)
  const message =
    'The last payment failed, and the balance is too low: 0.10 USD available; this request needs 0.40 USD.'
  expectMessage(answer, 'payment_failed', undefined, message)
})

test('a time that is a date: in which form it is sent', async () => {
  const operator = await createOperator(gateway)
  const body = { kind: 'payg', name: 'key', expires_at: '2027-01-01' }
  const answer = await operator.ask('createKey', { id: accountId, body })
  const message =
    "'expires_at' must be a Unix time in seconds, such as 1798761600 for 2027-01-01 (got '2027-01-01')."
  expectMessage(answer, 'invalid_parameter', 'expires_at', message)
})

test('a page after something that is no task: what was received', async () => {
  const answer = await ask(`${gateway.url}/v1/videos?after=nothing`, key.text)
  expectMessage(answer, 'invalid_parameter', 'after', "'after' must be the id of a task (got 'nothing').")
})
