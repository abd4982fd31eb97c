import { expect, test, vi } from 'vitest'

import { bytesOf, median } from '../../test/kit/listen.ts'
import { modelDirectory, onlySets } from '../../test/kit/model-directory.ts'
import { createSpeech } from './speech.ts'

vi.setConfig({ testTimeout: 120_000 })

const never = new AbortController().signal
const directory = modelDirectory('onnxruntime', 'kokoro', 'kokoro-voices')
// Both begin with the same clause, so that nothing but the length of the text differs.
const sentence = 'Nobody had told the gardener of the rain and he was busy with his roses all day. '
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
    // What else the machine does only ever adds, so the best of each is compared.
    const ratio = Math.min(...times.map((each) => each.long)) / Math.min(...times.map((each) => each.short))
    const ofShort = median(times.map((each) => each.short))
    const ofLong = median(times.map((each) => each.long))
    process.stdout.write(
      `${engine}: first byte after ${ofShort.toFixed(0)} ms of ${short.length} characters, ` +
        `${ofLong.toFixed(0)} ms of ${long.length}; best to best ${ratio.toFixed(2)}\n`,
    )
    expect(ratio).toBeGreaterThan(0.8)
    expect(ratio).toBeLessThan(1.2)
    expect(ofLong).toBeLessThan(mostMs)
  } finally {
    await speech.close()
  }
})
