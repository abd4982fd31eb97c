import { Readable } from 'node:stream'

import fc from 'fast-check'
import { expect, test } from 'vitest'

import { fieldsOf, type ReceivedFile } from '../http/body/fields.ts'
import type { Call } from '../http/call.ts'
import { fingerprintOf } from './fingerprint.ts'

const hashOf = async (
  body: Record<string, unknown>,
  {
    operation = 'createVideo',
    path = {},
    files = new Map<string, ReceivedFile[]>(),
    longText = () => undefined,
  }: {
    operation?: string
    path?: Record<string, string>
    files?: Map<string, ReceivedFile[]>
    longText?: Call['longText']
  } = {},
) => {
  const fields = fieldsOf('json', new Map(Object.entries(body)), files)
  return (await fingerprintOf(operation, { path, fields, longText })).toString('hex')
}

const turned = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(turned)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).toReversed()
  return Object.fromEntries(members.map(([name, member]) => [name, turned(member)]))
}

test('the order of members makes no difference', async () => {
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (body) => {
      expect(await hashOf(turned(body) as Record<string, unknown>)).toBe(await hashOf(body))
    }),
  )
})

test('two bodies have the same hash only if they are equal', async () => {
  const plain = (body: Record<string, unknown>) =>
    JSON.stringify(
      Object.entries(body)
        .filter(([, value]) => value !== null && value !== '')
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    )
  const body = fc.dictionary(
    fc.constantFrom('a', 'b', 'ab', ''),
    fc.oneof(
      fc.constantFrom('a', 'b', 'ab', '1', 'true'),
      fc.constantFrom(1, true, false, ['a', 'b'], ['ab']),
    ),
  )
  await fc.assert(
    fc.asyncProperty(body, body, async (one, other) => {
      expect((await hashOf(one)) === (await hashOf(other))).toBe(plain(one) === plain(other))
    }),
    { numRuns: 500 },
  )
})

test('operation, path, files and long texts count', async () => {
  const file = (sha256: string): ReceivedFile => ({
    ...{ path: '/nowhere', sizeBytes: 1, filename: undefined, isTruncated: false },
    sha256,
  })
  const withFile = (sha256: string) => hashOf({}, { files: new Map([['file', [file(sha256)]]]) })
  const withText = (mark: string, text: string) =>
    hashOf(
      { text: mark },
      {
        longText: (value) =>
          value === mark
            ? {
                sizeBytes: text.length,
                isWellFormed: true,
                place: { path: '', start: 0, sizeBytes: text.length },
                open: () => Readable.from([Buffer.from(text)]),
                read: async () => text,
              }
            : undefined,
      },
    )
  const hashes = [
    await hashOf({}),
    await hashOf({}, { operation: 'createSpeech' }),
    await hashOf({}, { path: { id: '1' } }),
    await withFile('aa'),
    await withFile('bb'),
    await withText('mark-1', 'long'),
    await withText('mark-1', 'other'),
    await hashOf({ text: 'x'.repeat(600_000) }),
    await hashOf({ text: `${'x'.repeat(599_999)}y` }),
  ]
  expect(new Set(hashes).size).toBe(hashes.length)
  expect(await withText('mark-2', 'long')).toBe(await withText('mark-1', 'long'))
})
