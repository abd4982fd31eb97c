/** `/admin/v1/health`. */
import { Type } from 'typebox'

import { Nullable, ObjectType, Time } from '../../fields.ts'
import type { Operation } from '../../operation.ts'
import { modelKinds, serviceStates } from '../status.ts'
import { Health as RouteHealth, Spend } from './providers.ts'

const State = (description: string) => Type.String({ enum: [...serviceStates], description })

const Health = Type.Object({
  object: ObjectType('health'),
  state: State('The state of the whole service, as customers see it at `/status`.'),
  updated_at: Time('When the states were determined.'),
  worker_seen_seconds_ago: Nullable(
    Type.Integer({
      description: 'Seconds since a worker last reached Restate; null if none ever did.',
    }),
  ),
  kinds: Type.Array(
    Type.Object({
      kind: Type.String({ enum: [...modelKinds], description: 'Kind of model.' }),
      state: State('State of the kind.'),
      since: Time('Since when it has this state.'),
      reasons: Type.Array(Type.String(), {
        description: 'Why it is not operational, with the names of models and providers; empty if it is.',
      }),
    }),
    { description: 'The kinds of models that this instance offers.' },
  ),
  providers: Type.Array(
    Type.Object({
      name: Type.String({ description: 'Name of the provider.' }),
      enabled: Type.Boolean({ description: 'Whether the provider gets new jobs.' }),
      problem: Nullable(
        Type.String({ description: 'Why the provider cannot be used, and how to fix it; null if it can.' }),
      ),
      unhealthy_models: Type.Array(
        Type.Object({ model: Type.String({ description: 'Id of the model.' }), health: RouteHealth }),
        { description: 'The models for which the provider gets no new jobs now.' },
      ),
      spend: Nullable(Spend),
      tasks_in_flight: Type.Integer({ description: 'Tasks that the provider is working on.' }),
      tasks_waiting: Type.Integer({ description: 'Tasks that wait for a slot of the provider.' }),
    }),
    { description: 'All providers, by name.' },
  ),
})

export const healthOperations = {
  getHealth: {
    id: 'getHealth',
    method: 'GET',
    path: '/admin/v1/health',
    summary: 'Get the health of the service with reasons',
    description:
      'Returns the states that customers see at `/status`, with their reasons, and every provider with what is wrong with it.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    answer: { description: 'The health.', schema: Health },
    errors: [],
  },
} as const satisfies Record<string, Operation>
