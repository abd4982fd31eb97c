/** `/v1/models`. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType, Time } from '../fields.ts'
import { Currency, Micros, priceConditions } from '../money.ts'
import { errorsOfModels, type Operation } from '../operation.ts'
import { imageRoles } from './video-fields.ts'

/** The engine behind a model, if its provider reports one. */
export const ModelEngine = Type.Object(
  {
    name: Type.String({ description: 'The engine that currently serves the model.' }),
    wanted: Type.String({ description: 'The best engine for this model.' }),
    quality: Type.String({
      description:
        'The quality of the current engine, and of the one for other languages, timestamps and translation if that is another.',
    }),
    pull: Type.Optional(
      Type.String({ description: 'The command that installs the best engine, if it is missing.' }),
    ),
  },
  { description: 'The engine behind the model, if its provider reports one.' },
)
export type ModelEngine = Static<typeof ModelEngine>

const ModelSize = Type.Object({
  size: Type.String({ description: 'The name of the size.' }),
  width: Type.Integer({ description: 'Width of the video in pixels.' }),
  height: Type.Integer({ description: 'Height of the video in pixels.' }),
})

export const Model = Type.Object({
  id: Type.String({ description: 'The name for the parameter `model`: the id of the model, or an alias.' }),
  object: ObjectType('model'),
  created: Time('When the model was released.'),
  owned_by: Type.String({ description: 'The organization that owns the model.' }),
  kind: Type.String({
    enum: ['video', 'speech', 'transcription', 'chat'],
    description: 'What the model does.',
  }),
  description: Type.Optional(Type.String({ description: 'One sentence about the model.' })),
  alias_of: Type.Optional(
    Type.String({ description: 'Id of the model that this is another name of. Only for an alias.' }),
  ),
  aliases: Type.Array(Type.String(), { description: 'Other names that requests may use.' }),
  endpoints: Type.Array(Type.String(), { description: 'Paths of the endpoints that accept this model.' }),
  seconds: Type.Optional(
    Type.Object(
      {
        values: Nullable(
          Type.Array(Type.Integer(), {
            description: 'The allowed values; null if all from `min` to `max` are.',
          }),
        ),
        min: Type.Integer({ description: 'The shortest duration.' }),
        max: Type.Integer({ description: 'The longest duration.' }),
      },
      { description: 'The values of `seconds` at `POST /v1/videos`.' },
    ),
  ),
  durations: Type.Optional(
    Type.Array(Type.Integer(), {
      description: 'The durations at `POST /v1/video/create` in seconds. The first one is the default.',
    }),
  ),
  sizes: Type.Optional(Type.Array(ModelSize, { description: 'The values of `size` at `POST /v1/videos`.' })),
  frames: Type.Optional(
    Type.Array(ModelSize, {
      description:
        'The sizes at `POST /v1/video/create`. `size` (`large`: 1080 pixels or more on the shorter side) and `orientation`, or `enable_upsample` and `aspect_ratio`, choose one of them.',
    }),
  ),
  aspect_ratios: Type.Optional(
    Type.Array(Type.String(), { description: 'The values of `aspect_ratio` at `POST /v1/video/create`.' }),
  ),
  images: Type.Optional(
    Type.Object(
      {
        max: Type.Integer({ description: 'The largest number of reference images.' }),
        roles: Type.Array(Type.String({ enum: [...imageRoles] }), {
          description:
            'How the images are used: shown first or last, as things that the video shows (`reference`), or for the style. The first image has the first role, and so on. With several roles, `image_roles` at `POST /v1/video/create` may choose.',
        }),
      },
      { description: 'The reference images that a request may have.' },
    ),
  ),
  reference_video: Type.Optional(
    Type.Boolean({ description: 'Whether a request may have a `reference_video`.' }),
  ),
  reference_audio: Type.Optional(
    Type.Boolean({ description: 'Whether a request may have a `reference_audio`.' }),
  ),
  sound: Type.Optional(
    Type.String({
      enum: ['always', 'never', 'optional'],
      description:
        'Whether the videos have sound; `optional` if the parameter `sound` of the request decides.',
    }),
  ),
  voices: Type.Optional(
    Type.Array(Type.String(), { description: 'Names of the voices. Only for models that speak.' }),
  ),
  prices: Type.Array(
    Type.Object({
      unit: Type.String({ description: 'The unit of the price, such as `second`.' }),
      unit_micros: Micros('Price of one unit.'),
      currency: Currency,
      ...priceConditions,
    }),
    {
      description:
        'The prices of the model. Of several for the same that apply to a request, the one with the most conditions does; a price per image is added.',
    },
  ),
  engine: Type.Optional(ModelEngine),
  state: Type.String({
    enum: ['active', 'deprecated'],
    description: 'Whether the model will be shut down (`deprecated`).',
  }),
  shutdown_date: Type.Optional(
    Type.String({ description: 'The date on which a deprecated model stops working.' }),
  ),
  successor: Type.Optional(Type.String({ description: 'The model to use instead of a deprecated one.' })),
})
export type Model = Static<typeof Model>

const ModelList = Type.Object({
  object: ObjectType('list'),
  data: Type.Array(Model, { description: 'The models.' }),
})

export const modelOperations = {
  listModels: {
    id: 'listModels',
    method: 'GET',
    path: '/v1/models',
    summary: 'List models',
    description:
      'Lists the models that this key may use, in a stable order. An alias is listed after its model, with what is different under that name.',
    access: 'key',
    scopes: ['read'],
    limit: 'read',
    answer: { description: 'The models.', schema: ModelList },
    errors: [],
  },
  getModel: {
    id: 'getModel',
    method: 'GET',
    path: '/v1/models/{id}',
    summary: 'Get a model',
    description: 'Returns one model that this key may use.',
    access: 'key',
    scopes: ['read'],
    limit: 'read',
    parameters: { path: { id: Type.String({ description: 'Id or alias of the model.' }) } },
    answer: { description: 'The model.', schema: Model },
    errors: [...errorsOfModels],
  },
} as const satisfies Record<string, Operation>
