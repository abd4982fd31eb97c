import { copyFile, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { probeMp4 } from './probe-mp4.ts'

const sample = fileURLToPath(new URL('../../../dev/vendor/sample.mp4', import.meta.url))
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-probe-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

test('a complete MP4 gives its dimensions and duration', async () => {
  expect(await probeMp4(sample)).toEqual({ width: 320, height: 240, durationMs: 2000 })
})

test('a truncated MP4 is not a video', async () => {
  const { length } = await readFile(sample)
  const file = join(directory, 'cut.mp4')
  for (const bytes of [100, 1_000, Math.floor(length / 2), length - 1]) {
    await copyFile(sample, file)
    await truncate(file, bytes)
    expect(await probeMp4(file)).toBeUndefined()
  }
})

test('other files are left to ffprobe', async () => {
  const file = join(directory, 'other')
  for (const content of ['', 'not a video', '#EXTM3U\n/etc/passwd', '\x1aE\xdf\xa3 matroska']) {
    await writeFile(file, content, 'latin1')
    expect(await probeMp4(file)).toBe('not-mp4')
  }
})

test('a corrupted MP4 never throws', async () => {
  const original = await readFile(sample)
  const file = join(directory, 'changed.mp4')
  const change = fc.record({
    at: fc.integer({ min: 8, max: original.length - 1 }),
    to: fc.integer({ min: 0, max: 255 }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 20 }), async (changes) => {
      const bytes = Buffer.from(original)
      for (const { at, to } of changes) bytes[at] = to
      await writeFile(file, bytes)
      await probeMp4(file, { checksPackets: true })
    }),
    { numRuns: 300 },
  )
})

test('packets with zeroed parts are damaged, wherever they are', async () => {
  const original = await readFile(sample)
  const file = join(directory, 'zeroed.mp4')
  expect(await probeMp4(sample, { checksPackets: true })).toEqual(await probeMp4(sample))
  const first = original.indexOf('mdat') + 8
  for (let at = first; at + 1_000 < original.length; at += 1_000) {
    const bytes = Buffer.from(original)
    if (bytes.subarray(at, at + 1_000).includes('moov')) break
    await writeFile(file, bytes.fill(0, at, at + 1_000))
    expect(await probeMp4(file)).toBeDefined()
    expect(await probeMp4(file, { checksPackets: true })).toBeUndefined()
  }
})
