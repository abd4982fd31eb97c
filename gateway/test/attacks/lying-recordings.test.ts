/** A recording that states less than it contains is charged for what a decoder decodes, or refused. */
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { afterAll, beforeAll, describe, expect, test, type TaskMeta } from 'vitest'

import { decodeRecording } from '../../../local/src/recognition/decode-recording.ts'
import { createMeasureAudio } from '../../src/audio/measure-audio.ts'
import { mutate, mutatedUrl, type Mutation } from '../faults/mutation.ts'
import { lyingRecordings, lyingSeconds, twoChunksOfData, twoStreams } from '../kit/lying-recordings.ts'
import { mediaPrograms } from '../kit/media-programs.ts'

const { signal } = new AbortController()
const toleranceSeconds = 0.05
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-lying-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

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
  test.for(Object.entries(lyingRecordings))('%s is not cheaper', async ([name, make], { task }) => {
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

/** Loads the module of a mutated source, whose imports are those of the file. */
const importMutated = async <Module>(mutation: Mutation): Promise<Module> => {
  const source = mutate(mutation).replaceAll(/ from '([^']+)'$/gm, (_, name: string) => {
    const url = name.startsWith('.') ? new URL(name, mutatedUrl(mutation)).href : import.meta.resolve(name)
    return ` from '${url}'`
  })
  const mutated = join(directory, basename(mutation.file))
  await writeFile(mutated, source)
  return (await import(pathToFileURL(mutated).href)) as Module
}

describe('without the check where the data ends', () => {
  test('two chunks of data in WAV are charged as the first', async ({ task }) => {
    const { measureWave } = await importMutated<{
      measureWave: (path: string) => Promise<number | undefined>
    }>({
      file: 'audio/measure-wave.ts',
      find: 'const bytes = sizeBytes - start\n',
      replace: 'const bytes = Math.min(statedBytes, sizeBytes - start)\n',
    })
    const folder = await save(await twoChunksOfData())
    const decoded = await decodedSeconds(folder)
    const charged = (await measureWave(join(folder, 'recording'))) ?? Infinity
    report(task.meta, 'two chunks of data in WAV', charged, decoded)
    expect(charged).toBeLessThan(decoded / 1_000)
  })
})

describe('without the check for several audio streams', () => {
  test('a short and a long audio stream in M4A are charged as the short one', async ({ task }) => {
    const { createMeasureAudio: createMutated } = await importMutated<{
      createMeasureAudio: typeof createMeasureAudio
    }>({
      file: 'audio/measure-audio.ts',
      find: 'if (codecs.length > 1) throw severalStreams(work.param, codecs.length)',
      replace: '',
    })
    const measureAudio = createMutated({ programs: mediaPrograms(), secondsMax: 60 })
    const folder = await save(await twoStreams())
    const { durationSeconds } = await measureAudio(join(folder, 'recording'), 'file', (work) => work(signal))
    // A provider may choose the other stream.
    report(task.meta, 'a short and a long audio stream in M4A', durationSeconds, lyingSeconds)
    expect(durationSeconds).toBeLessThan(lyingSeconds / 10)
  })
})
