import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'

import type { Handler } from '../../http/call.ts'
import { timeOfRequestId } from '../../platform/ids/request-id.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { listRequests as findRequests } from '../../request-log/request-log-store.ts'
import { givenFilterId } from '../given-id.ts'
import { idText, milliseconds, pageOf, readCursor, rowsFor } from '../page.ts'
import { givenTime } from '../unix-time.ts'
import { presentRequest } from './present-request.ts'

const timeoutMs = 10_000

/** Requests appear one or two seconds after their response, because they are written in batches. */
export const listRequests =
  ({ postgres }: { postgres: Postgres }): Handler<typeof adminOperations.listRequests> =>
  async (call) => {
    const { operation, status, error_code: errorCode, model, task_id: taskId, from, to } = call.query
    const { method, path, address, provider, status_class: statusClass } = call.query
    const [at, id = ''] = readCursor(call, 'requests', [milliseconds, idText]) ?? []
    if (call.query.id !== undefined && timeOfRequestId(call.query.id) === undefined) {
      throw new ApiError('invalid_parameter', {
        param: 'id',
        message:
          "'id' must be the id of a request: `req_` and a UUID, as in `request_id` and `x-request-id`.",
      })
    }
    const filter = {
      id: call.query.id,
      accountId: givenFilterId(call, 'account_id'),
      keyId: givenFilterId(call, 'key_id'),
      ...{ operation, method, path, address, provider },
      statusFrom: statusClass === undefined ? undefined : Number(statusClass.charAt(0)) * 100,
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
    const body = pageOf(call, 'requests', found, presentRequest, (request) => [
      request.at.getTime(),
      request.id,
    ])
    return { body }
  }
