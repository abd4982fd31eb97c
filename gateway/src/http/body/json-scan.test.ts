import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createJsonScan, type ScanLimits } from './json-scan.ts'
import { createTextSpool, type TextSpool } from './spooled-text.ts'

let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-scan-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

const small: ScanLimits = {
  depthMax: 32,
  membersMax: 1_000,
  textBytesMax: 12,
  bufferedBytesHigh: 1_000,
  textBytesMaxWhenHigh: 4,
  bufferedBytesMax: 100_000,
}

/** The document with every placeholder replaced by its long text. */
const restored = async (spool: TextSpool, value: unknown): Promise<unknown> => {
  const text = spool.find(value)
  if (text !== undefined) return text.read()
  if (Array.isArray(value)) return Promise.all(value.map((each) => restored(spool, each)))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(async ([name, each]) => [name, await restored(spool, each)])
  return Object.fromEntries((await Promise.all(members)) as [string, unknown][])
}

const scanned = async <Result>(
  chunks: Buffer[],
  work: (spool: TextSpool, remainder: Buffer) => Promise<Result>,
  limits?: ScanLimits,
): Promise<Result> => {
  const spool = createTextSpool(directory)
  try {
    const scan = createJsonScan(spool, limits)
    for (const chunk of chunks) await scan.take(chunk)
    await spool.finish()
    return await work(spool, scan.remainder())
  } finally {
    await spool.discard()
  }
}

const read = (chunks: Buffer[], limits?: ScanLimits) =>
  scanned(chunks, (spool, remainder) => restored(spool, JSON.parse(remainder.toString('utf8'))), limits)

const cut = (bytes: Buffer, borders: number[]): Buffer[] => {
  const places = [0, ...borders.map((border) => border % (bytes.length + 1)), bytes.length].toSorted(
    (a, b) => a - b,
  )
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end))
}

/** Serialises a value, with some characters escaped at random although they need not be. */
const written = (value: unknown, next: () => number): string => {
  if (Array.isArray(value)) return `[${value.map((each) => written(each, next)).join(' , ')}]`
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(
      ([name, each]) => `${written(name, next)}: ${written(each, next)}`,
    )
    return `{${members.join(',\n')}}`
  }
  if (typeof value !== 'string') return JSON.stringify(value)
  const units = Array.from({ length: value.length }, (_, index) => {
    const unit = value.charAt(index)
    if (next() % 3 === 0) {
      const hex = unit.charCodeAt(0).toString(16).padStart(4, '0')
      return `\\u${next() % 2 === 0 ? hex : hex.toUpperCase()}`
    }
    // A lone surrogate would be serialised as an escape sequence.
    if (unit === '/' && next() % 2 === 0) return '\\/'
    return /[\ud800-\udfff]/.test(unit) ? unit : JSON.stringify(unit).slice(1, -1)
  })
  return `"${units.join('')}"`
}

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({
    unit: fc.constantFrom('"', '\\', '/', '\n', '\t', '\u0001', 'é', '😀', '{', ']', ',', ':'),
    maxLength: 60,
  }),
  fc.base64String({ maxLength: 80 }),
)
const { document } = fc.letrec<{ document: unknown; value: unknown }>((tie) => ({
  document: fc.dictionary(fc.string({ maxLength: 30 }), tie('value'), { maxKeys: 5 }),
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(true, false, null),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('document'),
  ),
}))

test('any document, split anywhere, is read as JSON.parse reads it', async () => {
  await fc.assert(
    fc.asyncProperty(
      document,
      fc.array(fc.nat(), { maxLength: 30 }),
      fc.array(fc.nat(), { minLength: 1, maxLength: 20 }),
      async (value, borders, choices) => {
        let index = 0
        const json = written(value, () => choices[index++ % choices.length] ?? 0)
        // A pair of which only one half is escaped cannot be sent as UTF-8.
        fc.pre(json.isWellFormed())
        expect(await read(cut(Buffer.from(json), borders), small)).toEqual(JSON.parse(json))
      },
    ),
    { numRuns: 400 },
  )
})

test('a document may be split between any two bytes', async () => {
  const json = String.raw`{"a":"plain text that is long","b":["\ud83d\ude00\u00e9\/\\\"\b\f\n\r\t tail and more"],"a":"second of its name, long"}`
  const bytes = Buffer.from(json)
  for (let border = 0; border <= bytes.length; border += 1) {
    expect(await read(cut(bytes, [border]), small)).toEqual(JSON.parse(json))
  }
  expect(
    await read(
      [...bytes].map((byte) => Buffer.from([byte])),
      small,
    ),
  ).toEqual(JSON.parse(json))
})

test('a text of up to 64 KiB stays in memory, a longer one is spooled, and a name is never spooled', async () => {
  const texts = [64 * 1024, 64 * 1024 + 1, 3 * 1024 * 1024].map((length) => 'x'.repeat(length))
  const name = 'n'.repeat(70_000)
  const json = Buffer.from(JSON.stringify({ texts, [name]: 1 }))
  const borders = Array.from({ length: 60 }, (_, index) => index * 65_536)
  await scanned(cut(json, borders), async (spool, remainder) => {
    const found = JSON.parse(remainder.toString()) as { texts: string[] }
    expect(found.texts[0]).toBe(texts[0])
    expect(found.texts.map((each) => spool.find(each)?.sizeBytes)).toEqual([
      undefined,
      64 * 1024 + 1,
      3 * 1024 * 1024,
    ])
    expect(Object.keys(found)).toEqual(['texts', name])
    expect(await restored(spool, found)).toEqual({ texts, [name]: 1 })
  })
  expect(await readdir(directory)).toEqual([])
})

test('a text that looks like a placeholder is read as a text', async () => {
  const forged = 'long-text-00000000-0000-4000-8000-000000000000-0'
  await scanned(
    [Buffer.from(JSON.stringify({ forged, long: 'x'.repeat(70_000) }))],
    async (spool, remainder) => {
      const found = JSON.parse(remainder.toString()) as { forged: string; long: string }
      expect(found.forged).toBe(forged)
      expect(spool.find(forged)).toBeUndefined()
      expect(spool.find(found.long)?.sizeBytes).toBe(70_000)
    },
  )
})

test('a spooled text can be read from any position and repeatedly', async () => {
  const long = 'abcdefghij'.repeat(10_000)
  await scanned([Buffer.from(JSON.stringify({ long }))], async (spool, remainder) => {
    const spooled = spool.find((JSON.parse(remainder.toString()) as { long: string }).long)
    for (const start of [0, 7, 99_999, 100_000]) {
      const parts: Buffer[] = []
      for await (const part of (spooled?.open(start) ?? []) as AsyncIterable<Buffer>) parts.push(part)
      expect(Buffer.concat(parts).toString()).toBe(long.slice(start))
    }
  })
})

test('a lone surrogate is reported and reads as a replacement character', async () => {
  const halves = [
    String.raw`\ud83d`,
    String.raw`\ude00`,
    String.raw`\ud83d\ud83d\ude00`,
    String.raw`\ud83d\n`,
  ]
  for (const half of halves) {
    for (const tail of ['', ' and so on, at length']) {
      const json = `{"a":"a text long enough ${half}${tail}"}`
      const whole = (JSON.parse(json) as { a: string }).a
      await scanned(
        [...Buffer.from(json)].map((byte) => Buffer.from([byte])),
        async (spool, remainder) => {
          const spooled = spool.find((JSON.parse(remainder.toString()) as { a: string }).a)
          expect(spooled?.isWellFormed).toBe(false)
          expect(await spooled?.read()).toBe(whole.toWellFormed())
        },
        small,
      )
    }
  }
  expect(await read([Buffer.from(String.raw`{"a":"long enough to go \ud83d\ude00"}`)], small)).toEqual({
    a: 'long enough to go 😀',
  })
})

test('invalid UTF-8 is read as JSON.parse reads the text with replacement characters', async () => {
  const bytes = Buffer.concat([
    Buffer.from('{"a":"some text \xff'),
    Buffer.from([0xff, 0xe2, 0x82]),
    Buffer.from('","b":"'),
    Buffer.from([0xc3]),
    Buffer.from('"}'),
  ])
  expect(await read([bytes], small)).toEqual(JSON.parse(bytes.toString('utf8')))
})

test.each([
  ['a control character', '{"a":"a text that is long\u0001 enough"}'],
  ['a line break', '{"a":"a text that is long\nenough"}'],
  ['an invalid escape sequence', String.raw`{"a":"a text that is long\x enough"}`],
  ['invalid hex digits', String.raw`{"a":"a text that is long\u00g0 enough"}`],
])('%s in a long text is refused', async (_, json) => {
  expect(() => JSON.parse(json) as unknown).toThrow()
  await expect(read([Buffer.from(json)], small)).rejects.toMatchObject({ code: 'invalid_request' })
})

test.each([
  ['cut off in a long text', '{"a":"a text that is long enough'],
  ['cut off in an escape', String.raw`{"a":"a text that is long enough\u00`],
  ['cut off before its end', '{"a":"a text that is long enough"'],
  ['unmatched closing brackets', '{"a":"a text that is long enough"}}]'],
  ['two texts in a row', '{"a":"a text that is long enough" "another text that is long"}'],
])('JSON with this defect is refused: %s', async (_, json) => {
  await expect(read([Buffer.from(json)], small)).rejects.toThrow(SyntaxError)
})

test('excessive depth, members and size are refused before they are buffered', async () => {
  const nested = (depth: number) => Buffer.from(`${'['.repeat(depth)}${']'.repeat(depth)}`)
  await expect(read([nested(32)])).resolves.toBeDefined()
  await expect(read([nested(33)])).rejects.toMatchObject({ code: 'invalid_request' })
  await expect(read([Buffer.from(`[${'1,'.repeat(1_001)}1]`)])).rejects.toMatchObject({
    code: 'invalid_request',
  })
  await expect(read([Buffer.from(`{"a":${' '.repeat(2 * 1024 * 1024)}1}`)])).rejects.toMatchObject({
    code: 'request_too_large',
  })
})

test('many texts just below the limit are not all buffered', async () => {
  const texts = Array.from({ length: 100 }, (_, index) => `${index} ${'y'.repeat(60_000)}`)
  await scanned([Buffer.from(JSON.stringify({ texts }))], async (spool, remainder) => {
    expect(remainder.length).toBeLessThan(1024 * 1024)
    expect(await restored(spool, JSON.parse(remainder.toString()))).toEqual({ texts })
  })
})

test('no step of scanning 25 MB takes nearly as long as parsing it at once', async () => {
  const data = randomBytes(25_000_000).toString('base64')
  const body = Buffer.from(JSON.stringify({ messages: [{ content: [{ input_audio: { data } }] }] }))
  const spool = createTextSpool(directory)
  const scan = createJsonScan(spool)
  // CPU time of this thread, which is independent of the load of the machine.
  const usedMs = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  }
  const parsingMs = usedMs()
  JSON.parse(body.toString('utf8'))
  const wholeMs = usedMs() - parsingMs
  let longestMs = 0
  for (let at = 0; at < body.length; at += 65_536) {
    const chunk = body.subarray(at, at + 65_536)
    const startedMs = usedMs()
    const taking = scan.take(chunk)
    longestMs = Math.max(longestMs, usedMs() - startedMs)
    await taking
  }
  await spool.finish()
  expect(scan.remainder().length).toBeLessThan(200)
  await spool.discard()
  expect(longestMs).toBeLessThan(wholeMs / 2)
})
