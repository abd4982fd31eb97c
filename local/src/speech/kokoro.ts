import path from 'node:path'

import type { Inference } from '../inference/inference.ts'
import type { SpeechEngine } from '../models/engines.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import { pauseAfter, splitClauses } from './clauses.ts'
import type { Sound } from './encode-speech.ts'
import type { EspeakTool } from './espeak.ts'
import { kokoroSamplesPerSecond } from './finish-clause.ts'
import type { KokoroTask } from './kokoro-model.ts'
import { partsOf, tokensOf } from './phoneme-tokens.ts'
import { phonemesOf } from './phonemes.ts'
import type { Voice } from './voices.ts'

export interface KokoroParts {
  directory: ModelDirectory
  engine: Exclude<SpeechEngine, 'espeak-ng'>
  espeak: EspeakTool
  inference: Inference<KokoroTask, Buffer>
}

/** Two idle cores generate a part of this length in less than a second. A shorter part may have a wrong level. */
const firstPartSeconds = 1.6
const longestFirstPartSeconds = 5
const bytesPerSample = 2

/**
 * Each clause is a separate task that starts when the previous one was read. Concurrent texts therefore alternate, and a
 * slow reader does not block others.
 */
export function kokoroSound(
  { directory, engine, espeak, inference }: KokoroParts,
  text: string,
  voice: Voice,
): Sound {
  const set = (name: 'onnxruntime' | 'kokoro-voices' | typeof engine) =>
    directory.find(name) ?? path.join(directory.path, name)

  async function* samples(signal: AbortSignal): AsyncGenerator<Buffer> {
    let spokenSeconds = 0
    const clauses = splitClauses(text)
    const tokensFor = async (clause: string) =>
      partsOf(tokensOf(await phonemesOf(espeak, voice.accent, clause, signal)))
    let next = clauses[0] === undefined ? undefined : tokensFor(clauses[0])
    for (const [place, clause] of clauses.entries()) {
      const parts = (await next) ?? []
      const following = clauses[place + 1]
      // Computed while the model speaks the current clause.
      next = following === undefined ? undefined : tokensFor(following)
      next?.catch(() => {})
      for (const [part, tokens] of parts.entries()) {
        const task: KokoroTask = {
          onnxruntime: set('onnxruntime'),
          model: set(engine),
          voices: set('kokoro-voices'),
          style: voice.kokoro.style,
          tokens,
          gain: voice.kokoro.gain,
          pause: part === parts.length - 1 ? pauseAfter(clause) : 0,
          // Earlier speech is still playing, so this part may be longer.
          firstSeconds: Math.min(longestFirstPartSeconds, Math.max(firstPartSeconds, spokenSeconds)),
        }
        for await (const chunk of inference.run(task, signal)) {
          spokenSeconds += chunk.length / (kokoroSamplesPerSecond * bytesPerSample)
          yield chunk
        }
      }
    }
  }

  return { samplesPerSecond: kokoroSamplesPerSecond, samples }
}
