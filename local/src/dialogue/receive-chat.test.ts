import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'

import { receiveChat, type ReceivedChat } from './receive-chat.ts'

let folder: string
beforeEach(async () => (folder = await mkdtemp(path.join(tmpdir(), 'kinora-chat-'))))
afterEach(() => rm(folder, { recursive: true, force: true }))

async function* cut(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** The body with its audio data restored. */
async function restore(received: ReceivedChat, value: unknown = received.body): Promise<unknown> {
  const sound = received.soundAt(value)
  if (sound !== undefined) return sound.readable ? await readFile(sound.path, 'base64') : 'not base64'
  if (Array.isArray(value)) return await Promise.all(value.map((each) => restore(received, each)))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(
    async ([key, each]) => [key, await restore(received, each)] as const,
  )
  return Object.fromEntries(await Promise.all(entries))
}

const base64 = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('base64'))

test('audio is decoded and the rest is unchanged, for any JSON in chunks of any size', async () => {
  const { json } = fc.letrec((tie) => ({
    json: fc.oneof(
      { maxDepth: 4 },
      fc.string({ unit: 'binary' }),
      fc.constantFrom('data', '"data"', ':', '\\', 'a\\"data":"x', null, true, 1.5),
      fc.array(tie('json'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'data ', 'dat', 'adata', '"data"'), tie('json')),
      fc.record({ data: base64, next: tie('json') }),
      fc.record({ data: fc.array(tie('json'), { maxLength: 2 }) }),
      fc.record({ data: fc.constantFrom(null, 1, false) }),
    ),
  }))
  const layout = fc.constantFrom(0, 1, '\t')
  let runs = 0
  await fc.assert(
    fc.asyncProperty(json, layout, fc.integer({ min: 1, max: 9 }), async (value, space, size) => {
      const own = await mkdtemp(path.join(folder, `${runs++}-`))
      const received = await receiveChat(cut(JSON.stringify(value, null, space), size), own)
      expect(await restore(received)).toEqual(JSON.parse(JSON.stringify(value)))
    }),
    { numRuns: 150 },
  )
})

test.each([
  ['an escaped slash', '{"data":"\\/\\/\\/\\/"}', { data: '////' }],
  ['a character by its number', '{"data":"\\u0051UJD"}', { data: 'QUJD' }],
  ['space around', '{ "data" \n : "QUJD" }', { data: 'QUJD' }],
  ['nothing', '{"data":""}', { data: '' }],
])('decodes base64 with %s', async (_name, text, expected) => {
  for (let size = 1; size < 8; size++) {
    const own = await mkdtemp(path.join(folder, 'cut-'))
    expect(await restore(await receiveChat(cut(text, size), own))).toEqual(expected)
  }
})

test.each([
  'QUJ',
  'QU=D',
  'Q===',
  'QUJD=',
  'QUJD\\n',
  'QU JD',
  'QUJ-',
  '====',
  'data:audio/wav;base64,QUJD',
  'QÜJD',
])('rejects %s as base64', async (text) => {
  expect(await restore(await receiveChat(cut(`{"data":"${text}"}`, 3), folder))).toEqual({
    data: 'not base64',
  })
})

test.each(['', '{', '{"data":"QUJD', '{"data":"QUJD"', '{"data":"QUJD\\q"', 'no'])(
  '%s is refused',
  async (text) => {
    await expect(receiveChat(cut(text, 2), folder)).rejects.toMatchObject({
      status: 400,
      code: 'invalid_request',
    })
  },
)

test('a body or text that is too large is rejected', async () => {
  async function* endless(chunk: string) {
    yield Buffer.from('{"data":"')
    if (chunk === 't') yield Buffer.from('","text":"')
    for (;;) yield Buffer.alloc(65_536, chunk)
  }
  for (const chunk of ['t', 'A']) {
    const own = await mkdtemp(path.join(folder, 'much-'))
    await expect(receiveChat(endless(chunk), own)).rejects.toMatchObject({
      status: 413,
      code: 'request_too_large',
    })
  }
})
