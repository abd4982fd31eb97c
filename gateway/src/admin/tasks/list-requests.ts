import type { adminOperations } from '@kinora/contract/admin-operations'
import type { LoggedRequest } from '@kinora/contract/operations/admin/requests'

import type { Handler } from '../../http/call.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { listRequests as findRequests, type LoggedRecord } from '../../request-log/request-log-store.ts'
import { givenFilterId } from '../given-id.ts'
import { idText, milliseconds, pageOf, readCursor, rowsFor } from '../page.ts'
import { givenTime, secondsOf } from '../unix-time.ts'

const timeoutMs = 10_000

const present = (request: LoggedRecord): LoggedRequest => ({
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

/** Requests appear one or two seconds after their response, because they are written in batches. */
export const listRequests =
  ({ postgres }: { postgres: Postgres }): Handler<typeof adminOperations.listRequests> =>
  async (call) => {
    const { operation, status, error_code: errorCode, model, task_id: taskId, from, to } = call.query
    const [at, id = ''] = readCursor(call, 'requests', [milliseconds, idText]) ?? []
    const filter = {
      accountId: givenFilterId(call, 'account_id'),
      keyId: givenFilterId(call, 'key_id'),
      operation,
      status: status === undefined ? undefined : Number(status),
      errorCode,
      model,
      taskId,
      from: givenTime(from),
      to: givenTime(to),
      after: at === undefined ? undefined : { at: new Date(Number(at)), id },
      limit: rowsFor(call),
    }
    const found = await postgres.transaction((database) => findRequests(database, filter), {
      statementTimeoutMs: timeoutMs,
    })
    const body = pageOf(call, 'requests', found, present, (request) => [request.at.getTime(), request.id])
    return { body }
  }
