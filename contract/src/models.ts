import { Type, type Static } from 'typebox'

export const Model = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Integer({ description: 'Unix time in seconds.' }),
  owned_by: Type.String(),
  endpoints: Type.Array(Type.String(), { description: 'The paths that take this model.' }),
  shutdown_date: Type.Optional(Type.String({ description: 'The day a deprecated model stops working.' })),
})
export type Model = Static<typeof Model>

export const ModelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(Model) })
export type ModelList = Static<typeof ModelList>
