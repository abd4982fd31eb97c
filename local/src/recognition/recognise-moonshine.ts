import type { Moonshine } from './moonshine.ts'
import type { SamplesFile } from './samples/samples-file.ts'
import { nextWindow } from './samples/sound-window.ts'
import type { SpeechGate } from './samples/speech-gate.ts'

/** The model was trained on up to 30 s of audio and works best with much less. */
const mostSeconds = 20

/** Yields the text of each window, which is empty for silence. Each but the first starts with a space. */
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
