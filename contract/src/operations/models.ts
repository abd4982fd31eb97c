/** `/v1/models`. */
import { Type, type Static } from 'typebox'

import { ObjectType, Time } from '../fields.ts'
import { errorsOfModels, type Operation } from '../operation.ts'

/** The engine behind a model, if its provider reports one. */
export const ModelEngine = Type.Object(
  {
    name: Type.String({ description: 'The engine that currently serves the model.' }),
    wanted: Type.String({ description: 'The best engine for this model.' }),
    quality: Type.String({ description: 'One sentence about the quality of the current engine.' }),
    pull: Type.Optional(
      Type.String({ description: 'The command that installs the best engine, if it is missing.' }),
    ),
  },
  { description: 'The engine behind the model, if its provider reports one.' },
)
export type ModelEngine = Static<typeof ModelEngine>

export const Model = Type.Object({
  id: Type.String({ description: 'Id of the model.' }),
  object: ObjectType('model'),
  created: Time('When the model was released.'),
  owned_by: Type.String({ description: 'The organization that owns the model.' }),
  endpoints: Type.Array(Type.String(), { description: 'Paths of the endpoints that accept this model.' }),
  voices: Type.Optional(
    Type.Array(Type.String(), { description: 'Names of the voices. Only for models that speak.' }),
  ),
  engine: Type.Optional(ModelEngine),
  shutdown_date: Type.Optional(
    Type.String({ description: 'The date on which a deprecated model stops working.' }),
  ),
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
    description: 'Lists the models that this key may use, in a stable order.',
    access: 'key',
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
    limit: 'read',
    parameters: { path: { id: Type.String({ description: 'Id of the model.' }) } },
    answer: { description: 'The model.', schema: Model },
    errors: [...errorsOfModels],
  },
} as const satisfies Record<string, Operation>
