import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { chooseRecognition, chooseSpeech, describeEngines, type RecognitionRequirements } from './engines.ts'
import { openModelDirectory } from './model-directory.ts'
import { modelSet, withNeeds, type ModelSetName } from './model-set.ts'

const everyProgram = {
  espeakPath: '/usr/bin/espeak-ng',
  pocketsphinxPath: '/usr/bin/pocketsphinx_continuous',
}
const noProgram = { espeakPath: undefined, pocketsphinxPath: undefined }

let path: string
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'kinora-engines-'))
})
afterEach(() => rm(path, { recursive: true }))

/** A model directory with empty files of the right sizes for these sets. */
const directoryWith = async (...names: ModelSetName[]) => {
  for (const set of withNeeds(names)) {
    for (const { name, bytes } of modelSet(set).files) {
      const file = join(path, set, name)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, '')
      await truncate(file, bytes)
    }
  }
  return openModelDirectory(path)
}

const english: RecognitionRequirements = { language: 'en', task: 'transcribe', needsTimes: false }

test('speech uses the best engine that is present, and needs espeak-ng', async () => {
  expect(chooseSpeech(await directoryWith(), everyProgram)).toEqual({ engine: 'espeak-ng', wanted: 'kokoro' })
  expect(chooseSpeech(await directoryWith('kokoro-small'), everyProgram)).toMatchObject({
    engine: 'kokoro-small',
  })
  const directory = await directoryWith('kokoro')
  expect(chooseSpeech(directory, everyProgram)).toEqual({ engine: 'kokoro', wanted: 'kokoro' })
  expect(chooseSpeech(directory, noProgram)).toEqual({ missing: 'apt-get install espeak-ng' })
})

test('each model has its own engines and uses the best one that is present', async () => {
  const chosenFor = async (model: string, ...names: ModelSetName[]) =>
    chooseRecognition(model, english, await directoryWith(...names), everyProgram)
  expect(await chosenFor('asr-1')).toEqual({ engine: 'pocketsphinx', wanted: 'whisper-small' })
  expect(await chosenFor('asr-1', 'moonshine-tiny')).toMatchObject({ engine: 'pocketsphinx' })
  expect(await chosenFor('asr-large-v3-turbo')).toEqual({
    engine: 'moonshine-tiny',
    wanted: 'moonshine-tiny',
  })
  expect(await chosenFor('asr-large-v3', 'whisper-tiny')).toEqual({
    engine: 'whisper-tiny',
    wanted: 'whisper-small',
  })
  expect(await chosenFor('chat-4o-transcribe', 'whisper-base')).toMatchObject({ engine: 'whisper-base' })
  expect(await chosenFor('asr-1', 'whisper-small')).toMatchObject({ engine: 'whisper-small' })
  expect(await chosenFor('chat-4o-transcribe')).toEqual({ engine: 'whisper-small', wanted: 'whisper-small' })
})

test('timestamps, other languages and translation go only to engines that support them', async () => {
  const directory = await directoryWith('moonshine-tiny')
  const chosen = (requirements: Partial<RecognitionRequirements>) =>
    chooseRecognition('asr-large-v3-turbo', { ...english, ...requirements }, directory, everyProgram)
  const missing = { missing: 'kinora models pull recognition' }
  expect(chosen({ needsTimes: true })).toEqual(missing)
  expect(chosen({ task: 'translate' })).toEqual(missing)
  expect(chosen({ language: 'es' })).toEqual(missing)
  expect(chosen({ language: undefined })).toEqual(missing)
  await directoryWith('whisper-tiny')
  const whisper = { engine: 'whisper-tiny', wanted: 'whisper-base' }
  expect(chosen({ needsTimes: true })).toEqual(whisper)
  expect(chosen({ language: 'es' })).toEqual(whisper)
  expect(chosen({ language: undefined })).toEqual(whisper)
  expect(chosen({ task: 'translate' })).toEqual(whisper)
  await directoryWith('whisper-base')
  const better = { engine: 'whisper-base', wanted: 'whisper-base' }
  expect(chosen({ language: 'es' })).toEqual(better)
  expect(chosen({ language: undefined })).toEqual(better)
})

test('every audio model is described with the command that improves it', async () => {
  const bare = describeEngines(await directoryWith(), noProgram)
  expect(Object.keys(bare).toSorted()).toEqual([
    'asr-1',
    'asr-large-v3',
    'asr-large-v3-turbo',
    'chat-4o-audio-preview',
    'chat-4o-mini-transcribe',
    'chat-4o-mini-tts-2025-12-15',
    'chat-4o-transcribe',
    'ttsB-3.1-flash-tts-preview',
  ])
  expect(bare['ttsB-3.1-flash-tts-preview']).toEqual({
    engine: 'none',
    wanted: 'kokoro',
    quality: 'Does not answer.',
    pull: 'apt-get install espeak-ng && kinora models pull kokoro',
  })
  expect(bare['chat-4o-audio-preview']).toMatchObject({
    engine: 'echo',
    pull: 'kinora models pull tinyllama',
  })

  const english = describeEngines(await directoryWith('moonshine-tiny'), everyProgram)
  expect(english['asr-large-v3-turbo']).toMatchObject({
    engine: 'moonshine-tiny',
    quality: expect.stringMatching(/Other languages, timestamps and translation: not available\.$/),
    pull: 'kinora models pull whisper-base',
  })

  const mixed = describeEngines(await directoryWith('moonshine-tiny', 'whisper-base'), everyProgram)
  const { quality } = modelSet('whisper-base')
  expect(quality).toMatch(/Translates clear sentences; doubtful ones, often short, stay transcriptions\.$/)
  expect(mixed['asr-1']).toMatchObject({ engine: 'whisper-base', quality })
  expect(mixed['asr-large-v3-turbo']).toMatchObject({
    engine: 'moonshine-tiny',
    quality: `${modelSet('moonshine-tiny').quality} Other languages, timestamps and translation: whisper-base. ${quality}`,
  })

  const full = describeEngines(
    await directoryWith('kokoro', 'whisper-tiny', 'whisper-base', 'whisper-small', 'tinyllama'),
    everyProgram,
  )
  expect(Object.entries(full).map(([model, { engine, pull }]) => [model, engine, pull])).toEqual([
    ['asr-1', 'whisper-small', undefined],
    ['asr-large-v3', 'whisper-small', undefined],
    ['asr-large-v3-turbo', 'moonshine-tiny', undefined],
    ['chat-4o-mini-transcribe', 'moonshine-tiny', undefined],
    ['chat-4o-transcribe', 'whisper-small', undefined],
    ['chat-4o-mini-tts-2025-12-15', 'kokoro', undefined],
    ['ttsB-3.1-flash-tts-preview', 'kokoro', undefined],
    ['chat-4o-audio-preview', 'tinyllama', undefined],
  ])
})
