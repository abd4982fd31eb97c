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
import { changeOggPages, delayPackets, removeEditList } from '../../test/durations/packet-times.ts'
import { makeSampleRecordings } from '../../test/durations/sample-recordings.ts'
import { createRandom } from '../../test/durations/seeded-random.ts'
import { mediaPrograms } from '../../test/kit/media-programs.ts'
import { encoded, wave } from '../../test/kit/sound.ts'
import { createMeasureAudio } from './measure-audio.ts'

const count = Number(process.env['DURATIONS'] ?? 200)
const seed = Number(process.env['DURATIONS_SEED'] ?? 1)
/** How many of them an interrupted run has compared already. */
const skipped = Number(process.env['DURATIONS_SKIPPED'] ?? 0)
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

interface Durations {
  /** Undefined if the recording was refused. */
  measured: number | undefined
  /** Undefined if it was not decoded. */
  decoded: number | undefined
}
type Comparison = Durations & Omit<MutatedRecording, 'bytes'>

/** A program that a busy machine did not let finish is started again. */
const triesMax = 10

const measure = async (path: string, tries = 1): Promise<number | undefined> => {
  try {
    return (await measureAudio(path, 'file', (work) => work(signal))).durationSeconds
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.code.startsWith('invalid_')) return undefined
    if (error.code === 'service_unavailable' && tries < triesMax) return measure(path, tries + 1)
    throw error
  }
}

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

const compare = async (folder: string, bytes: Buffer): Promise<Durations> => {
  await mkdir(folder)
  await writeFile(join(folder, 'recording'), bytes)
  const measured = await measure(join(folder, 'recording'))
  const decoded = measured === undefined ? undefined : await decode(folder)
  await rm(folder, { recursive: true })
  return { measured, decoded }
}

const opus = (output: string, parameters: string[] = []) =>
  encoded(wave(3), output, ['-c:a', 'libopus', '-strict', '-2', ...parameters])

/** A page contains a packet of 20 ms. `moved` returns by how many samples the position of a page is changed. */
const movedPages = async (moved: (index: number) => number) => {
  const bytes = await opus('out.ogg', ['-page_duration', '1'])
  return changeOggPages(bytes, (at, index) => {
    bytes.writeBigInt64LE(bytes.readBigInt64LE(at + 6) + BigInt(moved(index)), at + 6)
  })
}
const gapInPages = (seconds: number) => movedPages((index) => (index > 80 ? seconds * 48_000 : 0))
/** The clock of the file has the rate of `wave`. */
const gapInOffsets = async (seconds: number) =>
  delayPackets(removeEditList(await opus('out.mp4')), [...Array<number>(80).fill(0), seconds * 16_000])
const startingLate = () =>
  opus('out.webm', [
    ...['-f', 'lavfi', '-i', 'testsrc=d=5:s=32x32:r=5', '-map', '1:v', '-c:v', 'libvpx'],
    ...['-map', '0:a', '-af', 'asetpts=PTS+2/TB'],
  ])

test.concurrent.each<[string, number, () => Promise<Buffer>]>([
  // ffmpeg replaces the timestamp of such a packet, and then fills the step forward with silence.
  ['packets that step back by 110 ms', 4.5, () => movedPages((index) => (index % 10 === 9 ? -5_280 : 0))],
  ['packets that step back by 20 ms', 3, () => movedPages((index) => (index % 10 === 9 ? -960 : 0))],
  ['a gap of 4 s in Ogg', 7, () => gapInPages(4)],
  // In Ogg, ffmpeg fills only gaps that are shorter than 10 s.
  ['a gap of 9.99 s in Ogg', 13, () => gapInPages(9.99)],
  ['a gap of 10.01 s in Ogg', 3, () => gapInPages(10.01)],
  ['a gap of 2 s in the presentation of MP4', 5, () => gapInOffsets(2)],
  ['a gap of 20 s in the presentation of MP4', 23, () => gapInOffsets(20)],
  ['sound that starts late in WebM', 3, () => startingLate()],
])('Opus with %s is priced for the %d s that are decoded', async (_, seconds, make) => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-timeline-'))
  try {
    const { measured, decoded = 0 } = await compare(join(directory, 'folder'), await make())
    expect(decoded).toBeCloseTo(seconds, 0)
    expect(measured).toBeGreaterThan(decoded - toleranceSeconds)
    expect(measured).toBeLessThan(decoded + toleranceSeconds)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})

// The timeout of most tests is too short for the long form.
const timeout = 900_000 + count * 1_000

test(`${count} recordings are priced for all that is decoded`, { timeout }, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-durations-'))
  const compared: Comparison[] = []
  try {
    const samples = await makeSampleRecordings(directory)
    const random = createRandom(seed)
    let made = 0
    let short = 0
    const compareNext = async () => {
      while (made < count) {
        made += 1
        const folder = join(directory, String(made))
        const { bytes, ...recording } = mutateRecording(random, samples)
        if (made <= skipped) continue
        const { measured, decoded } = await compare(folder, bytes)
        compared.push({ ...recording, measured, decoded })
        const isShort =
          measured !== undefined && decoded !== undefined && decoded > measured + toleranceSeconds
        if (isShort) short += 1
        if (compared.length % 500 === 0)
          process.stdout.write(`${compared.length} recordings, ${short} priced for less than was decoded\n`)
        if (isShort && process.env['DURATIONS_KEEP'] !== undefined)
          await writeFile(join(process.env['DURATIONS_KEEP'], `${made}.${recording.format}`), bytes)
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
