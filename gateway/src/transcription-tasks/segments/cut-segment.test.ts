import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { mediaPrograms } from '../../../test/kit/media-programs.ts'
import { createCutSegment } from './cut-segment.ts'
import { levelMs } from './plan-cuts.ts'
import { atRate, createReadLevels } from './read-levels.ts'

const run = promisify(execFile)

// Pitch and loudness change all the time, so that every moment is different.
const sweep =
  "aevalsrc='if(between(mod(t,8),5,6),0,0.4*sin(2*PI*(200*t+8*t*t))*(0.6+0.4*sin(2*PI*0.7*t)))':s=44100:d=16"

let directory: string
let original: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-cut-'))
  original = join(directory, 'original.wav')
  await ffmpeg('-f', 'lavfi', '-i', sweep, original)
})
afterAll(() => rm(directory, { recursive: true, force: true }))

const ffmpeg = async (...given: string[]): Promise<Buffer> => {
  const { stdout } = await run('ffmpeg', ['-v', 'error', '-y', ...given], {
    encoding: 'buffer',
    maxBuffer: 64 * 1_048_576,
  })
  return stdout
}
const samplesOf = async (path: string): Promise<Int16Array> => {
  const bytes = await ffmpeg('-i', path, '-af', atRate(16_000), '-ac', '1', '-f', 's16le', 'pipe:1')
  return new Int16Array(new Uint8Array(bytes).buffer)
}

const lengthMs = 16_000
const cutsMs = [0, 3_500, 9_437, lengthMs]
const segments = cutsMs.slice(1).map((endMs, n) => ({ n, startMs: cutsMs[n] ?? 0, endMs }))

/** The relative difference between a segment and its part of the whole, shifted by at most two milliseconds. */
const differenceOf = (segment: Int16Array, whole: Int16Array, at: number): number => {
  const differenceAt = (lag: number) => {
    let difference = 0
    let energy = 0
    for (let index = 0; index < segment.length; index += 3) {
      const wanted = whole[at + index + lag] ?? 0
      difference += ((segment[index] ?? 0) - wanted) ** 2
      energy += wanted ** 2
    }
    return difference / energy
  }
  return Math.min(...[-32, -16, -8, 0, 8, 16, 32].map(differenceAt))
}

test.each([
  ['mp3', ['-q:a', '4']],
  ['mp3', ['-q:a', '4', '-write_xing', '0']],
  ['mpeg', ['-c:a', 'mp2']],
  ['m4a', ['-b:a', '64k']],
  ['ogg', ['-c:a', 'libopus']],
  ['webm', ['-c:a', 'libopus']],
  ['flac', []],
])('the segments of a recording in %s %j add up to the recording', async (extension, options) => {
  const path = join(directory, `recording.${extension}`)
  await ffmpeg('-i', original, ...options, path)
  const whole = await samplesOf(path)
  const cutSegment = createCutSegment(mediaPrograms())
  for (const segment of segments) {
    const segmentPath = join(directory, 'segment.flac')
    await writeFile(segmentPath, await cutSegment(path, segment))
    const samples = await samplesOf(segmentPath)
    expect(samples.length).toBe((segment.endMs - segment.startMs) * 16)
    // A decoder that starts in the middle needs some time until its output is exact.
    expect(differenceOf(samples, whole, segment.startMs * 16)).toBeLessThan(0.01)
  }
})

test('the header of a segment states its duration, although ffmpeg wrote to a pipe', async () => {
  const segmentPath = join(directory, 'header.flac')
  await writeFile(
    segmentPath,
    await createCutSegment(mediaPrograms())(original, { n: 0, startMs: 1_000, endMs: 4_321 }),
  )
  const { stdout } = await run('ffprobe', [
    ...['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', segmentPath],
  ])
  expect(Number(stdout)).toBeCloseTo(3.321, 3)
})

test('levels show the pauses, from any start position', async () => {
  const path = join(directory, 'levels.mp3')
  await ffmpeg('-i', original, path)
  const readLevels = createReadLevels(mediaPrograms())
  for (const startMs of [0, 4_450]) {
    const found = await readLevels(path, startMs, 60_000)
    expect(Math.abs(startMs + found.lengthMs - lengthMs)).toBeLessThan(60)
    found.levels.forEach((level, index) => {
      const placeMs = (startMs + index * levelMs) % 8_000
      if (placeMs > 5_100 && placeMs < 5_850) expect(level).toBeLessThan(33)
      if (placeMs > 6_100 && placeMs < 7_900) expect(level).toBeGreaterThan(500)
    })
  }
  expect((await readLevels(path, 20_000, 60_000)).lengthMs).toBe(0)
  expect((await readLevels(path, 0, 10_000)).lengthMs).toBe(10_000)
})

test('a file that is not audio is refused before ffmpeg opens it', async () => {
  const path = join(directory, 'list.mp3')
  await writeFile(path, '#EXTM3U\nhttp://127.0.0.1:9/a.mp3\n')
  await expect(createReadLevels(mediaPrograms())(path, 0, 1_000)).rejects.toMatchObject({ code: 1 })
})
