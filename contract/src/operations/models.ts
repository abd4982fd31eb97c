import { Type, type Static } from 'typebox'

/** What stands behind a model now, where its provider tells. */
export const ModelEngine = Type.Object({
  name: Type.String({ description: 'The engine that answers now.' }),
  wanted: Type.String({ description: 'The best engine there is for this model.' }),
  quality: Type.String({ description: 'How good the answering engine is, in a sentence.' }),
  pull: Type.Optional(
    Type.String({ description: 'The command that brings the wanted engine, where it is missing.' }),
  ),
})
export type ModelEngine = Static<typeof ModelEngine>

export const Model = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Integer({ description: 'Unix time in seconds.' }),
  owned_by: Type.String(),
  endpoints: Type.Array(Type.String(), { description: 'The paths that take this model.' }),
  voices: Type.Optional(Type.Array(Type.String(), { description: 'The voices a model that speaks has.' })),
  engine: Type.Optional(ModelEngine),
  shutdown_date: Type.Optional(Type.String({ description: 'The day a deprecated model stops working.' })),
})
export type Model = Static<typeof Model>

export const ModelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(Model) })
export type ModelList = Static<typeof ModelList>
