import type { Readable } from 'node:stream'

import type { Engine } from './engine.ts'

/** A recording, readable as often as needed. Name and type tell what it is, whatever the caller called it. */
export interface AudioFile {
  filename: string
  contentType: string
  sizeBytes: number
  open: () => Promise<Readable>
}

/** One recording to write down, in a provider's terms. */
export interface TranscriptionJob {
  /** The provider's own name for the model. */
  model: string
  /** `translate` gives English text. */
  task: 'transcribe' | 'translate'
  file: AudioFile
  /** An ISO 639-1 code; undefined where the provider is to find out. */
  language: string | undefined
  prompt: string | undefined
  temperature: number
  /** True where segments and their figures are needed, not the text alone. */
  wantsSegments: boolean
  wantsWords: boolean
}

/** One stretch of speech, with the figures as the model gave them. */
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
  /** As the provider names it: a code or a name. */
  language: string | undefined
  durationSeconds: number | undefined
  /** Undefined where they were not asked for. */
  segments: SpeechSegment[] | undefined
  words: Word[] | undefined
  engine: Engine | undefined
}

export interface TranscriptStream {
  engine: Engine | undefined
  /** Pieces of the text in their order; together they are the whole text. Throws only `ProviderFailure`. */
  chunks: AsyncGenerator<string, void, undefined>
}

/** A provider that writes down speech. Throws only `ProviderFailure`. */
export interface TranscriptionProvider {
  transcribe: (job: TranscriptionJob, signal: AbortSignal) => Promise<Transcript>
  /** The same, sent while it is made out; absent where the provider can't. */
  streamTranscript?: (job: TranscriptionJob, signal: AbortSignal) => Promise<TranscriptStream>
}
