import type { Metadata } from '@kinora/contract/metadata'
import type { ImageRole, VideoStatus } from '@kinora/contract/operations/video-fields'
import type { TaskErrorCode } from '@kinora/contract/task-errors'

import type { Wallet } from '../billing/money/money.ts'
import type { Price } from '../billing/prices/price.ts'
import type { TaskTables } from '../tasks/task.ts'

export const videoTables: TaskTables = {
  ...{ tasks: 'video_tasks', open: 'open_tasks', events: 'video' },
  // Each provider has a dispatcher.
  queue: 'provider',
}

/** A validated order: every default is filled in and every name resolved. */
export interface VideoOrder {
  prompt: string
  seconds: number
  /** As given by the caller; responses echo it. */
  size: string
  width: number
  height: number
  watermark: boolean
  isPrivate: boolean
  style?: string
  /** Whether the video has sound. Set at admission. */
  sound?: boolean
  /** The model leaves the sound to the request, so the provider is told. */
  isSoundOptional?: boolean
  /** The role of each reference image. Set at admission. */
  imageRoles?: ImageRole[]
  /** Enhance the prompt before the job is submitted. */
  enhance?: boolean
  /** Enhancing was done or has failed; the result is the task's enhanced prompt. */
  isEnhanced?: boolean
  /** Characters named in the prompt, as found at admission. */
  characters?: { id: string; username: string }[]
  /** The number of reference images. All reference files are deleted when the task ends. */
  images?: number
  hasReferenceVideo?: boolean
  hasReferenceAudio?: boolean
  /** The failed task that this one retries. */
  retriedFrom?: string
  /** The source of a remix. */
  remixOf?: { taskId: string; mediaId: string }
  /** The caller's own data; never sent to a provider. */
  metadata?: Metadata
}

export interface VideoTask {
  id: string
  day: string
  accountId: string
  keyId: string
  /** The id of the model. */
  model: string
  /** The name of the model in the request: its id or an alias. Callers see this one. */
  modelName: string
  family: 'A' | 'B'
  createdVia: 'videos' | 'create' | 'remix' | 'chat'
  state: VideoStatus
  progress: number
  order: VideoOrder
  enhancedPrompt: string
  provider: string
  wallet: Wallet
  prices: Price[]
  holdMicros: number
  createdAt: Date
  statusUpdatedAt: Date
  mediaId: string | null
  mediaExpiresAt: Date | null
  /** Until when the task waits for a provider whose response was lost. Only reads of single tasks have it. */
  outcomeUnknownUntil?: Date | null
  errorCode: TaskErrorCode | null
  errorMessage: string | null
  /** The id of its last event. Only a task that was read has it. */
  lastEvent?: number
}

/** How a task ends: with a stored video, or with an error. */
export type Ending =
  | { kind: 'completed'; mediaId: string }
  | { kind: 'failed'; code: TaskErrorCode; message: string }

/** The final result of a job at its provider, stored until the task has ended. */
export type Outcome =
  | { kind: 'done'; result: unknown }
  | { kind: 'refused'; code: TaskErrorCode; message: string }
