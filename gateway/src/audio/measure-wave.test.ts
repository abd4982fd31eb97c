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
})

/** A chunk of a WAV file. */
const chunk = (name: string, bytes: Buffer) => {
  const head = Buffer.alloc(8)
  head.write(name, 'latin1')
  head.writeUInt32LE(bytes.length, 4)
  return Buffer.concat([head, bytes])
}
const [riff, format, samples] = [sound.subarray(0, 12), sound.subarray(20, 36), sound.subarray(44)]
const little = chunk('data', Buffer.alloc(64))

/** A format with a list of the bits that are used of each sample, and a name of the encoding that is longer. */
const extensible = (usedBits: number, encoding: string) => {
  const tail = Buffer.from(`1600${usedBits.toString(16).padStart(2, '0')}0004000000${encoding}`, 'hex')
  const bytes = Buffer.concat([format, tail])
  bytes.writeUInt16LE(0xfffe, 0)
  return bytes
}
const pcmEncoding = '0100000000001000800000aa00389b71'

test('a file whose data a decoder may read differently is left to ffmpeg', async () => {
  const wholes = {
    plain: [chunk('fmt ', format), chunk('data', samples)],
    'a chunk before the data': [
      chunk('LIST', Buffer.alloc(26)),
      chunk('fmt ', format),
      chunk('data', samples),
    ],
    'an extensible format': [chunk('fmt ', extensible(16, pcmEncoding)), chunk('data', samples)],
  }
  for (const chunks of Object.values(wholes)) expect(await measured(Buffer.concat([riff, ...chunks]))).toBe(2)
  const stereo = Buffer.from(format)
  stereo.writeUInt16LE(2, 2)
  stereo.writeUInt16LE(4, 12)
  const others = {
    'two chunks of data': [chunk('fmt ', format), little, chunk('data', samples)],
    'a chunk after the data': [
      chunk('fmt ', format),
      chunk('data', samples),
      chunk('LIST', Buffer.alloc(26)),
    ],
    'data that ends before the file': [chunk('fmt ', format), little, samples],
    'two formats': [chunk('fmt ', format), chunk('fmt ', format), chunk('data', samples)],
    'another chunk': [chunk('fmt ', format), chunk('SMV0', Buffer.alloc(8)), chunk('data', samples)],
    'fewer bits used': [chunk('fmt ', extensible(8, pcmEncoding)), chunk('data', samples)],
    'an unknown encoding': [
      chunk('fmt ', extensible(16, pcmEncoding.replaceAll('8', '9'))),
      chunk('data', samples),
    ],
    'compressed audio inside': [
      chunk('fmt ', stereo),
      chunk('data', Buffer.concat([samples, Buffer.from('72f81f4e', 'hex'), Buffer.alloc(60)])),
    ],
  }
  for (const [name, chunks] of Object.entries(others)) {
    expect([name, await measured(Buffer.concat([riff, ...chunks]))]).toEqual([name, undefined])
  }
})

test('compressed and malformed files are left to ffmpeg', async () => {
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
