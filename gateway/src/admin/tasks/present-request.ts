import type { LoggedRequest } from '@kinora/contract/operations/admin/requests'

import type { LoggedRecord } from '../../request-log/request-log-store.ts'
import { secondsOf } from '../unix-time.ts'

export const presentRequest = (request: LoggedRecord): LoggedRequest => ({
  id: request.id,
  object: 'request',
  at: secondsOf(request.at),
  account_id: request.accountId,
  account_name: request.accountName,
  key_id: request.keyId,
  key_name: request.keyName,
  operation: request.operation,
  method: request.method,
  path: request.path,
  status: request.status,
  error_code: request.errorCode,
  model: request.model,
  provider: request.provider,
  task_id: request.taskId,
  duration_ms: request.durationMs,
  address: request.address,
  user_agent: request.userAgent,
})
