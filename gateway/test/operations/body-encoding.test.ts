import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ask, expectProblem, pixelBytes, type Answer } from '../kit/answers.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let key: TestKey

beforeAll(async () => {
  gateway = await startGateway()
  key = await createKey(gateway.database.postgres, await createAccount(gateway.database.postgres))
})
afterAll(() => gateway[Symbol.asyncDispose]())

const bytes = (...parts: (string | number[] | Buffer)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))))

const send = (
  contentType: string,
  body: Buffer | ReadableStream,
  path = '/v1/videos',
  method = 'POST',
): Promise<Answer> =>
  ask(`${gateway.url}${path}`, key.text, {
    method,
    headers: { 'content-type': contentType },
    body: body as RequestInit['body'] & object,
    duplex: 'half',
  })

const json = 'application/json'
const order = (prompt: string | number[]) =>
  bytes('{"model":"vidB-2","seconds":4,"size":"480x480","prompt":"', prompt, '"}')

const expectMessage = (answer: Answer, text: string) =>
  expect(answer.body['error']).toHaveProperty('message', expect.stringContaining(text))

const promptOf = async ({ body }: Answer) => {
  const { rows } = await gateway.database.postgres.query<{ prompt: string }>(
    `select video_order->>'prompt' as prompt from video_tasks where id = $1`,
    [body['id']],
  )
  return rows[0]?.prompt
}

const invalid: [string, number[]][] = [
  ['a byte of Latin-1', [0x63, 0x61, 0x66, 0xe9]],
  ['a continuation byte alone', [0x80]],
  ['an overlong quote', [0xc0, 0xa2]],
  ['an overlong slash in three bytes', [0xe0, 0x80, 0xaf]],
  ['an overlong character in four bytes', [0xf0, 0x80, 0x80, 0xaf]],
  ['an encoded surrogate', [0xed, 0xa0, 0xbd]],
  ['an encoded pair of surrogates', [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]],
  ['a code point above U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
  ['a truncated character', [0xf0, 0x9f, 0x98]],
  ['a byte that UTF-8 never uses', [0xff]],
]

describe('400 for JSON that is not UTF-8', () => {
  test.each(invalid)('%s', async (_, sequence) => {
    const answer = await send(json, order(sequence))
    expectProblem(answer, 'invalid_request')
    expectMessage(answer, 'not valid UTF-8')
  })

  test.each(invalid)('%s within a long text', async (_, sequence) => {
    const long = 'x'.repeat(100_000)
    const messages = bytes(
      '{"model":"vidB-2","messages":[{"role":"user","content":"',
      long,
      sequence,
      long,
      '"}]}',
    )
    const answer = await send(json, messages, '/v1/chat/completions')
    expectProblem(answer, 'invalid_request')
    expectMessage(answer, 'not valid UTF-8')
  })

  test('a name, a body that ends within a character, and bytes after the document', async () => {
    for (const body of [
      bytes('{"model', [0xe9], '":"vidB-2"}'),
      bytes('{"prompt":"', [0xf0, 0x9f, 0x98]),
      bytes(order('A whale'), [0xc3]),
      bytes([0xef, 0xbb], order('A whale')),
    ]) {
      const answer = await send(json, body)
      expectProblem(answer, 'invalid_request')
      expectMessage(answer, 'not valid UTF-8')
    }
  })

  test('UTF-16 without a charset', async () => {
    expectProblem(await send(json, Buffer.from(order('é').toString(), 'utf16le')), 'invalid_request')
  })
})

describe('400 for another charset', () => {
  test.each(['utf-16', 'UTF-16LE', '"utf-16"', 'iso-8859-1', 'utf-7', '', 'utf-8; charset=utf-16'])(
    'application/json; charset=%s',
    async (charset) => {
      const answer = await send(`${json}; charset=${charset}`, order('A whale'))
      expectProblem(answer, 'invalid_request')
      expectMessage(answer, 'charset')
      expectMessage(answer, 'UTF-8')
    },
  )
})

describe('200', () => {
  test.each([
    json,
    `${json}; charset=utf-8`,
    `${json};charset=UTF-8`,
    `${json}; charset="utf-8"`,
    `${json}; charset=utf8`,
    `${json}; charset=us-ascii`,
    `${json}; odata=verbose; charset=utf-8`,
  ])('%s', async (contentType) => {
    expect((await send(contentType, order('A whale'))).status).toBe(200)
  })

  test('a byte order mark is skipped', async () => {
    const answer = await send(json, bytes([0xef, 0xbb, 0xbf], order('A whale')))
    expect(answer.status).toBe(200)
    const twice = bytes([0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf], order('A whale'))
    expectProblem(await send(json, twice), 'invalid_request')
  })

  test('characters of every length arrive as they were sent, also if the body arrives byte by byte', async () => {
    const prompt = 'a \u007f é \u07ff ह \ufffd \uffff 😀 \u{10ffff}'
    const whole = await send(json, order(prompt))
    const pieces = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const byte of order(prompt)) controller.enqueue(Uint8Array.of(byte))
        controller.close()
      },
    })
    const split = await send(json, pieces)
    expect([whole.status, split.status]).toEqual([200, 200])
    expect(await promptOf(whole)).toBe(prompt)
    expect(await promptOf(split)).toBe(prompt)
  })
})

describe('a form', () => {
  const boundary = 'boundary'
  const part = (head: string | Buffer, content: string | number[] | Buffer) =>
    bytes(`--${boundary}\r\nContent-Disposition: form-data; `, head, '\r\n\r\n', content, '\r\n')
  const sendForm = (...parts: Buffer[]) =>
    send(
      `multipart/form-data; boundary=${boundary}`,
      bytes(
        part('name="model"', 'vidB-2'),
        part('name="seconds"', '10'),
        part('name="size"', '1280x720'),
        ...parts,
        `--${boundary}--\r\n`,
      ),
    )

  test.each(invalid)('400 for a field with %s', async (_, sequence) => {
    const answer = await sendForm(part('name="prompt"', bytes('A whale ', sequence)))
    expectProblem(answer, 'invalid_parameter', 'prompt')
    expectMessage(answer, 'not valid UTF-8')
  })

  test('400 for a file name that is not UTF-8', async () => {
    const answer = await sendForm(
      part('name="prompt"', 'A whale'),
      part(bytes('name="input_reference"; filename="caf', [0xe9], '.png"'), pixelBytes),
    )
    expectProblem(answer, 'invalid_parameter', 'input_reference')
    expectMessage(answer, 'file name')
  })

  test('400 for the name of a field that is not UTF-8', async () => {
    const answer = await sendForm(
      part('name="prompt"', 'A whale'),
      part(bytes('name="caf', [0xe9], '"'), 'x'),
    )
    expectProblem(answer, 'invalid_request')
    expectMessage(answer, 'not valid UTF-8')
  })

  test('200 for text of any language, and for a field that declares its charset', async () => {
    const plain = await sendForm(part('name="prompt"', 'é ह 😀'))
    const latin = await sendForm(
      part('name="prompt"\r\nContent-Type: text/plain; charset=iso-8859-1', [0x63, 0x61, 0x66, 0xe9]),
    )
    expect([plain.status, latin.status]).toEqual([200, 200])
    expect(await promptOf(plain)).toBe('é ह 😀')
    expect(await promptOf(latin)).toBe('café')
  })
})
