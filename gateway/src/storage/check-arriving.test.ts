import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createArrivingCheck } from './check-arriving.ts'
import { probeMp4 } from './probe-mp4.ts'

const run = promisify(execFile)
const sample = fileURLToPath(new URL('../../../dev/vendor/sample.mp4', import.meta.url))
let directory: string
let tablesFirst: Buffer
let tablesLast: Buffer

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-arriving-'))
  // With sound, whose packets are between those of the video.
  const input = ['-i', sample, '-f', 'lavfi', '-i', 'sine=duration=2', '-map', '0:v', '-map', '1:a']
  const convert = async (name: string, options: string[]) => {
    const path = join(directory, name)
    await run('ffmpeg', ['-v', 'error', ...input, '-c:v', 'copy', '-c:a', 'aac', ...options, path])
    return readFile(path)
  }
  tablesFirst = await convert('tables-first.mp4', ['-movflags', '+faststart'])
  tablesLast = await convert('tables-last.mp4', [])
})
afterAll(() => rm(directory, { recursive: true, force: true }))

/** The last size is repeated. */
const checkInChunks = (bytes: Buffer, sizes: number[]): boolean | undefined => {
  const check = createArrivingCheck()
  for (let at = 0, index = 0; at < bytes.length; index += 1) {
    const size = sizes[Math.min(index, sizes.length - 1)] ?? 1
    check.add(bytes.subarray(at, at + size))
    at += size
  }
  return check.packetsAreIntact()
}

test('packets after their tables are intact, however the file is divided', () => {
  for (const size of [1, 2, 3, 7, 64, 1_000, 65_536, tablesFirst.length])
    expect(checkInChunks(tablesFirst, [size]), `chunks of ${size} bytes`).toBe(true)
})

test('packets before their tables are not checked', () => {
  expect(checkInChunks(tablesLast, [1_000])).toBeUndefined()
  expect(checkInChunks(Buffer.from('not a video'), [1_000])).toBeUndefined()
  expect(checkInChunks(Buffer.alloc(0), [1_000])).toBeUndefined()
})

test('a truncated file is damaged', () => {
  const packets = tablesFirst.indexOf('mdat')
  for (const length of [packets + 4, packets + 1_000, packets + 10_000])
    expect(checkInChunks(tablesFirst.subarray(0, length), [777])).toBe(false)
})

test('it finds what the check of the file finds, in any file and however it is divided', async () => {
  const path = join(directory, 'changed.mp4')
  const changed = fc.record({
    at: fc.integer({ min: 8, max: tablesFirst.length - 1 }),
    length: fc.constantFrom(1, 4, 100, 1_000),
    to: fc.constantFrom(0, 0, 0, 1, 255),
  })
  const divided = fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(fc.array(changed, { maxLength: 5 }), divided, async (changes, sizes) => {
      const bytes = Buffer.from(tablesFirst)
      for (const { at, length, to } of changes) bytes.fill(to, at, Math.min(bytes.length, at + length))
      await writeFile(path, bytes)
      const tables = await probeMp4(path)
      const expected = (await probeMp4(path, { checksPackets: true })) !== undefined
      const found = checkInChunks(bytes, sizes)
      // Without playable tables the packets do not matter.
      if (tables !== undefined && tables !== 'not-mp4' && found !== undefined) expect(found).toBe(expected)
    }),
    { numRuns: 300 },
  )
})

test('zeroed parts are found wherever chunks end', () => {
  const first = tablesFirst.indexOf('mdat') + 8
  for (let size = 20; size < 200; size += 13) {
    const bytes = Buffer.from(tablesFirst).fill(0, first + 500, first + 700)
    expect(checkInChunks(bytes, [size])).toBe(false)
  }
})
