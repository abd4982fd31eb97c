import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'
import { operations } from '@kinora/contract/operations'
import { sparklineHours, type RequestErrorGroup } from '@kinora/contract/operations/admin/request-errors'

import type { Handler } from '../../http/call.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { errorsReadMax, groupErrors, type ErrorGroup } from '../../request-log/request-error-store.ts'
import { givenFilterId } from '../given-id.ts'
import { givenTime, secondsOf } from '../unix-time.ts'
import { adviseOn } from './error-advice.ts'

const timeoutMs = 10_000
const dayMs = 86_400_000
const daysMax = 31
const groupsDefault = 50

/** Who has to act. Refusals for overload and failures without a provider are matters of this service. */
const faultOf = ({ status, errorCode, provider }: ErrorGroup): RequestErrorGroup['fault'] => {
  if (errorCode === 'upstream_error' || (status >= 500 && provider !== null)) return 'provider'
  return status >= 500 ? 'service' : 'caller'
}

const present = (group: ErrorGroup, publicUrl: string): RequestErrorGroup => {
  const { cause, whatToDo } = adviseOn(group.errorCode)
  return {
    object: 'request.error_group',
    error_code: group.errorCode,
    status: group.status,
    operation: group.operation,
    model: group.model,
    provider: group.provider,
    count: group.count,
    accounts: group.accounts,
    keys: group.keys,
    anonymous: group.anonymous,
    first_seen: secondsOf(group.firstSeen),
    last_seen: secondsOf(group.lastSeen),
    example_request_id: group.exampleId,
    cause,
    what_to_do: whatToDo,
    fault: faultOf(group),
    doc_url: `${publicUrl}${operations.getErrorDocs.path}#${group.errorCode}`,
    hours: Array.from({ length: sparklineHours }, (_, index) => group.hours[sparklineHours - 1 - index] ?? 0),
  }
}

export const listRequestErrors =
  ({ postgres }: { postgres: Postgres }): Handler<typeof adminOperations.listRequestErrors> =>
  async (call) => {
    const { operation, error_code: errorCode, model, provider, limit } = call.query
    const to = givenTime(call.query.to) ?? new Date()
    const from = givenTime(call.query.from) ?? new Date(to.getTime() - dayMs)
    if (from >= to || to.getTime() - from.getTime() > daysMax * dayMs) {
      throw new ApiError('invalid_parameter', {
        param: 'from',
        message: `'from' must be before 'to', and at most ${daysMax} days.`,
      })
    }
    const filter = {
      accountId: givenFilterId(call, 'account_id'),
      keyId: givenFilterId(call, 'key_id'),
      ...{ operation, errorCode, model, provider, from, to },
      groupsMax: limit === undefined ? groupsDefault : Number(limit),
    }
    const groups = await postgres.transaction((database) => groupErrors(database, filter, sparklineHours), {
      statementTimeoutMs: timeoutMs,
    })
    const [first] = groups
    const total = first?.total ?? 0
    const isComplete = total < errorsReadMax
    return {
      body: {
        object: 'list',
        data: groups.map((group) => present(group, call.publicUrl)),
        ...{ from: secondsOf(from), to: secondsOf(to), total, groups: first?.groups ?? 0 },
        is_complete: isComplete,
        counted_from: secondsOf(isComplete || first === undefined ? from : first.countedFrom),
      },
    }
  }
