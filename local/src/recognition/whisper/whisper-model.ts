import { readFile } from 'node:fs/promises'
import path from 'node:path'

import type { Onnx, Tensor } from '../../inference/onnx.ts'
import { logMel, melBands, melFrames } from '../samples/mel.ts'
import { readWhisperText, type WhisperText } from './whisper-text.ts'
import { positionsPerWindow } from './whisper-tokens.ts'

/** The state of the decoder after some tokens. It is immutable, so several attempts can start from it. */
export interface DecoderState {
  /** The scores of the next token. */
  logits: Float32Array
  /** The attention cache of the tokens. */
  tokenCache: Record<string, Tensor>
  /** The attention cache of the sound, which further tokens do not change. */
  sound: Record<string, Tensor>
  encoded: Tensor
}

export interface Head {
  layer: number
  head: number
}

export interface Whisper {
  text: WhisperText
  /** Tokens that are never generated: brackets, notes and other signs without sound. */
  suppressed: number[]
  /** Tokens that are never generated first. */
  suppressedFirst: number[]
  /** Encodes at most 30 s of sound. */
  encode: (samples: Float32Array) => Promise<Tensor>
  begin: (encoded: Tensor, ids: readonly number[]) => Promise<DecoderState>
  append: (state: DecoderState, id: number) => Promise<DecoderState>
  layers: number
  /** The attention of each head to the positions of the sound, one row per token. */
  attend: (encoded: Tensor, ids: readonly number[], heads: readonly Head[]) => Promise<Float32Array[]>
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
  const cacheNames = (side: string) =>
    Array.from({ length: config.decoder_layers }, (_, layer) => [
      `${layer}.${side}.key`,
      `${layer}.${side}.value`,
    ]).flat()
  const ofTokens = cacheNames('decoder')
  const ofSound = cacheNames('encoder')
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

  function feed(encoded: Tensor, ids: readonly number[]): Record<string, Tensor> {
    return {
      input_ids: onnx.integers(ids, [1, ids.length]),
      encoder_hidden_states: encoded,
      use_cache_branch: first,
      ...nothingYet,
    }
  }

  return {
    text,
    layers: config.decoder_layers,
    suppressed: generation.suppress_tokens,
    suppressedFirst: generation.begin_suppress_tokens,

    async encode(samples) {
      const input = onnx.floats(logMel(samples), [1, melBands, melFrames])
      // Without the name of the result the encoder would also return hundreds of megabytes of attentions.
      const { last_hidden_state: encoded } = await encoder.run({ input_features: input }, [
        'last_hidden_state',
      ])
      return encoded!
    },

    async begin(encoded, ids) {
      const results = await decoder.run(feed(encoded, ids), allResults)
      return {
        logits: lastRow(results['logits']!),
        tokenCache: take(results, ofTokens),
        sound: take(results, ofSound),
        encoded,
      }
    },

    async append(state, id) {
      const feeds = {
        input_ids: onnx.integers([id], [1, 1]),
        encoder_hidden_states: state.encoded,
        use_cache_branch: further,
        ...state.tokenCache,
        ...state.sound,
      }
      const results = await decoder.run(feeds, tokenResults)
      return { ...state, logits: lastRow(results['logits']!), tokenCache: take(results, ofTokens) }
    },

    async attend(encoded, ids, heads) {
      const layers = [...new Set(heads.map(({ layer }) => layer))]
      const results = await decoder.run(
        feed(encoded, ids),
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
