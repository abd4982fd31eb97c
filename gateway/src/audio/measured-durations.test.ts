/**
 * No recording is priced for less than the built-in provider decodes. `npm run prove:durations` compares 10,000
 * recordings.
 */
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { ApiError } from '@kinora/contract/errors'
import { expect, test } from 'vitest'

import { decodeRecording } from '../../../local/src/recognition/decode-recording.ts'
import { mutateRecording, type MutatedRecording } from '../../test/durations/mutate-recording.ts'
import { makeSampleRecordings } from '../../test/durations/sample-recordings.ts'
import { createRandom } from '../../test/durations/seeded-random.ts'
import { mediaPrograms } from '../../test/kit/media-programs.ts'
import { createMeasureAudio } from './measure-audio.ts'

const count = Number(process.env['DURATIONS'] ?? 200)
const seed = Number(process.env['DURATIONS_SEED'] ?? 1)
const atOnce = 3
const secondsMax = 300
const mostSeconds = 2 * secondsMax
const bytesPerSecond = 32_000
/** Rounding to a millisecond, and the last samples of a filter. */
const toleranceSeconds = 0.05

// Without the sandbox, which only makes it slower.
const programs = { ...mediaPrograms(), findSandbox: async () => undefined }
const measureAudio = createMeasureAudio({ programs, secondsMax, cpuSecondsMaxOf: () => 120 })
const tool = { path: 'ffmpeg', version: '', sandbox: 'none', sandboxProblem: '' } as const
const { signal } = new AbortController()

interface Comparison extends Omit<MutatedRecording, 'bytes'> {
  /** Undefined if the recording was refused. */
  measured: number | undefined
  /** Undefined if it was not decoded. */
  decoded: number | undefined
}

const measure = (path: string): Promise<number | undefined> =>
  measureAudio(path, 'file', (work) => work(signal)).then(
    ({ durationSeconds }) => durationSeconds,
    (error: unknown) => {
      if (error instanceof ApiError && error.code.startsWith('invalid_')) return undefined
      throw error
    },
  )

const decode = async (folder: string): Promise<number | undefined> => {
  const task = { tool, folder, recordingName: 'recording', mostSeconds, signal }
  try {
    return (await stat(await decodeRecording(task))).size / bytesPerSecond
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error
    // It also refuses a recording whose header states a longer duration, before it has decoded any of it.
    const { size } = await stat(join(folder, 'samples.s16'))
    return size > 0.9 * mostSeconds * bytesPerSecond ? Infinity : undefined
  }
}

// The timeout of most tests is too short for the long form.
const timeout = 900_000 + count * 1_000

test(`${count} recordings are priced for all that is decoded`, { timeout }, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-durations-'))
  const compared: Comparison[] = []
  try {
    const samples = await makeSampleRecordings(directory)
    const random = createRandom(seed)
    let made = 0
    const compareNext = async () => {
      while (made < count) {
        made += 1
        const folder = join(directory, String(made))
        const { bytes, ...recording } = mutateRecording(random, samples)
        await mkdir(folder)
        await writeFile(join(folder, 'recording'), bytes)
        const measured = await measure(join(folder, 'recording'))
        const decoded = measured === undefined ? undefined : await decode(folder)
        compared.push({ ...recording, measured, decoded })
        if (compared.length % 500 === 0) process.stdout.write(`${compared.length} recordings\n`)
        const isShort =
          measured !== undefined && decoded !== undefined && decoded > measured + toleranceSeconds
        if (isShort && process.env['DURATIONS_KEEP'] !== undefined)
          await writeFile(join(process.env['DURATIONS_KEEP'], `${made}.${recording.format}`), bytes)
        await rm(folder, { recursive: true })
      }
    }
    await Promise.all(Array.from({ length: atOnce }, compareNext))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
  const both = compared.flatMap(({ measured, decoded, ...rest }) =>
    measured === undefined || decoded === undefined ? [] : { ...rest, measured, decoded },
  )
  const over = both.filter(({ measured, decoded }) => measured > decoded + toleranceSeconds)
  process.stdout.write(
    `${compared.length} recordings: ${both.length} decoded, ${compared.filter(({ measured }) => measured === undefined).length} refused, ` +
      `${over.length} priced for more than was decoded\n`,
  )
  // Most changed recordings are decoded; otherwise nothing would be compared.
  const changed = compared.filter(({ isChanged }) => isChanged)
  expect(both.filter(({ isChanged }) => isChanged).length).toBeGreaterThan(changed.length / 4)
  expect(both.filter(({ measured, decoded }) => decoded > measured + toleranceSeconds)).toEqual([])
  // Honest recordings are all accepted, and not priced for more.
  const honest = compared.filter(({ isChanged }) => !isChanged)
  expect(honest.length).toBeGreaterThan(0)
  expect(honest.filter(({ decoded }) => decoded === undefined)).toEqual([])
  expect(over.filter(({ isChanged }) => !isChanged)).toEqual([])
})
