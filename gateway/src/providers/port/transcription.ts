import type { Readable } from 'node:stream'

import type { Engine } from './engine.ts'

/** A recording that can be opened repeatedly. Name and type are the detected ones, not the caller's. */
export interface AudioFile {
  filename: string
  contentType: string
  sizeBytes: number
  open: () => Promise<Readable>
}

/** A transcription request to a provider. */
export interface TranscriptionJob {
  /** The provider's own name for the model. */
  model: string
  /** `translate` gives English text. */
  task: 'transcribe' | 'translate'
  file: AudioFile
  /** An ISO 639-1 code; undefined for detection by the provider. */
  language: string | undefined
  prompt: string | undefined
  temperature: number
  /** Whether segments are needed, not only the text. */
  wantsSegments: boolean
  wantsWords: boolean
}

/** A segment with the figures of the model. */
export interface SpeechSegment {
  start: number
  end: number
  text: string
  tokens: number[]
  temperature: number
  avgLogprob: number
  compressionRatio: number
  noSpeechProb: number
  seek: number
}

export interface Word {
  word: string
  start: number
  end: number
}

export interface Transcript {
  text: string
  /** A code or a name, as the provider gives it. */
  language: string | undefined
  durationSeconds: number | undefined
  /** Undefined if not requested. */
  segments: SpeechSegment[] | undefined
  words: Word[] | undefined
  engine: Engine | undefined
  /** Set if the provider left all or a part of the text untranslated, because it doubts its translation. */
  translation?: 'none' | 'partial' | undefined
}

export interface TranscriptStream {
  engine: Engine | undefined
  /** Chunks of the text in order. Throws only `ProviderFailure`. */
  chunks: AsyncGenerator<string, void, undefined>
}

/** A transcription provider. Throws only `ProviderFailure`. */
export interface TranscriptionProvider {
  transcribe: (job: TranscriptionJob, signal: AbortSignal) => Promise<Transcript>
  /** Streams the transcript; absent if not supported. */
  streamTranscript?: (job: TranscriptionJob, signal: AbortSignal) => Promise<TranscriptStream>
}
