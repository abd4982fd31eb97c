import type { TaskErrorCode } from '@kinora/contract/errors'
import type { VideoStatus } from '@kinora/contract/operations/video-fields'

import type { Wallet } from '../billing/money/money.ts'
import type { Price } from '../billing/prices/price.ts'

/** What was ordered, as it was understood: every default filled in, every name resolved. */
export interface VideoOrder {
  prompt: string
  seconds: number
  /** As the caller gave it; it is echoed. */
  size: string
  width: number
  height: number
  watermark: boolean
  isPrivate: boolean
  style?: string
  /** What several reference pictures are to each other; absent where they only lend their look. */
  referenceMode?: 'frames' | 'components'
  /** Rewrite the prompt before it is sent on. */
  enhance?: boolean
  /** That was done, or tried; what came of it is the task's enhanced prompt. */
  isEnhanced?: boolean
  /** Characters named in the prompt, as they were found at admission. */
  characters?: { id: string; username: string }[]
  /** How many pictures came with it; they go when the task ends. */
  images?: number
  /** The failed task that this one was ordered again for. */
  retriedFrom?: string
  /** The task this one is made from. */
  remixOf?: { taskId: string; mediaId: string }
  /** The caller's own notes; never sent to a provider. */
  metadata?: Record<string, string | number | boolean>
}

export interface VideoTask {
  id: string
  day: string
  accountId: string
  keyId: string
  model: string
  family: 'A' | 'B'
  createdVia: 'videos' | 'create' | 'remix' | 'chat'
  state: VideoStatus
  progress: number
  order: VideoOrder
  enhancedPrompt: string
  provider: string
  wallet: Wallet
  price: Price
  holdMicros: number
  createdAt: Date
  statusUpdatedAt: Date
  mediaId: string | null
  mediaExpiresAt: Date | null
  errorCode: TaskErrorCode | null
  errorMessage: string | null
}

/** How a task ends: with a video that is ours and readable, or with the reason why not. */
export type Ending =
  | { kind: 'completed'; mediaId: string }
  | { kind: 'failed'; code: TaskErrorCode; message: string }

export const isFinal = (state: VideoStatus): boolean => state === 'completed' || state === 'failed'

/** What a provider finally said of a job, kept until the task has moved on. */
export type Outcome =
  | { kind: 'done'; result: unknown }
  | { kind: 'refused'; code: TaskErrorCode; message: string }
