import { deflateSync } from 'node:zlib'

import { randomFrom, type Random } from '../../drawing/random.ts'
import type { Tensor } from '../../inference/onnx.ts'
import type { DecoderState, Whisper } from './whisper-model.ts'
import { applyRules, toLogProbabilities, type Rules } from './whisper-rules.ts'
import {
  languageCodes,
  languageOf,
  languageToken,
  mostPromptTokens,
  mostTokens,
  secondsPerTime,
  token,
} from './whisper-tokens.ts'

export interface DecodeOptions {
  task: 'transcribe' | 'translate'
  language: string
  /** Tokens of a text that provides context and spelling. */
  prompt: readonly number[]
  temperature: number
}

/** The result of decoding one window. */
export interface Attempt {
  /** Texts between timestamp tokens. */
  tokens: number[]
  /** Whether the model ended the text itself. False if the token limit ended it. */
  hasEnded: boolean
  temperature: number
  averageLogProbability: number
  compressionRatio: number
  noSpeechProbability: number
}

/** Text with a higher compression ratio repeats itself. */
const mostCompression = 2.4
const leastAverageLogProbability = -1
const temperatureStep = 0.2
const mostNewTokens = mostTokens / 2

/** The spoken language and its probability. */
export async function detectLanguage(
  whisper: Whisper,
  encoded: Tensor,
): Promise<{ language: string; probability: number }> {
  const { logits } = await whisper.begin(encoded, [token.start])
  const choices = logits.slice(token.firstLanguage, token.firstLanguage + languageCodes.length)
  toLogProbabilities(choices)
  const best = likeliest(choices)
  return { language: languageOf(token.firstLanguage + best), probability: Math.exp(choices[best]!) }
}

/**
 * Decodes a window at the requested temperature, and at higher ones while the text repeats itself or is unlikely. A
 * higher temperature helps the model out of a repetition.
 */
export async function decodeWindow(
  whisper: Whisper,
  encoded: Tensor,
  soundSeconds: number,
  options: DecodeOptions,
  signal: AbortSignal,
): Promise<Attempt> {
  const before =
    options.prompt.length === 0 ? [] : [token.previous, ...options.prompt.slice(-mostPromptTokens)]
  let state = await whisper.begin(encoded, [...before, token.start])
  const noSpeechProbability = probabilityOf(state.logits, token.noSpeech)
  state = await whisper.append(state, languageToken(options.language) ?? token.firstLanguage)
  state = await whisper.append(state, token[options.task])

  const rules: Rules = {
    suppressed: whisper.suppressed,
    suppressedFirst: whisper.suppressedFirst,
    lastTime: token.firstTime + Math.ceil(soundSeconds / secondsPerTime),
  }
  const maxTokens = Math.min(mostNewTokens, mostTokens - before.length - 3)
  const attempts: Attempt[] = []
  for (const temperature of ladder(options.temperature)) {
    const generated = await generate(whisper, state, rules, { temperature, maxTokens }, signal)
    const attempt = {
      ...generated,
      temperature,
      compressionRatio: compressionRatio(whisper.text.decode(generated.tokens)),
      noSpeechProbability,
    }
    attempts.push(attempt)
    const repeats = attempt.compressionRatio > mostCompression
    const doubted = attempt.averageLogProbability < leastAverageLogProbability
    if (!repeats && (!doubted || isNoSpeech(attempt))) break
  }
  const sound = attempts.filter((attempt) => attempt.compressionRatio <= mostCompression)
  return (sound.length > 0 ? sound : attempts).reduce((best, attempt) =>
    attempt.averageLogProbability > best.averageLogProbability ? attempt : best,
  )
}

/** Unlikely text in sound that is probably not speech is dropped. */
export function isNoSpeech(attempt: Attempt): boolean {
  return attempt.noSpeechProbability > 0.6 && attempt.averageLogProbability < leastAverageLogProbability
}

/** Translations below this are often invented, above all those of a few words. Measured with short recordings. */
const leastTranslationLogProbability = -0.7

/** Whether a translation is too uncertain to be shown. A higher temperature was only tried because of doubts. */
export function isDoubtfulTranslation(attempt: Attempt, requestedTemperature: number): boolean {
  return (
    attempt.averageLogProbability < leastTranslationLogProbability ||
    attempt.noSpeechProbability > 0.6 ||
    attempt.compressionRatio > mostCompression ||
    attempt.temperature > requestedTemperature + 0.5
  )
}

export function compressionRatio(text: string): number {
  const bytes = Buffer.from(text)
  return bytes.length / deflateSync(bytes).length
}

function ladder(lowest: number): number[] {
  const rungs = [lowest]
  for (let rung = lowest + temperatureStep; rung <= 1 + 1e-6; rung += temperatureStep) {
    rungs.push(Number(rung.toFixed(2)))
  }
  return rungs
}

async function generate(
  whisper: Whisper,
  start: DecoderState,
  rules: Rules,
  { temperature, maxTokens }: { temperature: number; maxTokens: number },
  signal: AbortSignal,
): Promise<Pick<Attempt, 'tokens' | 'hasEnded' | 'averageLogProbability'>> {
  const tokens: number[] = []
  let sum = 0
  let state = start
  let hasEnded = false
  // A fixed seed, so that a repeated request returns the same text.
  const random = randomFrom(String(temperature), 'whisper')
  for (;;) {
    signal.throwIfAborted()
    const choices = state.logits.slice()
    applyRules(choices, tokens, rules)
    const id = temperature === 0 ? likeliest(choices) : draw(choices, temperature, random)
    sum += choices[id]!
    hasEnded = id === token.end
    if (hasEnded) break
    tokens.push(id)
    if (tokens.length === maxTokens) break
    state = await whisper.append(state, id)
  }
  return { tokens, hasEnded, averageLogProbability: sum / (tokens.length + 1) }
}

function likeliest(logProbabilities: Float32Array): number {
  let best = 0
  for (let id = 1; id < logProbabilities.length; id++) {
    if (logProbabilities[id]! > logProbabilities[best]!) best = id
  }
  return best
}

function draw(logProbabilities: Float32Array, temperature: number, random: Random): number {
  const weights = logProbabilities.map((value) => value / temperature)
  toLogProbabilities(weights)
  let left = random.next()
  for (let id = 0; id < weights.length; id++) {
    left -= Math.exp(weights[id]!)
    if (left <= 0) return id
  }
  return likeliest(logProbabilities)
}

function probabilityOf(logits: Float32Array, id: number): number {
  const all = logits.slice()
  toLogProbabilities(all)
  return Math.exp(all[id]!)
}
