/** `/admin/v1/events`. */
import { Type, type Static } from 'typebox'

import type { Operation } from '../../operation.ts'
import { eventFields, EventPage, feedDays, feedQuery } from '../events.ts'

export const AdminEvent = Type.Object({
  ...eventFields,
  account_id: Type.String({ description: 'Id of the account.' }),
})
export type AdminEvent = Static<typeof AdminEvent>

export const eventOperations = {
  listAllEvents: {
    id: 'listAllEvents',
    method: 'GET',
    path: '/admin/v1/events',
    summary: 'List or follow the events of all accounts',
    description: `Lists the events of all accounts of the last ${feedDays} days. To process every event once, list with \`order=asc\` and continue with \`after\`, the \`next\` of the previous page. With \`stream\`, or with \`Accept: text/event-stream\`, the response is a stream of server-sent events, which begins with new events or after a cursor. The \`id\` of each server-sent event is a cursor. To resume a stream, send the last one in the \`Last-Event-ID\` header. If the key is revoked or expires, or its role does not allow this any more, the stream ends with an event \`error\`, whose data is the error object.`,
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: {
      optionalQuery: {
        ...feedQuery,
        account_id: Type.String({ description: 'Only events of this account.' }),
      },
    },
    answer: {
      description: 'A page of events, or server-sent events.',
      schema: EventPage(AdminEvent),
      streams: true,
      events: AdminEvent,
    },
    errors: ['invalid_parameter'],
  },
} as const satisfies Record<string, Operation>
