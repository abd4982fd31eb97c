/** `/v1/events`: the event feed of the account. */
import { Type, type Static, type TSchema } from 'typebox'

import { ObjectType, Time } from '../fields.ts'
import type { Operation } from '../operation.ts'
import { eventTypeNames } from '../webhook-events.ts'

/** The feed has the events of this period. */
export const feedDays = 30

export const eventFields = {
  id: Type.String({ description: 'Id of the event: the same at every read and in every webhook.' }),
  object: ObjectType('event'),
  type: Type.String({ enum: [...eventTypeNames], description: 'What happened.' }),
  created_at: Time('When it happened.'),
  data: Type.Object(
    {},
    {
      additionalProperties: true,
      description:
        'The object that the event is about, with its `id`. Of a task, there are also its `status` and, if it is known, its `progress`: read the task for the rest.',
    },
  ),
}

export const Event = Type.Object(eventFields)
export type Event = Static<typeof Event>

/** A page of events. Unlike other lists, it can be continued when it has ended, because more events follow. */
export const EventPage = <Item extends TSchema>(item: Item) =>
  Type.Object({
    object: ObjectType('list'),
    data: Type.Array(item, { description: 'The events on this page.' }),
    has_more: Type.Boolean({ description: 'Whether more events follow this page now.' }),
    next: Type.String({
      description:
        'Cursor of the last event on this page, or of the end of the feed if the feed is empty. Send it as `after`. It is never null: with `order=asc`, it leads to the events that happen later.',
    }),
  })

const cursorPattern = {
  pattern: '^[A-Za-z0-9_-]{54}$',
  'x-demand':
    'the next of a page or the id of a server-sent event, such as q3vK0b1TzXo4c7mEJ2hYwUe8r5nLsD6gA9fPiVtkMjRZxQWaSCyBNH',
}

export const feedQuery = {
  limit: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 20,
    description: 'Maximum number of events to return.',
  }),
  after: Type.String({
    ...cursorPattern,
    description: 'Return the events that follow this cursor: the `next` of a page.',
  }),
  order: Type.String({
    enum: ['asc', 'desc'],
    default: 'desc',
    description: 'Newest first (`desc`), or in the order in which they were committed (`asc`).',
  }),
  type: Type.String({ enum: [...eventTypeNames], description: 'Only events of this type.' }),
  stream: Type.Boolean({
    default: false,
    description: 'Whether to stream the events. `limit` and `order` have no effect then.',
  }),
}

export const eventOperations = {
  listEvents: {
    id: 'listEvents',
    method: 'GET',
    path: '/v1/events',
    summary: 'List or follow events',
    description: `Lists the events of the account of the last ${feedDays} days, as long as their task is not deleted. To process every event once, list with \`order=asc\` and continue with \`after\`, the \`next\` of the previous page. With \`stream\`, or with \`Accept: text/event-stream\`, the response is a stream of server-sent events: those after the cursor, then new ones as they happen. Without a cursor, the stream begins with new events. The \`id\` of each server-sent event is a cursor. To resume a stream, send the last one in the \`Last-Event-ID\` header. If the key is revoked or the account is suspended, the stream ends with an event \`error\`, whose data is the error object.`,
    access: 'key',
    scopes: ['read', 'account'],
    limit: 'read',
    parameters: {
      optionalQuery: feedQuery,
    },
    answer: {
      description: 'A page of events, or server-sent events.',
      schema: EventPage(Event),
      streams: true,
      events: Event,
    },
    errors: ['invalid_parameter'],
  },
} as const satisfies Record<string, Operation>
