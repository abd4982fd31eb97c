import type { Moonshine } from './moonshine.ts'
import type { SamplesFile } from './samples/samples-file.ts'
import { nextWindow } from './samples/sound-window.ts'
import type { SpeechGate } from './samples/speech-gate.ts'

/** The model has learned from pieces of up to 30 s, and does best well below. */
const mostSeconds = 20

/** The text of one window after the other, empty where nothing was said. Each but the first starts with a space. */
export async function* recogniseWithMoonshine(
  moonshine: Moonshine,
  samples: SamplesFile,
  gate: SpeechGate,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let position = 0
  while (position < samples.seconds) {
    const { start, end, speech } = await nextWindow(gate, position, samples.seconds, mostSeconds, signal)
    position = end
    const text =
      speech.length === 0 ? '' : await moonshine.recognise(await samples.readSeconds(start, end), signal)
    yield text === '' ? '' : ` ${text}`
  }
}
