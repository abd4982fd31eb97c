/** `/admin/v1/models`: the routes of models. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType } from '../../fields.ts'
import { mebibyte } from '../../limits.ts'
import { errorsOfBodies, type Operation } from '../../operation.ts'
import { ResourceId } from './admin-fields.ts'
import { Health } from './providers.ts'

const route = {
  provider: Type.String({ maxLength: 100, description: 'Name of the provider.' }),
  model: Type.String({ maxLength: 300, description: "The provider's own name of the model." }),
  order: Type.Integer({
    minimum: 1,
    description: 'Priority of the route. The lowest order with a usable route is used.',
  }),
  weight: Type.Integer({ minimum: 1, description: 'Share of the work among routes of the same order.' }),
  seconds: Type.Array(Type.Integer({ minimum: 1 }), {
    maxItems: 100,
    description: 'Durations of video that the route supports.',
  }),
  sizes: Type.Array(Type.String({ maxLength: 20 }), {
    maxItems: 100,
    description: 'Sizes of video that the route supports, such as `1280x720`.',
  }),
  slots: Type.Integer({ minimum: 1, description: 'Tasks of this model that the provider may run at once.' }),
}

export const RoutesBody = Type.Object({
  routes: Type.Array(
    Type.Object({
      provider: route.provider,
      ...Type.Partial(Type.Omit(Type.Object(route), ['provider'])).properties,
    }),
    { maxItems: 50, description: 'The routes of the model.' },
  ),
})

export const ModelRoutes = Type.Object({
  object: ObjectType('model.routes'),
  model: Type.String({ description: 'Id of the model.' }),
  source: Type.String({
    enum: ['record', 'file', 'default'],
    description:
      'Where the routes come from: the admin API (`record`), the providers file (`file`), or neither (`default`): then the first provider that supports the model serves it.',
  }),
  problem: Nullable(
    Type.String({
      description: 'Why the routes of the admin API do not apply, and how to fix it; null if they do.',
    }),
  ),
  routes: Type.Array(
    Type.Object({
      ...route,
      seconds: Nullable(
        Type.Array(Type.Integer({ minimum: 1 }), {
          maxItems: 100,
          description: 'Durations of video that the route supports; null for all.',
        }),
      ),
      sizes: Nullable(
        Type.Array(Type.String({ maxLength: 20 }), {
          maxItems: 100,
          description: 'Sizes of video that the route supports; null for all.',
        }),
      ),
      health: Health,
    }),
    { description: 'The routes in order of priority.' },
  ),
})
export type ModelRoutes = Static<typeof ModelRoutes>

const modelId = ResourceId('model')

export const modelOperations = {
  getModelRoutes: {
    id: 'getModelRoutes',
    method: 'GET',
    path: '/admin/v1/models/{id}/routes',
    summary: 'Get the routes of a model',
    description: 'Returns the providers that serve a model, in order of priority.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: { path: modelId },
    answer: { description: 'The routes.', schema: ModelRoutes },
    errors: ['model_not_found'],
  },
  setModelRoutes: {
    id: 'setModelRoutes',
    method: 'PUT',
    path: '/admin/v1/models/{id}/routes',
    summary: 'Set the routes of a model',
    description:
      'Sets the providers that serve a model. The routes take precedence over the providers file and apply without a restart.',
    access: 'operator',
    roles: ['admin'],
    parameters: { path: modelId },
    body: { form: null, json: [RoutesBody], sizeBytesMax: mebibyte },
    answer: { description: 'The routes.', schema: ModelRoutes },
    errors: [...errorsOfBodies, 'model_not_found'],
  },
  deleteModelRoutes: {
    id: 'deleteModelRoutes',
    method: 'DELETE',
    path: '/admin/v1/models/{id}/routes',
    summary: 'Delete the routes of a model',
    description: 'Deletes the routes that were set with the admin API. The providers file applies again.',
    access: 'operator',
    roles: ['admin'],
    parameters: { path: modelId },
    answer: { description: 'The routes that apply now.', schema: ModelRoutes },
    errors: ['model_not_found'],
  },
} as const satisfies Record<string, Operation>
