import { expect, test, vi } from 'vitest'

import { bytesOf, median } from '../../test/kit/listen.ts'
import { modelDirectory, onlySets } from '../../test/kit/model-directory.ts'
import { createSpeech } from './speech.ts'

vi.setConfig({ testTimeout: 120_000 })

const never = new AbortController().signal
const directory = modelDirectory('onnxruntime', 'kokoro', 'kokoro-voices')
const sentence = 'Nobody had told the gardener, who was busy with his roses that day. '
const short = 'Nobody had told the gardener of the rain'
const long = sentence.repeat(60).slice(0, 4000)

test.each([
  { engine: 'espeak-ng', folder: onlySets(directory), rounds: 9, mostMs: 800 },
  {
    engine: 'kokoro',
    folder: onlySets(directory, 'onnxruntime', 'kokoro', 'kokoro-voices'),
    rounds: 3,
    mostMs: 2500,
  },
])('with $engine a long text is heard as soon as a short one', async ({ engine, folder, rounds, mostMs }) => {
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
    // A model finishes the clause it is at; this is said after it, so that the next measure begins in quiet.
    await bytesOf((await speak('Yes.')).stream)
    return took
  }
  try {
    await bytesOf((await speak('Yes.')).stream)
    const times: { short: number; long: number }[] = []
    for (let round = 0; round < rounds; round++)
      times.push({ short: await timed(short), long: await timed(long) })
    const ofShort = median(times.map((each) => each.short))
    const ofLong = median(times.map((each) => each.long))
    process.stdout.write(
      `${engine}: first byte after ${ofShort.toFixed(0)} ms of ${short.length} characters, ` +
        `${ofLong.toFixed(0)} ms of ${long.length}: ${(ofLong / ofShort).toFixed(2)}\n`,
    )
    expect(ofLong / ofShort).toBeLessThan(1.2)
    expect(ofLong).toBeLessThan(mostMs)
  } finally {
    await speech.close()
  }
})
