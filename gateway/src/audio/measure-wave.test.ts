import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { encoded, wave } from '../../test/kit/sound.ts'
import { measureWave } from './measure-wave.ts'

let directory: string
let count = 0

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-wave-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

const measured = async (bytes: Buffer) => {
  count += 1
  const path = join(directory, `recording-${count}`)
  await writeFile(path, bytes)
  return measureWave(path)
}

const sound = wave(2)

test.each([
  ['pcm_u8', ['-ar', '8000']],
  ['pcm_s16le', ['-ac', '2', '-ar', '44100']],
  ['pcm_s24le', ['-ar', '48000']],
  ['pcm_s32le', ['-ac', '6']],
  ['pcm_f32le', ['-ar', '24000']],
  ['pcm_f64le', []],
])('%s %j', async (codec, parameters) => {
  const bytes = await encoded(sound, 'out.wav', ['-c:a', codec, ...parameters])
  expect(await measured(bytes)).toBeCloseTo(2, 3)
})

test('the duration follows from the data that is there, not from a larger length in the header', async () => {
  expect(await measured(sound.subarray(0, 44 + 16_000))).toBe(0.5)
  for (const stated of [0, 0xffffffff]) {
    const streamed = Buffer.from(sound)
    streamed.writeUInt32LE(stated, 40)
    expect(await measured(streamed)).toBe(2)
  }
  const shorter = Buffer.from(sound)
  shorter.writeUInt32LE(32_000, 40)
  expect(await measured(shorter)).toBe(1)
})

test('compressed and malformed files are left to ffprobe', async () => {
  expect(await measured(await encoded(sound, 'out.wav', ['-c:a', 'adpcm_ms']))).toBeUndefined()
  expect(await measured(sound.subarray(0, 44))).toBeUndefined()
  expect(await measured(Buffer.alloc(0))).toBeUndefined()
  const withoutRate = Buffer.from(sound)
  withoutRate.writeUInt32LE(0, 24)
  expect(await measured(withoutRate)).toBeUndefined()
})

test('arbitrary bytes never throw, and never give a duration longer than the file allows', async () => {
  const head = fc.uint8Array({ minLength: 0, maxLength: 200 })
  await fc.assert(
    fc.asyncProperty(fc.boolean(), head, async (isWave, bytes) => {
      const file = Buffer.concat([isWave ? sound.subarray(0, 12) : Buffer.alloc(0), bytes])
      expect((await measured(file)) ?? 0).toBeLessThanOrEqual(file.length / 1_000)
    }),
    { numRuns: 200 },
  )
})
