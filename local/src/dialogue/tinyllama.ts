import { randomInt } from 'node:crypto'
import { availableParallelism } from 'node:os'
import path from 'node:path'

import type { ReplySettings } from './chat-order.ts'
import type { DialogueChunk, DialogueTask } from './dialogue-task.ts'
import { loadLlamaAddon, type LlamaAddon, type LlamaContext, type LlamaModel } from './llama-addon.ts'
import { writePrompt } from './prompt.ts'
import { createReplyText } from './reply-text.ts'

const contextTokens = 2048
/**
 * A prompt is read in blocks of this size. A run can be stopped between two blocks, and the next prompt reuses the
 * leading blocks that are equal, with exactly the same result.
 */
const blockTokens = 64
/**
 * Half of the cores. The threads spin while they wait for each other, so with one thread per core the model would be
 * many times slower on a busy machine.
 */
const threads = Math.max(1, Math.min(4, Math.floor(availableParallelism() / 2)))
const repeatPenalty = 1.1
const repeatTokens = 64
/** Tokens less likely than this fraction of the likeliest one are never sampled, because at two bits they are noise. */
const leastProbability = 0.05
const seedLimit = 2 ** 32
/** Longer replies of this small model are not useful. */
const defaultReplyTokens = 60
const mostReplyTokens = 96

/** TinyLlama in memory. One reply at a time. */
export interface TinyLlama {
  reply: (task: DialogueTask, signal: AbortSignal) => AsyncGenerator<DialogueChunk, void, undefined>
}

export async function loadTinyLlama(weights: string, runtime: string): Promise<TinyLlama> {
  const addon = await loadLlamaAddon(runtime)
  const model = new addon.AddonModel(path.join(weights, 'model.gguf'), { addonExports: addon, useMmap: true })
  if (!(await model.init())) throw new Error('The dialogue model could not be loaded.')
  const context = new addon.AddonContext(model, {
    contextSize: contextTokens,
    batchSize: blockTokens,
    sequences: 1,
    threads,
  })
  if (!(await context.init())) throw new Error('There is no memory for the dialogue model.')
  const read = createReader(context)

  async function* reply(
    { messages, settings }: DialogueTask,
    signal: AbortSignal,
  ): AsyncGenerator<DialogueChunk, void, undefined> {
    const mostTokens = Math.min(settings.maxTokens ?? defaultReplyTokens, mostReplyTokens)
    const prompt = writePrompt(messages, contextTokens - mostTokens, {
      begin: model.tokenBos(),
      end: model.tokenEos(),
      encode: (text) => model.tokenize(text, false),
    })
    const { writtenTokens: textTokens, audioSeconds } = prompt
    const scores = await read.prompt(prompt.tokens, signal)
    yield { kind: 'read', textTokens, audioSeconds }
    // All choices sample their first token here, while the scores after the prompt are available.
    const choices: Choice[] = []
    const seed = settings.seed ?? randomInt(seedLimit)
    try {
      for (let index = 0; index < settings.choices; index++) {
        const choice = startChoice(addon, model, settings, seed + index)
        choices.push(choice)
        await choice.sample(context, scores)
      }
      for (const [index, choice] of choices.entries()) {
        yield* finishChoice(
          index,
          choice,
          prompt.tokens.length,
          { stops: settings.stops, mostTokens },
          signal,
        )
      }
    } finally {
      for (const choice of choices) choice.dispose()
    }
  }

  async function* finishChoice(
    index: number,
    choice: Choice,
    promptLength: number,
    { stops, mostTokens }: { stops: string[]; mostTokens: number },
    signal: AbortSignal,
  ): AsyncGenerator<DialogueChunk, void, undefined> {
    const { tokens } = choice
    const reply = createReplyText(stops)
    for (;;) {
      const isOver = choice.isOver() || tokens.length === mostTokens
      const text = model.detokenize(Uint32Array.from(tokens), false)
      const added = isOver ? reply.end(text) : reply.add(text)
      if (added !== '') yield { kind: 'text', choice: index, text: added, tokens: tokens.length }
      if (isOver || reply.isStopped()) {
        const reason = choice.isOver() || reply.isStopped() ? 'stop' : 'length'
        yield { kind: 'end', choice: index, reason, tokens: tokens.length }
        return
      }
      if (signal.aborted) return
      const position = promptLength + tokens.length - 1
      await choice.sample(context, await read.token(tokens.at(-1)!, position))
    }
  }

  return { reply }
}

interface Choice {
  /** The tokens sampled so far, without the one that ends a reply. */
  tokens: number[]
  isOver: () => boolean
  sample: (context: LlamaContext, scores: number) => Promise<void>
  dispose: () => void
}

function startChoice(addon: LlamaAddon, model: LlamaModel, settings: ReplySettings, seed: number): Choice {
  const sampler = new addon.AddonSampler(model)
  const tokens: number[] = []
  let isOver = false
  return {
    tokens,
    isOver: () => isOver,
    async sample(context, scores) {
      sampler.applyConfig({
        temperature: settings.temperature,
        topP: settings.topP,
        minP: leastProbability,
        seed: ((seed % seedLimit) + seedLimit) % seedLimit,
        repeatPenalty,
        repeatPenaltyMaxTokens: repeatTokens,
        repeatPenaltyTokens: Uint32Array.from(tokens),
        repeatPenaltyPresencePenalty: settings.presencePenalty,
        repeatPenaltyFrequencyPenalty: settings.frequencyPenalty,
      })
      const token = await context.sampleToken(scores, sampler)
      if (token < 0) throw new Error('The dialogue model gave no next token.')
      if (model.isEogToken(token)) isOver = true
      else tokens.push(token)
    },
    dispose: () => sampler.dispose(),
  }
}

/** Reads tokens into the context, which stores them by position. Returns the position of the last token's scores. */
function createReader(context: LlamaContext) {
  /** The last prompt, cut to whole blocks. */
  let held: number[] = []

  async function readBlock(tokens: number[], position: number): Promise<number> {
    if (!context.removeTokenCellsFromSequence(0, position, -1)) {
      throw new Error('The dialogue model could not remove tokens from its context.')
    }
    context.initBatch(tokens.length)
    const [scores] = context.addToBatch(
      0,
      position,
      Uint32Array.from(tokens),
      Uint32Array.of(tokens.length - 1),
    )
    await context.decodeBatch()
    return scores!
  }

  async function prompt(tokens: number[], signal: AbortSignal): Promise<number> {
    let agreeing = held.findIndex((token, index) => token !== tokens[index])
    if (agreeing === -1) agreeing = held.length
    // The last block is always read again, because it provides the scores for the next token.
    const known = Math.min(agreeing, tokens.length - 1)
    let position = known - (known % blockTokens)
    held = tokens.slice(0, position)
    let scores = 0
    while (position < tokens.length) {
      signal.throwIfAborted()
      const block = tokens.slice(position, position + blockTokens)
      scores = await readBlock(block, position)
      position += block.length
      if (block.length === blockTokens) held = tokens.slice(0, position)
    }
    return scores
  }

  return { prompt, token: (token: number, position: number) => readBlock([token], position) }
}
