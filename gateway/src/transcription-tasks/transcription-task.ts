import type { Metadata } from '@kinora/contract/metadata'
import type { TaskErrorCode } from '@kinora/contract/task-errors'

import type { Wallet } from '../billing/money/money.ts'
import type { Price } from '../billing/prices/price.ts'
import type { Engine } from '../providers/port/engine.ts'
import type { FailureKind } from '../providers/port/failure.ts'
import type { SpeechSegment, Transcript } from '../providers/port/transcription.ts'
import type { TaskState, TaskTables, TaskWebhook } from '../tasks/task.ts'

export const transcriptionTables: TaskTables = {
  tasks: 'transcription_tasks',
  open: 'open_transcriptions',
  events: 'transcription_task',
}

/** How often a step checks that its run is current. */
export const checkEveryMs = 2_000

/** The validated parameters of a task. */
export interface TranscriptionOrder {
  task: 'transcribe' | 'translate'
  /** Undefined if the provider should detect it. */
  language?: string
  prompt?: string
  temperature: number
  /** Whether the model returns speech segments with timestamps. */
  hasTimestamps: boolean
  /** The caller's own data; never sent to a provider. */
  metadata?: Metadata
}

export interface TranscriptionTask {
  id: string
  day: string
  accountId: string
  keyId: string
  /** The id of the model. */
  model: string
  /** The name of the model in the request: its id or an alias. Callers see this one. */
  modelName: string
  state: TaskState
  order: TranscriptionOrder
  durationMs: number
  /** The duration of the segments that have a transcript. */
  doneMs: number
  wallet: Wallet
  prices: Price[]
  holdMicros: number
  errorCode: TaskErrorCode | null
  errorMessage: string | null
  /** Null after the recording was removed. */
  recordingKey: string | null
  createdAt: Date
  finishedAt: Date | null
  /** The expiry of the transcript; null as long as there is none. */
  expiresAt: Date | null
  hasTranscript: boolean
  webhook?: TaskWebhook | undefined
}

/** A part of a recording that is transcribed by one request. All segments in order make up the recording. */
export interface RecordingSegment {
  n: number
  startMs: number
  endMs: number
}

/** The transcript of one recording segment. Its timestamps are relative to the beginning of the recording. */
export interface SegmentTranscript {
  text: string
  language: string | null
  /** The speech segments that the model recognized; null if it returns no timestamps. */
  speech: SpeechSegment[] | null
  engine: Engine | null
  /** How much of the text was left untranslated; absent if nothing was. */
  translation?: NonNullable<Transcript['translation']>
}

/** Why a request for a segment failed. The reason may quote the provider; operators alone see it. */
export interface SegmentFailure {
  /** Null if none could be called. */
  provider: string | null
  kind: FailureKind
  reason: string
}

export interface Failed {
  kind: 'failed'
  code: TaskErrorCode
  message: string
  /** Whether the transcribed part is charged. */
  isPartCharged?: boolean
  failure?: SegmentFailure
}

export type Ending = { kind: 'completed' } | Failed

const messages = {
  content_policy_violation: 'The provider rejected the recording because of its content.',
  invalid_parameter: 'The provider rejected a parameter of the request.',
  upstream_error: 'The provider failed to transcribe the recording.',
  task_timeout: 'The recording was not transcribed before the deadline of the task.',
  task_cancelled: 'The task was deleted.',
} as const

export const failed = (code: keyof typeof messages, message: string = messages[code]): Failed => ({
  kind: 'failed',
  code,
  message,
})
