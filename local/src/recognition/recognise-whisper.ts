import type { Tensor } from '../inference/onnx.ts'
import type { SpokenSegment } from './recognition-task.ts'
import { windowSeconds } from './samples/mel.ts'
import type { SamplesFile } from './samples/samples-file.ts'
import { nextWindow, type SoundWindow } from './samples/sound-window.ts'
import type { Region, SpeechGate } from './samples/speech-gate.ts'
import {
  decodeWindow,
  detectLanguage,
  isDoubtfulTranslation,
  isNoSpeech,
  type Attempt,
  type DecodeOptions,
} from './whisper/whisper-decode.ts'
import type { Whisper } from './whisper/whisper-model.ts'
import { splitWindow, type SplitWindow, type TimedText } from './whisper/whisper-segments.ts'
import { timeWords } from './whisper/whisper-words.ts'
import type { SpokenWord } from './whisper/written-words.ts'
import { writtenWords } from './whisper/written-words.ts'

export interface WhisperOrder {
  task: 'transcribe' | 'translate'
  /** Detected from the first window if undefined. */
  language: string | undefined
  prompt: string | undefined
  temperature: number
  wantsWords: boolean
}

export interface WindowResult {
  /** Undefined until the first speech. */
  language: string | undefined
  segments: SpokenSegment[]
  words: SpokenWord[]
  /** Whether a translation was requested, but the text is in the spoken language, because the translation was doubtful. */
  isUntranslated: boolean
}

interface Window extends SoundWindow {
  sound: Float32Array
  encoded: Tensor
}

/** The shortest speech after the last text of a window, or after a pause behind it, that counts as skipped. */
const leastRestSeconds = 1.5
const leastApartSeconds = 0.5
/** A window with less progress is finished anyway, so that decoding terminates. */
const leastProgressSeconds = 1

/** Decodes one window after the other. Each starts where the text of the previous one ends. */
export async function* recogniseWithWhisper(
  whisper: Whisper,
  samples: SamplesFile,
  gate: SpeechGate,
  order: WhisperOrder,
  signal: AbortSignal,
): AsyncGenerator<WindowResult> {
  const hint = order.prompt?.trim() ?? ''
  const prompt = hint === '' ? [] : whisper.text.encode(` ${hint}`)
  let { language } = order
  let position = 0
  while (position < samples.seconds) {
    const next = await nextWindow(gate, position, samples.seconds, windowSeconds, signal)
    position = next.end
    if (next.speech.length === 0) {
      yield { language, segments: [], words: [], isUntranslated: false }
      continue
    }
    const sound = await samples.readSeconds(next.start, next.end)
    const window: Window = { ...next, sound, encoded: await whisper.encode(sound) }
    signal.throwIfAborted()
    language ??= (await detectLanguage(whisper, window.encoded)).language
    const options: DecodeOptions = { task: order.task, language, prompt, temperature: order.temperature }
    const decode = (task: DecodeOptions['task']) =>
      decodeWindow(whisper, window.encoded, next.end - next.start, { ...options, task }, signal)
    const first = await decode(order.task)
    const isUntranslated =
      order.task === 'translate' && language !== 'en' && isDoubtfulTranslation(first, order.temperature)
    const attempt = isUntranslated ? await decode('transcribe') : first
    const split = splitWindow(attempt.tokens, next.end - next.start, attempt.hasEnded && !next.isCut)
    const state = isNoSpeech(attempt) ? [] : split.texts.filter((text) => isSpoken(whisper, text, next))
    if (state.length > 0) position = nextPosition(next, split)
    yield {
      language,
      isUntranslated: isUntranslated && state.length > 0,
      ...(await present(whisper, window, state, attempt, order.wantsWords ? language : undefined)),
    }
  }
}

/** If word times are available, they set the times of the segment, because they are more exact. */
async function present(
  whisper: Whisper,
  window: Window,
  texts: readonly TimedText[],
  attempt: Attempt,
  languageOfWords: string | undefined,
): Promise<Pick<WindowResult, 'segments' | 'words'>> {
  if (languageOfWords === undefined || texts.length === 0) {
    return { segments: texts.map((text) => segmentOf(whisper, text, window, attempt)), words: [] }
  }
  const written = texts.map((text) => writtenWords(whisper.text, text.tokens, languageOfWords))
  const timed = await timeWords(whisper, window.encoded, window.sound, written.flat(), languageOfWords)
  const words = timed.map(({ word, start, end }) => ({
    word,
    start: hundredths(window.start + start),
    end: hundredths(window.start + end),
  }))
  let place = 0
  const segments = texts.map((text, index) => {
    const own = words.slice(place, (place += written[index]!.length))
    const segment = segmentOf(whisper, text, window, attempt)
    return { ...segment, start: own[0]?.start ?? segment.start, end: own.at(-1)?.end ?? segment.end }
  })
  return { segments, words }
}

function segmentOf(
  whisper: Whisper,
  text: TimedText,
  { start }: SoundWindow,
  attempt: Attempt,
): SpokenSegment {
  return {
    seek: Math.round(start * 100),
    start: hundredths(start + text.start),
    end: hundredths(start + text.end),
    text: whisper.text.decode(text.tokens),
    tokens: text.tokens,
    temperature: attempt.temperature,
    avg_logprob: attempt.averageLogProbability,
    compression_ratio: attempt.compressionRatio,
    no_speech_prob: attempt.noSpeechProbability,
  }
}

/** Whisper invents words in silence. Drops text that overlaps no speech. */
function isSpoken(whisper: Whisper, text: TimedText, { start, speech }: SoundWindow): boolean {
  if (whisper.text.decode(text.tokens).trim() === '') return false
  return speech.some((region) => region.start < start + text.end && region.end > start + text.start)
}

/**
 * The times of texts are imprecise, so a little speech after the last one belongs to it. More speech, or speech after
 * a pause, was skipped.
 */
function nextPosition({ start, end, speech, isCut }: SoundWindow, split: SplitWindow): number {
  const until = start + split.until
  if (split.until < leastProgressSeconds) return end
  if (isCut || split.isBrokenOff) return until
  const secondsOf = (regions: Region[]) => regions.reduce((sum, region) => sum + region.end - region.start, 0)
  const after = speech.filter((region) => region.end > until)
  const rest = after.map((region) => ({ ...region, start: Math.max(region.start, until) }))
  const apart = after.filter((region) => region.start > until)
  return secondsOf(rest) >= leastRestSeconds || secondsOf(apart) >= leastApartSeconds ? until : end
}

/** Rounds to the precision of the times. Rounds down, so that no time is after the end of the recording. */
function hundredths(seconds: number): number {
  return Math.floor(seconds * 100 + 1e-6) / 100
}
