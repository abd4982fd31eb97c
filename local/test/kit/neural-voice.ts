import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'

import { createInference } from '../../src/inference/inference.ts'
import type { ModelDirectory } from '../../src/models/model-directory.ts'
import type { KokoroTask } from '../../src/speech/kokoro-model.ts'
import { tokensOf } from '../../src/speech/phoneme-tokens.ts'

const run = promisify(execFile)

export interface NeuralVoice {
  /** Speaks sentences into a WAV file, with a style of Kokoro and the phonemes of a language. */
  say: (file: string, style: string, language: string, sentences: string[]) => Promise<void>
  close: () => Promise<void>
}

/** Speech close to human speech, in any language that Kokoro has a voice for. */
export function neuralVoice(directory: ModelDirectory): NeuralVoice {
  const inference = createInference<KokoroTask, Buffer>({
    name: 'kokoro',
    program: new URL('../../src/speech/kokoro-model.ts', import.meta.url),
    mostWaiting: 10,
    idleMs: 60_000,
    log: () => {},
  })
  return {
    async say(file, style, language, sentences) {
      const samples: Buffer[] = []
      for (const sentence of sentences) {
        const { stdout } = await run('espeak-ng', ['-q', '--ipa', '-v', language, sentence], {
          timeout: 10_000,
        })
        const task: KokoroTask = {
          onnxruntime: directory.find('onnxruntime')!,
          model: directory.find('kokoro')!,
          voices: directory.find('kokoro-voices')!,
          style,
          tokens: tokensOf(`${stdout.trim().replaceAll(/\s+/gu, ' ')}.`),
          gain: 1,
          pause: 0.4,
          firstSeconds: Infinity,
        }
        for await (const chunk of inference.run(task, AbortSignal.timeout(120_000)))
          samples.push(Buffer.from(chunk))
      }
      await writeFile(file, wav(Buffer.concat(samples)))
    },
    close: () => inference.close(),
  }
}

function wav(samples: Buffer): Buffer {
  const header = Buffer.alloc(44)
  header.write('RIFF', 0)
  header.writeUInt32LE(36 + samples.length, 4)
  header.write('WAVEfmt ', 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(24_000, 24)
  header.writeUInt32LE(48_000, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36)
  header.writeUInt32LE(samples.length, 40)
  return Buffer.concat([header, samples])
}
