/** `/admin/v1/requests/errors`. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType, periodQuery, Time } from '../../fields.ts'
import type { Operation } from '../../operation.ts'
import { ownerQuery } from './admin-fields.ts'

/** The number of counts of a group. */
export const sparklineHours = 24

const Count = (description: string) => Type.Integer({ minimum: 0, description })

export const RequestErrorGroup = Type.Object({
  object: ObjectType('request.error_group'),
  error_code: Type.String({ description: 'Error code of the responses.' }),
  status: Type.Integer({ description: 'HTTP status of the responses.' }),
  operation: Type.String({ description: 'Id of the operation.' }),
  model: Nullable(Type.String({ description: 'Id of the model; null if none is involved.' })),
  provider: Nullable(Type.String({ description: 'Name of the provider that was called; null if none was.' })),
  count: Count('Requests of this group within the period.'),
  accounts: Count('Accounts that sent them.'),
  keys: Count('Keys that sent them.'),
  anonymous: Count('Requests without a valid key among them. Only a sample of those is logged.'),
  first_seen: Time('When the first of them arrived.'),
  last_seen: Time('When the newest of them arrived.'),
  example_request_id: Type.String({ description: 'Id of the newest of them.' }),
  cause: Type.String({ description: 'What the error code means.' }),
  what_to_do: Type.String({ description: 'How to fix it.' }),
  fault: Type.String({
    enum: ['caller', 'service', 'provider'],
    description: 'Who has to act: the caller, the operator of this service, or the provider.',
  }),
  doc_url: Type.String({ description: 'The section of this code on the page of error codes.' }),
  hours: Type.Array(Type.Integer({ minimum: 0 }), {
    description: `Requests of this group in each of the last ${sparklineHours} hours of the period, oldest first.`,
  }),
})
export type RequestErrorGroup = Static<typeof RequestErrorGroup>

const RequestErrors = Type.Object({
  object: ObjectType('list'),
  data: Type.Array(RequestErrorGroup, { description: 'The groups, most frequent first.' }),
  from: Time('Start of the period, inclusive.'),
  to: Time('End of the period, exclusive.'),
  total: Count('Failed requests within the period, with those of groups that are not listed.'),
  groups: Count('Groups within the period.'),
  is_complete: Type.Boolean({
    description:
      'Whether all failed requests of the period were counted. If not, the counts are those of its newest requests, from `counted_from` on.',
  }),
  counted_from: Time('From when on requests were counted.'),
})

export const requestErrorOperations = {
  listRequestErrors: {
    id: 'listRequestErrors',
    method: 'GET',
    path: '/admin/v1/requests/errors',
    summary: 'List errors by cause',
    description:
      'Groups the failed requests of a period by error code, operation, model and provider. The default period is the last 24 hours; the longest is 31 days. Only the newest 100,000 failed requests of a period are counted.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: {
      optionalQuery: {
        ...ownerQuery,
        operation: Type.String({ description: 'Only this operation.' }),
        error_code: Type.String({ description: 'Only this error code.' }),
        model: Type.String({ description: 'Only this model.' }),
        provider: Type.String({ description: 'Only this provider.' }),
        ...periodQuery,
        limit: Type.Integer({
          minimum: 1,
          maximum: 200,
          default: 50,
          description: 'Maximum number of groups to return.',
        }),
      },
    },
    answer: { description: 'The groups.', schema: RequestErrors },
    errors: ['invalid_parameter'],
  },
} as const satisfies Record<string, Operation>
