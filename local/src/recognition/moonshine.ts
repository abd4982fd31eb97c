import { readFile } from 'node:fs/promises'
import path from 'node:path'

import type { Onnx, Tensor } from '../inference/onnx.ts'

/** Moonshine tiny: English text without timestamps or probabilities. */
export interface Moonshine {
  recognise: (sound: Float32Array, signal: AbortSignal) => Promise<string>
  release: () => Promise<void>
}

const layers = 6
const headCount = 8
const headSize = 36
const startToken = 1
const endToken = 2
/** Speech is never faster. A longer text repeats itself. */
const tokensPerSecond = 6.5
const samplesPerSecond = 16_000

/** `folder` is the model set `moonshine-tiny`. */
export async function openMoonshine(onnx: Onnx, folder: string): Promise<Moonshine> {
  const vocabulary = await readVocabulary(path.join(folder, 'llama-tokenizer.js'))
  const encoder = await onnx.open(path.join(folder, 'encoder.onnx'))
  const decoder = await onnx.open(path.join(folder, 'decoder.onnx'))
  const cacheNames = (side: string) =>
    Array.from({ length: layers }, (_, layer) => [`${layer}.${side}.key`, `${layer}.${side}.value`]).flat()
  const ofTokens = cacheNames('decoder')
  const ofSound = cacheNames('encoder')
  const none = onnx.floats(new Float32Array(0), [0, headCount, 1, headSize])

  return {
    async recognise(sound, signal) {
      const input = onnx.floats(sound, [1, sound.length])
      const { last_hidden_state: encoded } = await encoder.run({ input_values: input }, ['last_hidden_state'])
      let tokenCache: Record<string, Tensor> = Object.fromEntries(
        [...ofTokens, ...ofSound].map((name) => [`past_key_values.${name}`, none]),
      )
      const most = Math.ceil((sound.length / samplesPerSecond) * tokensPerSecond)
      const tokens: number[] = []
      let last = startToken
      while (tokens.length < most) {
        signal.throwIfAborted()
        const isFirst = tokens.length === 0
        const changing = isFirst ? [...ofTokens, ...ofSound] : ofTokens
        const feeds = {
          input_ids: onnx.integers([last], [1, 1]),
          encoder_hidden_states: encoded!,
          use_cache_branch: onnx.flag(!isFirst),
          ...tokenCache,
        }
        const results = await decoder.run(feeds, ['logits', ...changing.map((name) => `present.${name}`)])
        last = likeliest(results['logits']!.data)
        if (last === endToken) break
        tokens.push(last)
        const present = changing.map((name) => [`past_key_values.${name}`, results[`present.${name}`]!])
        tokenCache = { ...tokenCache, ...Object.fromEntries(present) }
      }
      return textOf(vocabulary, tokens)
    },
    async release() {
      await encoder.release()
      await decoder.release()
    },
  }
}

/** The file is a script that is never executed. The vocabulary is a string in it. */
export async function readVocabulary(file: string): Promise<string[]> {
  const program = await readFile(file, 'utf8')
  const packed = /llama_vocab_base64 = "([A-Za-z0-9+/=]+)"/u.exec(program)?.[1]
  if (packed === undefined) throw new Error('The vocabulary of Moonshine is not in its file.')
  return Buffer.from(packed, 'base64').toString('utf8').split('\n')
}

/** Tokens are words with `▁` for the preceding space, or single bytes such as `<0xE2>`. */
export function textOf(vocabulary: readonly string[], tokens: readonly number[]): string {
  const parts = tokens.map((id) => {
    const written = vocabulary[id] ?? ''
    const byte = /^<0x([0-9A-F]{2})>$/u.exec(written)?.[1]
    return byte === undefined ? Buffer.from(written.replaceAll('▁', ' ')) : Buffer.from(byte, 'hex')
  })
  return Buffer.concat(parts).toString('utf8').trim()
}

function likeliest(logits: Float32Array): number {
  let best = 0
  for (let id = 1; id < logits.length; id++) if (logits[id]! > logits[best]!) best = id
  return best
}
