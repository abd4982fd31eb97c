import { readFile } from 'node:fs/promises'
import path from 'node:path'

import type { Onnx, Tensor } from '../../inference/onnx.ts'
import { logMel, melBands, melFrames } from '../samples/mel.ts'
import { readWhisperText, type WhisperText } from './whisper-text.ts'
import { positionsPerWindow } from './whisper-tokens.ts'

/** The decoder after some tokens. It is never changed, so several attempts may start from the same one. */
export interface Spoken {
  /** How likely each token is to come next, not yet as probabilities. */
  logits: Float32Array
  /** What the decoder keeps of the tokens. */
  past: Record<string, Tensor>
  /** What the decoder keeps of the sound, which no further token changes. */
  sound: Record<string, Tensor>
  heard: Tensor
}

export interface Head {
  layer: number
  head: number
}

export interface Whisper {
  text: WhisperText
  /** Never said: brackets, notes and other signs that stand for no sound. */
  suppressed: number[]
  /** Never said first. */
  suppressedFirst: number[]
  /** At most 30 s of sound. */
  hear: (samples: Float32Array) => Promise<Tensor>
  begin: (heard: Tensor, ids: readonly number[]) => Promise<Spoken>
  say: (spoken: Spoken, id: number) => Promise<Spoken>
  layers: number
  /** Where in the sound each of the heads looks after each of the tokens, as one row of positions per token. */
  attend: (heard: Tensor, ids: readonly number[], heads: readonly Head[]) => Promise<Float32Array[]>
  release: () => Promise<void>
}

interface Config {
  decoder_layers: number
  decoder_attention_heads: number
  d_model: number
}

interface GenerationConfig {
  suppress_tokens: number[]
  begin_suppress_tokens: number[]
}

export async function openWhisper(onnx: Onnx, folder: string): Promise<Whisper> {
  const readJson = async (name: string) =>
    JSON.parse(await readFile(path.join(folder, name), 'utf8')) as unknown
  const config = (await readJson('config.json')) as Config
  const generation = (await readJson('generation_config.json')) as GenerationConfig
  const text = await readWhisperText(path.join(folder, 'tokenizer.json'))
  const encoder = await onnx.open(path.join(folder, 'encoder.onnx'))
  const decoder = await onnx.open(path.join(folder, 'decoder.onnx'))

  const headCount = config.decoder_attention_heads
  const kept = (side: string) =>
    Array.from({ length: config.decoder_layers }, (_, layer) => [
      `${layer}.${side}.key`,
      `${layer}.${side}.value`,
    ]).flat()
  const ofTokens = kept('decoder')
  const ofSound = kept('encoder')
  const none = onnx.floats(new Float32Array(0), [1, headCount, 0, config.d_model / headCount])
  const nothingYet = Object.fromEntries(
    [...ofTokens, ...ofSound].map((name) => [`past_key_values.${name}`, none]),
  )
  const first = onnx.flag(false)
  const further = onnx.flag(true)
  const tokenResults = ['logits', ...ofTokens.map((name) => `present.${name}`)]
  const allResults = [...tokenResults, ...ofSound.map((name) => `present.${name}`)]

  const take = (results: Record<string, Tensor>, names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [`past_key_values.${name}`, results[`present.${name}`]!]))

  const lastRow = ({ data, dims }: Tensor) => data.subarray(data.length - dims[2]!)

  function feed(heard: Tensor, ids: readonly number[]): Record<string, Tensor> {
    return {
      input_ids: onnx.integers(ids, [1, ids.length]),
      encoder_hidden_states: heard,
      use_cache_branch: first,
      ...nothingYet,
    }
  }

  return {
    text,
    layers: config.decoder_layers,
    suppressed: generation.suppress_tokens,
    suppressedFirst: generation.begin_suppress_tokens,

    async hear(samples) {
      const input = onnx.floats(logMel(samples), [1, melBands, melFrames])
      // The encoder would also tell its attentions, hundreds of megabytes of them.
      const { last_hidden_state: heard } = await encoder.run({ input_features: input }, ['last_hidden_state'])
      return heard!
    },

    async begin(heard, ids) {
      const results = await decoder.run(feed(heard, ids), allResults)
      return {
        logits: lastRow(results['logits']!),
        past: take(results, ofTokens),
        sound: take(results, ofSound),
        heard,
      }
    },

    async say(spoken, id) {
      const feeds = {
        input_ids: onnx.integers([id], [1, 1]),
        encoder_hidden_states: spoken.heard,
        use_cache_branch: further,
        ...spoken.past,
        ...spoken.sound,
      }
      const results = await decoder.run(feeds, tokenResults)
      return { ...spoken, logits: lastRow(results['logits']!), past: take(results, ofTokens) }
    },

    async attend(heard, ids, heads) {
      const layers = [...new Set(heads.map(({ layer }) => layer))]
      const results = await decoder.run(
        feed(heard, ids),
        layers.map((layer) => `cross_attentions.${layer}`),
      )
      const size = ids.length * positionsPerWindow
      return heads.map(({ layer, head }) =>
        results[`cross_attentions.${layer}`]!.data.subarray(head * size, (head + 1) * size),
      )
    },

    async release() {
      await encoder.release()
      await decoder.release()
    },
  }
}
