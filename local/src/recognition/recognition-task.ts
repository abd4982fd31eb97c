/** The task and the output of the recognition process. */
import type { SpokenWord } from './whisper/written-words.ts'

export interface RecognitionTask {
  /** Folders of model sets. */
  runtime: string
  detector: string
  whisper: string | undefined
  /** Used for English. If both models are given, the language decides. */
  moonshine: string | undefined
  /** The decoded audio, see `samples-file.ts`. */
  samplesPath: string
  task: 'transcribe' | 'translate'
  language: string | undefined
  prompt: string | undefined
  temperature: number
  wantsWords: boolean
}

export interface SpokenSegment {
  seek: number
  start: number
  end: number
  text: string
  tokens: number[]
  temperature: number
  avg_logprob: number
  compression_ratio: number
  no_speech_prob: number
}

export type RecognitionChunk =
  | { type: 'begun'; engine: 'whisper' | 'moonshine' }
  /** The text of one window. Empty for silence, which also shows progress. */
  | {
      type: 'spoken'
      text: string
      language: string | undefined
      segments: SpokenSegment[]
      words: SpokenWord[]
      /** See `WindowResult`. */
      isUntranslated: boolean
    }
