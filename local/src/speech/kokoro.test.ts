import { afterAll, beforeAll, expect, test } from 'vitest'

import { childPrograms } from '../../test/kit/child-programs.ts'
import { bytesOf, decode, levelOf, probe, secondsOf } from '../../test/kit/listen.ts'
import { modelDirectory, onlySets } from '../../test/kit/model-directory.ts'
import { nearestVoices } from '../../test/kit/nearest-voices.ts'
import { createSpeech, type Speech, type SpokenText } from './speech.ts'
import { voices } from './voices.ts'

const never = new AbortController().signal
const directory = modelDirectory('onnxruntime', 'kokoro', 'kokoro-voices')
const sentence = 'Nobody had told the gardener, who was busy with his roses that day. '
let modelPid = 0
const events: string[] = []
let speech: Speech

beforeAll(async () => {
  speech = createSpeech({
    directory: onlySets(directory, 'onnxruntime', 'kokoro', 'kokoro-voices'),
    ffmpegPath: 'ffmpeg',
    espeakPath: '/usr/bin/espeak-ng',
    log: (event, fields) => {
      events.push(event)
      if (event === 'local.model_started') modelPid = fields['pid'] as number
    },
    idleMs: 3000,
  })
  // The first clause loads the weights.
  await say('Yes.')
})
afterAll(async () => {
  await speech.close()
})

async function begin(input: string, signal = never): Promise<SpokenText> {
  return await speech.speak({ input, voice: 'nova', format: 'wav', speed: 1 }, signal)
}

async function say(input: string, voice = 'nova', format = 'pcm', speed = 1): Promise<Buffer> {
  return await bytesOf((await speech.speak({ input, voice, format, speed }, never)).stream)
}

test('the voices are distinguishable and about equally loud', async () => {
  const sounds = new Map<string, Float32Array>()
  for (const name of voices.keys()) sounds.set(name, await decode(await say('We met at noon.', name), 'pcm'))
  const nearest = nearestVoices(sounds)
  process.stdout.write(`kokoro: nearest voices ${nearest.pair} at ${nearest.distance.toFixed(1)}\n`)
  expect(nearest.distance, nearest.pair).toBeGreaterThan(2)
  const levels = [...sounds.values()].map(levelOf)
  process.stdout.write(
    `kokoro: levels ${Math.min(...levels).toFixed(3)} to ${Math.max(...levels).toFixed(3)}\n`,
  )
  expect(Math.max(...levels) / Math.min(...levels)).toBeLessThan(2)
})

test('clauses join without clicks, clipping or long gaps', async () => {
  const sound = await decode(
    await say('Good morning, everybody, and welcome to all of the others. We begin.'),
    'pcm',
  )
  const loudest = sound.reduce((peak, value) => Math.max(peak, Math.abs(value)), 0)
  expect(loudest).toBeGreaterThan(0.1)
  expect(loudest).toBeLessThan(0.99)
  expect(longestSilence(sound)).toBeLessThan(0.6)
  expect(Math.abs(sound[0]!)).toBeLessThan(0.01)
  expect(Math.abs(sound.at(-1)!)).toBeLessThan(0.01)
})

test('the output has the requested format and speed', async () => {
  const seconds = await secondsOf(await say('It is a long way home.'), 'pcm')
  const half = await say('It is a long way home.', 'nova', 'flac', 0.5)
  expect(await probe(half, 'flac')).toMatchObject({ codec_name: 'flac', sample_rate: '24000', channels: 1 })
  expect(Math.abs((await secondsOf(half, 'flac')) / 2 / seconds - 1)).toBeLessThan(0.05)
})

test('aborting a text ends all processes but the model, which serves the next text', async () => {
  const stop = new AbortController()
  const { stream } = await begin(sentence.repeat(50), stop.signal)
  events.length = 0
  stop.abort()
  expect((await say('Yes.')).length).toBeGreaterThan(10_000)
  expect(stream.destroyed).toBe(true)
  expect(events).toEqual([])
  await expect.poll(() => childPrograms().filter((name) => /ffmpeg|espeak|bwrap/u.test(name))).toEqual([])
})

test('a client that reads nothing does not block others', async () => {
  const { stream } = await begin(sentence.repeat(50))
  expect((await say('Yes.')).length).toBeGreaterThan(10_000)
  stream.destroy()
})

test('a process that dies fails its text, and the next text is spoken', async () => {
  const { stream } = await begin(sentence.repeat(50))
  process.kill(modelPid, 'SIGKILL')
  await expect(bytesOf(stream)).rejects.toThrow(/ended with signal SIGKILL/u)
  expect((await say('Yes.')).length).toBeGreaterThan(10_000)
})

test('an idle model process ends', async () => {
  events.length = 0
  await say('Yes.')
  await expect.poll(() => events).toContain('local.model_ended')
})

function longestSilence(sound: Float32Array): number {
  let longest = 0
  let since = 0
  for (const [place, value] of sound.entries()) {
    if (Math.abs(value) > 0.003) since = place
    longest = Math.max(longest, place - since)
  }
  return longest / 24_000
}
