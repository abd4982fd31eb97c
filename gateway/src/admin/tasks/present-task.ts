import type { AdminTask } from '@kinora/contract/operations/admin/tasks'

import { secondsOf, secondsOrNull } from '../unix-time.ts'
import type { TaskRecord } from './task-store.ts'

export const presentTask = (task: TaskRecord, currency: string): AdminTask => ({
  id: task.id,
  object: 'task',
  kind: task.kind,
  account_id: task.accountId,
  account_name: task.accountName,
  key_id: task.keyId,
  key_name: task.keyName,
  model: task.model,
  provider: task.provider,
  status: task.state,
  stage: task.stage,
  progress: task.progress,
  error: task.errorCode === null ? null : { code: task.errorCode, message: task.errorMessage ?? '' },
  hold_micros: task.holdMicros,
  captured_micros: task.capturedMicros,
  currency,
  created_at: secondsOf(task.createdAt),
  finished_at: secondsOrNull(task.finishedAt),
})
