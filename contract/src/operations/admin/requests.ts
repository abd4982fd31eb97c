/** `/admin/v1/requests` and `/admin/v1/usage`. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType, Page, pageQuery, periodQuery, Time } from '../../fields.ts'
import { Micros } from '../../money.ts'
import type { Operation } from '../../operation.ts'
import { usageFields, UsageFormat } from '../account.ts'
import { nullableNames, ownerQuery } from './admin-fields.ts'

export const LoggedRequest = Type.Object({
  id: Type.String({ description: 'Id of the request: the `x-request-id` of its response.' }),
  object: ObjectType('request'),
  at: Time('When the request arrived.'),
  account_id: Nullable(Type.String({ description: 'Id of the account; null without a valid key.' })),
  key_id: Nullable(Type.String({ description: 'Id of the key; null without a valid key.' })),
  ...nullableNames,
  operation: Type.String({ description: 'Id of the operation.' }),
  method: Type.String({ description: 'HTTP method.' }),
  path: Type.String({
    description:
      'Path of the route, such as `/v1/models/:id`, with UUIDs filled in; `(unknown)` if there is none.',
  }),
  status: Type.Integer({ description: 'HTTP status of the response.' }),
  error_code: Nullable(Type.String({ description: 'Error code of the response; null on success.' })),
  model: Nullable(Type.String({ description: 'Id of the model; null if none is involved.' })),
  provider: Nullable(
    Type.String({
      description: 'Name of the provider that was called during the request; null if none was.',
    }),
  ),
  task_id: Nullable(Type.String({ description: 'Id of the task that the request created; null if none.' })),
  duration_ms: Type.Integer({ description: 'Duration of the request in milliseconds.' }),
  address: Type.String({ description: 'IP address of the client.' }),
  user_agent: Nullable(Type.String({ description: '`User-Agent` of the client; null if it sent none.' })),
})
export type LoggedRequest = Static<typeof LoggedRequest>

const requestId = Type.String({
  description: 'Id of the request: the `request_id` of an error, or the `x-request-id` of any response.',
})

const model = Type.String({ description: 'Only this model.' })

/** Usage with what it cost at the providers, which customers do not see. */
export const TotalUsageRow = Type.Object({
  ...usageFields,
  account_name: nullableNames.account_name,
  provider: Nullable(Type.String({ description: 'Name of the provider; null if not grouped by provider.' })),
  cost_micros: Nullable(
    Micros(
      'What the providers charge for the tasks and requests whose cost is known; null if none is known.',
    ),
  ),
  margin_micros: Nullable(
    Micros(
      'Amount charged minus refunds and cost, of the tasks and requests whose cost is known; null if none is known.',
    ),
  ),
  unknown_costs: Type.Integer({
    description:
      'Charged tasks and requests whose cost is not known, so `cost_micros` and `margin_micros` leave them out.',
  }),
})
export type TotalUsageRow = Static<typeof TotalUsageRow>

export const requestOperations = {
  getTotalUsage: {
    id: 'getTotalUsage',
    method: 'GET',
    path: '/admin/v1/usage',
    summary: 'Get usage of all accounts',
    description: 'Sums up the tasks and requests of all accounts that ended in a period, and their cost.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: {
      optionalQuery: {
        group_by: Type.String({
          default: 'day',
          description: 'Comma-separated list of `hour`, `day`, `model`, `key`, `account` and `provider`.',
        }),
        ...ownerQuery,
        model,
        ...periodQuery,
        format: UsageFormat,
      },
    },
    answer: { description: 'The rows of usage.', schema: Page(TotalUsageRow), texts: true },
    errors: ['invalid_parameter'],
  },
  listRequests: {
    id: 'listRequests',
    method: 'GET',
    path: '/admin/v1/requests',
    summary: 'Search the request log',
    description: 'Lists the requests that match the given filters, newest first.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: {
      optionalQuery: {
        ...pageQuery,
        id: requestId,
        ...ownerQuery,
        operation: Type.String({ description: 'Only this operation.' }),
        method: Type.String({
          enum: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
          description: 'Only this HTTP method.',
        }),
        path: Type.String({
          maxLength: 300,
          description:
            'Only paths that begin with this, such as `/v1/videos`. The `path` of a request shows their form.',
        }),
        address: Type.String({ maxLength: 100, description: 'Only this IP address of the client.' }),
        status: Type.Integer({ minimum: 100, maximum: 599, description: 'Only this HTTP status.' }),
        status_class: Type.String({
          enum: ['2xx', '3xx', '4xx', '5xx'],
          description: 'Only HTTP statuses of this class.',
        }),
        provider: Type.String({ description: 'Only requests that called this provider.' }),
        error_code: Type.String({ description: 'Only requests that failed with this code.' }),
        model,
        task_id: Type.String({ description: 'Only the request that created this task.' }),
        ...periodQuery,
      },
    },
    answer: { description: 'A page of requests.', schema: Page(LoggedRequest) },
    errors: ['invalid_parameter'],
  },
  getRequest: {
    id: 'getRequest',
    method: 'GET',
    path: '/admin/v1/requests/{id}',
    summary: 'Find a request by its id',
    description:
      'Returns a request of the request log. It appears there a second or two after its response. Of the requests without a valid key, and of creates that were refused for overload, only a sample is logged.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: { path: { id: requestId } },
    answer: { description: 'The request.', schema: LoggedRequest },
    errors: ['resource_not_found'],
  },
} as const satisfies Record<string, Operation>
