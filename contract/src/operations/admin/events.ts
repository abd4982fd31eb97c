/** `/admin/v1/events`. */
import { Type, type Static } from 'typebox'

import type { Operation } from '../../operation.ts'
import { eventFields, EventPage, feedDays, feedQuery } from '../events.ts'

const AdminEvent = Type.Object({
  ...eventFields,
  account_id: Type.String({ description: 'Id of the account.' }),
})
export type AdminEvent = Static<typeof AdminEvent>

export const eventOperations = {
  listAllEvents: {
    id: 'listAllEvents',
    method: 'GET',
    path: '/admin/v1/events',
    summary: 'List the events of all accounts',
    description: `Lists the events of all accounts of the last ${feedDays} days. To process every event once, list with \`order=asc\` and continue with \`after\`, the \`next\` of the previous page.`,
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: {
      optionalQuery: {
        ...feedQuery,
        account_id: Type.String({ description: 'Only events of this account.' }),
      },
    },
    answer: { description: 'A page of events.', schema: EventPage(AdminEvent) },
    errors: ['invalid_parameter'],
  },
} as const satisfies Record<string, Operation>
