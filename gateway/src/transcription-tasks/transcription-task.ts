import type { TaskErrorCode } from '@kinora/contract/errors'

import type { Wallet } from '../billing/money/money.ts'
import type { Price } from '../billing/prices/price.ts'
import type { Engine } from '../providers/port/engine.ts'
import type { Segment } from '../providers/port/transcription.ts'

/** What was ordered, as it was understood. */
export interface TranscriptionOrder {
  task: 'transcribe' | 'translate'
  /** Undefined where it is to be found out. */
  language?: string
  prompt?: string
  temperature: number
  /** Whether the model tells when what was said. */
  hasSegments: boolean
}

export interface TranscriptionTask {
  id: string
  day: string
  accountId: string
  keyId: string
  model: string
  state: 'pending' | 'processing' | 'completed' | 'failed'
  order: TranscriptionOrder
  durationMs: number
  /** How much of it has been written down. */
  doneMs: number
  wallet: Wallet
  price: Price
  holdMicros: number
  errorCode: TaskErrorCode | null
  errorMessage: string | null
  /** Null once the recording was removed. */
  recordingKey: string | null
  createdAt: Date
  finishedAt: Date | null
  /** When the transcript goes; null while there is none. */
  expiresAt: Date | null
  hasTranscript: boolean
}

/** A stretch of a recording; all of them together are the recording, in order. */
export interface RecordingSegment {
  n: number
  startMs: number
  endMs: number
}

/** What is said in a piece. Times count from the beginning of the recording. */
export interface SegmentTranscript {
  text: string
  language: string | null
  /** Null where the model gives none. */
  segments: Segment[] | null
  engine: Engine | null
}

export interface Failed {
  kind: 'failed'
  code: TaskErrorCode
  message: string
  /** Whether the part that has been transcribed is charged. */
  isPartCharged?: boolean
}

export type Ending = { kind: 'completed' } | Failed

export const isFinal = (state: TranscriptionTask['state']): boolean =>
  state === 'completed' || state === 'failed'

const sentences = {
  content_policy_violation: 'The provider refused the recording because of its content.',
  invalid_parameter: 'The provider refused a parameter of this request.',
  upstream_error: 'The provider failed to write this recording down.',
  task_timeout: 'The recording was not written down before its deadline.',
  task_cancelled: 'The task was deleted.',
} as const

export const failed = (code: keyof typeof sentences, message: string = sentences[code]): Failed => ({
  kind: 'failed',
  code,
  message,
})
