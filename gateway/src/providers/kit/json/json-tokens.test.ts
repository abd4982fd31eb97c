import { expect, test } from 'vitest'

import { failureOf } from '../../../../test/kit/listen-for-test.ts'
import { jsonTokens, placeholder } from './json-tokens.ts'

/** The text in chunks of this size. */
async function* cut(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const read = async (text: string, size: number, names: string[] = ['data']) => {
  const texts: string[] = []
  const documents: unknown[] = []
  let parts: Buffer[] = []
  for await (const chunk of jsonTokens(cut(text, size), new Set(names), 'check')) {
    if (chunk.kind === 'document') documents.push(chunk.value)
    else {
      parts.push(chunk.bytes)
      if (!chunk.isEnd) continue
      texts.push(`${chunk.name}: ${Buffer.concat(parts).toString()}`)
      parts = []
    }
  }
  return { texts, documents }
}

const sizes = [1, 2, 3, 5, 7, 1000]

test.each(sizes)('named texts are streamed, the rest is buffered, in chunks of %d', async (size) => {
  const text = `{"data" : "AAAA", "a": {"b\\"\\u0020c": ["data", "x", {"data":"QkJC"}], "data": 7},
    "mime": "é\\n\\u00e9 {\\"data\\":\\"no\\"}", "list": {"data": ["CCCC"]}, "data": ""}`
  expect(await read(text, size)).toEqual({
    texts: ['data: AAAA', 'data: QkJC', 'data: '],
    documents: [
      {
        a: { 'b" c': ['data', 'x', { data: placeholder }], data: 7 },
        mime: 'é\né {"data":"no"}',
        list: { data: ['CCCC'] },
        data: '',
      },
    ],
  })
})

test.each(sizes)('escapes in base64 are decoded, in chunks of %d', async (size) => {
  const { texts } = await read('{"data":"a\\/b\\u002Bc\\u003d\\u003d"}', size)
  expect(texts).toEqual(['data: a/b+c=='])
})

test.each(sizes)('several documents are read in sequence, in chunks of %d', async (size) => {
  const { texts, documents } = await read('{"data":"AA"}\n\n {"end":{"is":true}}[1,[2]]', size)
  expect(texts).toEqual(['data: AA'])
  expect(documents).toEqual([{ data: placeholder }, { end: { is: true } }, [1, [2]]])
})

test.each([
  ['<html>', 'answered something other than JSON'],
  ['"text"', 'answered something other than JSON'],
  ['{"data":"AAAA', 'broke off in the middle of its JSON'],
  ['{"data":"\\uZZZZ"}', 'answered something other than JSON'],
  ['['.repeat(70), 'answered JSON that is too deep'],
  [`{"text":"${'a'.repeat(1_100_000)}"}`, 'answered with too large a body'],
])('%.20s… %s', async (text, message) => {
  expect(await failureOf(read(text, 4096))).toMatchObject({ kind: 'unknown', message: `check ${message}` })
})

test('an invalid document has no value', async () => {
  expect(await read('[DONE] {"a":1}', 3)).toEqual({ texts: [], documents: [undefined, { a: 1 }] })
})
