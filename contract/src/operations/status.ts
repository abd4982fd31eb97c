/** `GET /status`. */
import { Type, type Static } from 'typebox'

import { ObjectType, Time } from '../fields.ts'
import type { Operation } from '../operation.ts'

export const serviceStates = ['operational', 'degraded', 'down'] as const
export type ServiceState = (typeof serviceStates)[number]

export const modelKinds = ['video', 'transcription', 'speech', 'chat'] as const
export type ModelKind = (typeof modelKinds)[number]

const State = (description: string) => Type.String({ enum: [...serviceStates], description })

const Day = Type.Object({
  date: Type.String({ format: 'date', description: 'The day, in UTC.' }),
  observed_seconds: Type.Integer({
    description: 'How long the kind was observed on this day. The state of the rest is unknown.',
  }),
  degraded_seconds: Type.Integer({ description: 'How long it was degraded.' }),
  down_seconds: Type.Integer({ description: 'How long it was down.' }),
})

export const ServiceStatus = Type.Object({
  object: ObjectType('status'),
  state: State(
    'The whole service: `down` if every kind is down, `degraded` if any kind is not operational, else `operational`.',
  ),
  updated_at: Time('When the states were determined.'),
  kinds: Type.Array(
    Type.Object({
      kind: Type.String({ enum: [...modelKinds], description: 'Kind of model.' }),
      state: State(
        '`operational`: requests succeed. `degraded`: some models cannot be used, or a part of the tasks fails. `down`: no model of the kind can be used, or no task progresses.',
      ),
      since: Time('Since when it has this state.'),
      days: Type.Array(Day, {
        description: 'The last 90 days on which the kind was observed, oldest first.',
      }),
    }),
    { description: 'The kinds of models that this instance offers.' },
  ),
})
export type ServiceStatus = Static<typeof ServiceStatus>

export const statusOperations = {
  getStatus: {
    id: 'getStatus',
    method: 'GET',
    path: '/status',
    summary: 'Get the status of the service',
    description:
      'Returns how well each kind of model works, now and on each of the last 90 days: as JSON, or as an HTML page if `Accept` prefers `text/html`. It needs no key, and is updated every few seconds.',
    access: 'none',
    answer: { description: 'The status.', schema: ServiceStatus, pages: true },
    errors: [],
  },
} as const satisfies Record<string, Operation>
