/** Speaks sentences and recognizes them again. Checks words, pauses and speed. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { bytesOf, decode, median, silencesOf, type Silence } from '../../test/kit/listen.ts'
import { modelDirectory } from '../../test/kit/model-directory.ts'
import { sentences } from '../../test/kit/sentences.ts'
import { wordErrorRate } from '../../test/kit/word-errors.ts'
import { findPrograms } from '../ffmpeg/programs.ts'
import type { Recognition } from '../recognition/recognition-result.ts'
import { createRecognition, type Recogniser } from '../recognition/recognition.ts'
import { joiningWords } from './clauses.ts'
import { createSpeech, type Speech } from './speech.ts'

/** Speed is checked only on an otherwise idle machine, as in `npm run prove:sound`. */
const isFull = process.env['PROVE_SOUND'] === 'full'
const spokenHere = isFull ? sentences : [sentences[3]!]
const recognizedBy = isFull ? ['asr-1', 'asr-large-v3-turbo'] : ['asr-large-v3-turbo']
/** A stop, such as the two in "built by", lasts up to 150 ms. */
const breakSeconds = 0.18
const mostErrors = 0.05
const firstByteMostMs = 1500
const leastSpeedFactor = 1

const directory = modelDirectory(
  ...(['onnxruntime', 'kokoro', 'kokoro-voices'] as const),
  ...(['silero-vad', 'moonshine-tiny', 'whisper-tiny', 'whisper-base'] as const),
)
const never = new AbortController().signal

let folder: string
let speech: Speech
let recogniser: Recogniser
let modelPid = 0

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kinora-sentences-'))
  const programs = await findPrograms()
  speech = createSpeech({
    directory,
    ffmpegPath: 'ffmpeg',
    espeakPath: programs.espeakPath,
    log: (event, fields) => {
      if (event === 'local.model_started') modelPid = fields['pid'] as number
    },
  })
  recogniser = createRecognition({ directory, programs, ffmpegPath: 'ffmpeg', log: () => {} })
  await bytesOf((await speak('Yes.')).stream)
})
afterAll(async () => {
  await Promise.all([speech.close(), recogniser.close()])
  await rm(folder, { recursive: true, force: true })
})

async function speak(input: string) {
  return await speech.speak({ input, voice: 'nova', format: 'mp3', speed: 1 }, never)
}

/** CPU time of the model's process. */
async function processorSeconds(): Promise<number> {
  const fields = (await readFile(`/proc/${modelPid}/stat`, 'utf8')).split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

async function transcribe(model: string, file: string, wantsWords = false): Promise<Recognition> {
  const order = { path: file, model, task: 'transcribe', language: 'en', temperature: 0 } as const
  const events = recogniser.recognise({ ...order, wantsSegments: false, wantsWords }, never)
  for (;;) {
    const next = await events.next()
    if (next.done === true) return next.value
  }
}

/** Words that precede a break although neither punctuation nor a new part of the sentence follows. */
async function wronglyBroken(sentence: string, file: string, breaks: Silence[]): Promise<string[]> {
  const signs = sentence.slice(0, -1).match(/[,;:]/gu)?.length ?? 0
  // There are no more breaks than punctuation marks, so their positions need not be checked.
  if (breaks.length <= signs) return []
  const { words = [] } = await transcribe('asr-1', file, true)
  return breaks.flatMap(({ startSeconds, endSeconds }) => {
    const middle = (startSeconds + endSeconds) / 2
    const next = words.findIndex(({ start, end }) => (start + end) / 2 > middle)
    const [before, after] = [words[next - 1]?.word ?? '', words[next]?.word ?? '']
    const isNatural = /[,;:]$/u.test(before) || joiningWords.includes(after.toLowerCase())
    return isNatural ? [] : [`${before} | ${after}`]
  })
}

test(`${spokenHere.length} sentences are spoken and recognized again`, async () => {
  const rates = new Map<string, number[]>(recognizedBy.map((model) => [model, []]))
  const rows: { seconds: number; wall: number; cpu: number; firstByte: number; wrong: string[] }[] = []
  for (const [place, sentence] of spokenHere.entries()) {
    const [begun, cpuBefore] = [performance.now(), await processorSeconds()]
    const { stream } = await speak(sentence)
    const firstByte = performance.now() - begun
    const bytes = await bytesOf(stream)
    const wall = (performance.now() - begun) / 1000
    const cpu = (await processorSeconds()) - cpuBefore
    const sound = await decode(bytes, 'mp3')
    const silences = silencesOf(sound)
    const lengths = silences.map(({ startSeconds, endSeconds }) => endSeconds - startSeconds)
    const breaks = silences.filter((_, index) => lengths[index]! >= breakSeconds)
    const file = path.join(folder, `${place}.mp3`)
    await writeFile(file, bytes)
    const wrong = await wronglyBroken(sentence, file, breaks)
    rows.push({ seconds: sound.length / 24_000, wall, cpu, firstByte, wrong })
    for (const model of recognizedBy) {
      const { text: heard } = await transcribe(model, file)
      const rate = wordErrorRate(american(sentence), american(heard))
      rates.get(model)!.push(rate * sentence.split(' ').length)
      if (rate > 0) process.stdout.write(`  ${model}: said "${sentence}" heard "${heard}"\n`)
    }
    const { seconds } = rows.at(-1)!
    process.stdout.write(
      `${sentence.length} characters, ${seconds.toFixed(1)} s: first byte ${firstByte.toFixed(0)} ms, ` +
        `${(seconds / wall).toFixed(2)} x real time, ${(cpu / seconds).toFixed(2)} CPU s/s, ` +
        `${breaks.length} breaks, the longest silence ${Math.max(0, ...lengths).toFixed(2)} s\n`,
    )
  }
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)
  const words = sum(spokenHere.map((sentence) => sentence.split(' ').length))
  const errors = [...rates].map(([model, wrong]) => ({ model, rate: sum(wrong) / words }))
  const seconds = sum(rows.map((row) => row.seconds))
  const speedFactor = seconds / sum(rows.map((row) => row.wall))
  const firstBytes = rows.map((row) => row.firstByte)
  process.stdout.write(
    `${rows.length} sentences, ${seconds.toFixed(0)} s of speech: ${speedFactor.toFixed(2)} x real time, ` +
      `${(sum(rows.map((row) => row.cpu)) / seconds).toFixed(2)} CPU s/s; first byte ${median(firstBytes).toFixed(0)} ms, ` +
      `at most ${Math.max(...firstBytes).toFixed(0)} ms; ${rows.flatMap((row) => row.wrong).length} breaks inside a phrase; ` +
      `wrong words: ${errors.map(({ model, rate }) => `${model} ${(rate * 100).toFixed(1)} %`).join(', ')}\n`,
  )
  expect(rows.flatMap((row) => row.wrong)).toEqual([])
  for (const { model, rate } of errors) expect(rate, model).toBeLessThanOrEqual(mostErrors)
  if (!isFull) return
  expect(speedFactor).toBeGreaterThanOrEqual(leastSpeedFactor)
  expect(Math.max(...firstBytes)).toBeLessThanOrEqual(firstByteMostMs)
})

/** Engines use British or American spelling. */
function american(text: string): string {
  return text.replaceAll(/(harb|col|neighb)our/giu, '$1or')
}
