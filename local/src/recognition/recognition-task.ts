/** What the provider and the process that recognises speech say to each other. */
import type { SpokenWord } from './whisper/written-words.ts'

export interface RecognitionTask {
  /** Folders of pulled sets. */
  runtime: string
  detector: string
  whisper: string | undefined
  /** For speech in English; where both are given, the language decides. */
  moonshine: string | undefined
  /** Decoded sound, see `samples-file.ts`. */
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
  /** One window's worth; empty for silence, which also tells that the work goes on. */
  | {
      type: 'spoken'
      text: string
      language: string | undefined
      segments: SpokenSegment[]
      words: SpokenWord[]
    }
