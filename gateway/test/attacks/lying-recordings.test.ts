/** A recording that states less than it contains is charged for what a decoder decodes, or refused. */
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { afterAll, beforeAll, describe, expect, test, type TaskMeta } from 'vitest'

import { decodeRecording } from '../../../local/src/recognition/decode-recording.ts'
import { createMeasureAudio } from '../../src/audio/measure-audio.ts'
import { mutate, type Mutation } from '../faults/mutation.ts'
import { mediaPrograms } from '../kit/media-programs.ts'
import { encoded, wave } from '../kit/sound.ts'

const { signal } = new AbortController()
const toleranceSeconds = 0.05
let directory: string
const sound = wave(13.5)

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-lying-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

/** A first chunk of data with 2 ms, and a second one with all of the sound. */
const twoChunksOfData = async () => {
  const data = sound.subarray(36)
  const little = Buffer.concat([data.subarray(0, 4), Buffer.from([64, 0, 0, 0]), Buffer.alloc(64)])
  return Buffer.concat([sound.subarray(0, 36), little, data])
}

const twoStreams = () => {
  const silence = ['-f', 'lavfi', '-t', '0.3', '-i', 'anullsrc=r=16000:cl=mono', '-map', '1:a', '-map', '0:a']
  return encoded(sound, 'out.m4a', silence)
}

/** A clock that is a hundred times faster, in a file whose durations are all counted by it. */
const fastClock = async () => {
  const bytes = await encoded(sound, 'out.m4a')
  const at = bytes.indexOf('mdhd') + 16
  bytes.writeUInt32BE(bytes.readUInt32BE(at) * 100, at)
  return bytes
}

const recordings = {
  'two chunks of data in WAV': twoChunksOfData,
  'a short and a long audio stream in M4A': twoStreams,
  'a fast clock in M4A': fastClock,
}

const save = async (bytes: Buffer) => {
  const folder = await mkdtemp(join(directory, 'recording-'))
  await writeFile(join(folder, 'recording'), bytes)
  return folder
}

const decodedSeconds = async (folder: string) => {
  const tool = { path: 'ffmpeg', version: '', sandbox: 'none', sandboxProblem: '' } as const
  const task = { tool, folder, recordingName: 'recording', mostSeconds: 60, signal }
  return (await stat(await decodeRecording(task))).size / 32_000
}

const report = (meta: TaskMeta, name: string, charged: number | string, decoded: number) => {
  const line = `lying recording  ${name}: charged for ${charged} s, decoded ${decoded.toFixed(3)} s`
  meta.attack = { line, answers: {}, ownDelayMs: 0 }
}

describe('with default settings', () => {
  const measureAudio = createMeasureAudio({ programs: mediaPrograms(), secondsMax: 60 })
  test.for(Object.entries(recordings))('%s is not cheaper', async ([name, make], { task }) => {
    const folder = await save(await make())
    const decoded = await decodedSeconds(folder)
    const charged = await measureAudio(join(folder, 'recording'), 'file', (work) => work(signal)).then(
      ({ durationSeconds }) => durationSeconds,
      (error: { code?: string }) => (error.code === 'invalid_file_format' ? 'refused, 0' : Number.NaN),
    )
    report(task.meta, name, charged, decoded)
    if (typeof charged === 'number') expect(charged).toBeGreaterThan(decoded - toleranceSeconds)
  })
})

describe('without the check where the data ends', () => {
  test('two chunks of data in WAV are charged as the first', async ({ task }) => {
    const mutation: Mutation = {
      file: 'audio/measure-wave.ts',
      find: 'const bytes = sizeBytes - start\n',
      replace: 'const bytes = Math.min(statedBytes, sizeBytes - start)\n',
    }
    const mutated = join(directory, 'measure-wave.ts')
    await writeFile(mutated, mutate(mutation))
    const { measureWave } = (await import(pathToFileURL(mutated).href)) as {
      measureWave: (path: string) => Promise<number | undefined>
    }
    const folder = await save(await twoChunksOfData())
    const decoded = await decodedSeconds(folder)
    const charged = (await measureWave(join(folder, 'recording'))) ?? Infinity
    report(task.meta, 'two chunks of data in WAV', charged, decoded)
    expect(charged).toBeLessThan(decoded / 1_000)
  })
})
