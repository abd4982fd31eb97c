import { createRequire } from 'node:module'
import path from 'node:path'

/** The part of the llama.cpp addon that is used here. */
export interface LlamaAddon {
  AddonModel: new (file: string, options: { addonExports: LlamaAddon; useMmap: boolean }) => LlamaModel
  AddonContext: new (model: LlamaModel, options: LlamaContextOptions) => LlamaContext
  AddonSampler: new (model: LlamaModel) => LlamaSampler
  setLoggerLogLevel: (level: number) => void
  loadBackends: (folder: string) => void
  init: () => Promise<void>
}

interface LlamaContextOptions {
  contextSize: number
  batchSize: number
  sequences: number
  threads: number
}

export interface LlamaModel {
  init: () => Promise<boolean>
  tokenize: (text: string, withSpecialTokens: boolean) => Uint32Array
  detokenize: (tokens: Uint32Array, withSpecialTokens: boolean) => string
  tokenBos: () => number
  tokenEos: () => number
  isEogToken: (token: number) => boolean
}

export interface LlamaContext {
  init: () => Promise<boolean>
  initBatch: (size: number) => void
  /** Returns the positions of the scores for the tokens in `scored`. */
  addToBatch: (sequence: number, position: number, tokens: Uint32Array, scored: Uint32Array) => Uint32Array
  decodeBatch: () => Promise<void>
  /** The next token, or -1. */
  sampleToken: (scores: number, sampler: LlamaSampler) => Promise<number>
  /** Removes all tokens from position `start` on. */
  removeTokenCellsFromSequence: (sequence: number, start: number, end: number) => boolean
}

interface LlamaSampler {
  applyConfig: (settings: {
    temperature: number
    topP: number
    minP: number
    seed: number
    repeatPenalty: number
    repeatPenaltyMaxTokens: number
    repeatPenaltyTokens: Uint32Array
    repeatPenaltyPresencePenalty: number
    repeatPenaltyFrequencyPenalty: number
  }) => void
  dispose: () => void
}

const onlyErrors = 2

/** Loads the addon of the pulled runtime and the backend for this processor. */
export async function loadLlamaAddon(runtime: string): Promise<LlamaAddon> {
  const folder = path.join(runtime, 'bins', `${process.platform}-${process.arch}`)
  const load = createRequire(import.meta.url)
  const addon = load(path.join(folder, 'llama-addon.node')) as LlamaAddon
  addon.setLoggerLogLevel(onlyErrors)
  addon.loadBackends(folder)
  await addon.init()
  return addon
}
