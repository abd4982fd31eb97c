import { expect, test } from 'vitest'

import { bytesOf, median } from '../../test/kit/listen.ts'
import { modelDirectory, onlySets } from '../../test/kit/model-directory.ts'
import { createSpeech } from './speech.ts'

const never = new AbortController().signal
const directory = modelDirectory('onnxruntime', 'kokoro', 'kokoro-voices')
// Both texts begin with the same clause, so that only their length differs.
const sentence = 'Nobody had told the gardener of the rain and he was busy with his roses all day. '
const short = 'Nobody had told the gardener of the rain'
const long = sentence.repeat(60).slice(0, 4000)
/** Strict limits apply only on an otherwise idle machine, as in `npm run prove:speech`. */
const isTimed = process.env['SPEECH_ADDED_MS'] !== undefined
/** Without streaming, a long text would take a hundred times as long as a short one. */
const ratioMax = isTimed ? 1.2 : 5

test.each([
  { engine: 'espeak-ng', folder: onlySets(directory), rounds: isTimed ? 5 : 2, mostMs: 800 },
  {
    engine: 'kokoro',
    folder: onlySets(directory, 'onnxruntime', 'kokoro', 'kokoro-voices'),
    rounds: isTimed ? 3 : 1,
    mostMs: 1500,
  },
])(
  'with $engine the first byte of a long text arrives as soon as that of a short one',
  async ({ engine, folder, rounds, mostMs }) => {
    const speech = createSpeech({
      directory: folder,
      ffmpegPath: 'ffmpeg',
      espeakPath: '/usr/bin/espeak-ng',
      log: () => {},
    })
    const speak = async (input: string) =>
      await speech.speak({ input, voice: 'nova', format: 'mp3', speed: 1 }, never)
    const timed = async (input: string) => {
      const begun = performance.now()
      const spoken = await speak(input)
      const took = performance.now() - begun
      expect(spoken.engine).toBe(engine)
      spoken.stream.destroy()
      // A model finishes its current clause. This text waits for that, so that the next measurement starts idle.
      await bytesOf((await speak('Yes.')).stream)
      return took
    }
    try {
      await bytesOf((await speak('Yes.')).stream)
      const times: { short: number; long: number }[] = []
      const ofShort = () => median(times.map((each) => each.short))
      const ofLong = () => median(times.map((each) => each.long))
      const isAlike = () => ofLong() / ofShort() < ratioMax && (!isTimed || ofLong() < mostMs)
      // Other load disturbs some measurements, so more are taken if the result is not clear.
      while (times.length < rounds || (!isAlike() && times.length < 4 * rounds))
        times.push({ short: await timed(short), long: await timed(long) })
      process.stdout.write(
        `${engine}: first byte after ${ofShort().toFixed(0)} ms of ${short.length} characters, ` +
          `${ofLong().toFixed(0)} ms of ${long.length}, medians of ${times.length}\n`,
      )
      expect(isAlike()).toBe(true)
    } finally {
      await speech.close()
    }
  },
)
