import type { Run } from '../runs/runs.ts'

/** How long the video took, from its request to its end. */
export const readDurationMs = ({ details, created_at: from, status_update_time: changedAt }: Run): number =>
  Math.max(0, (details?.completed_at ?? changedAt) - from) * 1_000
