import type { StepKind } from '@kinora/contract/operations/video-timelines'

import type { TaskAttempt } from '../admin/tasks/task-store.ts'

/** A step of a task, with everything that is known about it. What customers see of it is decided when it is presented. */
export interface TimelineStep {
  kind: StepKind
  startedAt: Date
  /** Null while it is in progress. */
  endedAt: Date | null
  attempt?: number
  outcome: string | null
  detail?: string
  provider?: string | null
  amountMicros?: number
  /** Of `accepted`; null if it is unknown. */
  requestId?: string | null
  /** Of `generate`; undefined if unknown. */
  polls?: { count: number; lastAt: Date | null } | undefined
  /** Of `submit`, once it has ended. */
  submit?: TaskAttempt
  /** Of `webhook`. */
  delivery?: { id: string; type: string; status: number | null }
}
