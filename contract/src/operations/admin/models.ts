/** `/admin/v1/models`: the models of the catalog and their routes. */
import { Type, type Static } from 'typebox'

import { Deleted, Nullable, ObjectType, Page, pageQuery, ResourceId } from '../../fields.ts'
import { mebibyte } from '../../limits.ts'
import { Currency, Micros, priceConditions } from '../../money.ts'
import { errorsOfBodies, type Operation } from '../../operation.ts'
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

const costDescription = 'What the provider charges, in the form of the prices of the providers file.'

const CostRule = Type.Object({
  unit: Type.String({ description: 'The unit of the cost, such as `second`.' }),
  micros: Micros('Cost of one unit.'),
  currency: Currency,
  ...priceConditions,
})

export const RoutesBody = Type.Object({
  routes: Type.Array(
    Type.Object({
      provider: route.provider,
      ...Type.Partial(Type.Omit(Type.Object(route), ['provider'])).properties,
      costs: Type.Optional(
        Type.Array(
          Type.Object({
            unit: Type.String({ maxLength: 40, description: 'The unit of the cost, such as `second`.' }),
            micros: Type.Integer({
              minimum: 0,
              description: "Cost of one unit in millionths of the instance's currency.",
            }),
            resolution: Type.Optional(
              Type.String({ maxLength: 20, description: 'Only for this resolution.' }),
            ),
            sound: Type.Optional(Type.Boolean({ description: 'Only for videos with or without sound.' })),
            input: Type.Optional(Type.String({ maxLength: 20, description: 'Only for this kind of input.' })),
          }),
          { maxItems: 100, description: costDescription },
        ),
      ),
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
      costs: Nullable(Type.Array(CostRule, { description: `${costDescription} Null if unknown.` })),
      health: Health,
    }),
    { description: 'The routes in order of priority.' },
  ),
})
export type ModelRoutes = Static<typeof ModelRoutes>

const count = (description: string, maximum = 1_000_000_000) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum, description }))

export const ExplainBody = Type.Object({
  seconds: Type.Optional(
    Type.Number({
      minimum: 0.001,
      maximum: 86_400,
      description:
        'Duration of the video, or of the audio to transcribe. Default: the default of the model, or a minute.',
    }),
  ),
  size: Type.Optional(
    Type.String({
      maxLength: 40,
      description: 'A size of the model, or a width and height such as `1280x720`. Default: the first size.',
    }),
  ),
  sound: Type.Optional(
    Type.Boolean({ description: 'Whether the video has sound. Default: yes if it can have any.' }),
  ),
  images: count('Number of reference images.', 100),
  is_remix: Type.Optional(Type.Boolean({ description: 'Whether the video is a remix.' })),
  characters: count('Characters to speak. Default: 1,000.'),
  text_input_tokens: count('Text tokens of a chat request. Default: 1,000.'),
  audio_input_tokens: count('Audio tokens of a chat request.'),
  text_output_tokens: count('Text tokens of a chat response. Default: 1,000.'),
  audio_output_tokens: count('Audio tokens of a chat response.'),
})

export const RouteExplanation = Type.Object({
  object: ObjectType('route.explanation'),
  model: Type.String({ description: 'Id of the model.' }),
  request: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description: 'The request with its defaults.',
  }),
  price_micros: Micros('What the customer would pay.'),
  currency: Currency,
  routes: Type.Array(
    Type.Object({
      provider: route.provider,
      model: route.model,
      order: route.order,
      weight: route.weight,
      share: Type.Number({
        description: 'How likely the request takes this route now: 1 for certain, 0 for never.',
      }),
      reason: Type.String({ description: 'Why the request would or would not take this route.' }),
      cost_micros: Nullable(
        Micros('What the provider would charge; null if the costs of the route are not configured.'),
      ),
      margin_micros: Nullable(Micros('Price minus cost; null if the cost is unknown.')),
      currency: Currency,
    }),
    { description: 'All routes of the model, in order of priority.' },
  ),
})
export type RouteExplanation = Static<typeof RouteExplanation>

const settings = {
  type: 'object',
  additionalProperties: true,
  description: 'Settings of the model, named as in the providers file, in snake case.',
}

export const ModelBody = Type.Object({
  settings: Type.Unsafe<Record<string, unknown>>({ ...settings, 'x-read-by-endpoint': true }),
})

const sourceDescription =
  'Where the model comes from: the built-in catalog (`catalog`), the providers file (`file`) or the admin API (`record`). A later source changes settings of an earlier one.'

export const ModelEntry = Type.Object({
  id: Type.String({ description: 'Id of the model.' }),
  object: ObjectType('model.entry'),
  kind: Type.String({
    enum: ['video', 'speech', 'transcription', 'chat'],
    description: 'What the model does.',
  }),
  state: Type.String({
    enum: ['active', 'deprecated', 'retired'],
    description: 'State of the model today. It is retired from its shutdown date on.',
  }),
  source: Type.String({ enum: ['catalog', 'file', 'record'], description: sourceDescription }),
  settings: Type.Unsafe<Record<string, unknown>>({
    ...settings,
    description: `All settings in force. ${settings.description}`,
  }),
  changed: Type.Array(Type.String(), {
    description: 'Names of the settings that were set with the admin API.',
  }),
  problem: Nullable(
    Type.String({
      description:
        'Why the settings of the admin API do not apply, and how to fix it; null if they do or there are none.',
    }),
  ),
})
export type ModelEntry = Static<typeof ModelEntry>

const DeletedModel = Type.Object({
  id: Type.String({ description: 'Id of the model.' }),
  deleted: Deleted,
  source: Nullable(
    Type.String({
      enum: ['catalog', 'file'],
      description: 'Where the settings come from that apply again from now on; null if the model is gone.',
    }),
  ),
})

const modelId = ResourceId('model')

export const modelOperations = {
  listModelEntries: {
    id: 'listModelEntries',
    method: 'GET',
    path: '/admin/v1/models',
    summary: 'List the models of the catalog',
    description: 'Lists all models by id, with all their settings. Retired models are included.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: { optionalQuery: pageQuery },
    answer: { description: 'A page of models.', schema: Page(ModelEntry) },
    errors: ['invalid_parameter'],
  },
  getModelEntry: {
    id: 'getModelEntry',
    method: 'GET',
    path: '/admin/v1/models/{id}',
    summary: 'Get a model of the catalog',
    description: 'Returns a model with all its settings, also if it is retired.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: { path: modelId },
    answer: { description: 'The model.', schema: ModelEntry },
    errors: ['model_not_found'],
  },
  setModelEntry: {
    id: 'setModelEntry',
    method: 'PUT',
    path: '/admin/v1/models/{id}',
    summary: 'Add or change a model',
    description:
      'Adds a model, or changes settings of a model of the built-in catalog or of the providers file. The settings replace those of an earlier request; routes stay unless new ones are given. They take effect without a restart.',
    access: 'operator',
    roles: ['admin'],
    parameters: { path: modelId },
    body: { form: null, json: [ModelBody], sizeBytesMax: mebibyte },
    answer: { description: 'The model.', schema: ModelEntry },
    errors: [...errorsOfBodies],
  },
  deleteModelEntry: {
    id: 'deleteModelEntry',
    method: 'DELETE',
    path: '/admin/v1/models/{id}',
    summary: 'Delete the settings of a model',
    description:
      'Deletes what was set with the admin API, routes included. A model of the built-in catalog or of the providers file has its settings from there again. Any other model is gone; retire it first and wait until its tasks have ended.',
    access: 'operator',
    roles: ['admin'],
    parameters: { path: modelId },
    answer: { description: 'What was deleted.', schema: DeletedModel },
    errors: ['model_not_found', 'conflict'],
  },
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
  explainModelRoutes: {
    id: 'explainModelRoutes',
    method: 'POST',
    path: '/admin/v1/models/{id}/routes/explain',
    summary: 'Explain the choice of a route',
    description:
      'Returns which route a request would take now, why, and what it would cost at each route. Nothing is created or sent.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: { path: modelId },
    body: { form: null, json: [ExplainBody], sizeBytesMax: mebibyte },
    answer: { description: 'The routes.', schema: RouteExplanation },
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
