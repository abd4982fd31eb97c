/** `/admin/v1/provider-protocols` and `/admin/v1/model-kinds`: what forms are built from. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType } from '../../fields.ts'
import type { Operation } from '../../operation.ts'

const formField = {
  label: Type.String({ description: 'The name as a label of a form.' }),
  description: Type.String({ description: 'What it does, as help of a form.' }),
  required: Type.Boolean({ description: 'Whether it must be given.' }),
  secret: Type.Boolean({
    description: 'Whether it is a secret: it is stored encrypted and never returned.',
  }),
  advanced: Type.Boolean({ description: 'Whether its default suits almost every provider.' }),
  default: Type.Unknown({ description: 'The value if it is not given; null if there is none.' }),
  example: Type.Unknown({ description: 'A value that is valid; null if there is no example.' }),
  schema: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description: 'JSON schema of the value: type, limits and allowed values.',
  }),
}

const Field = Type.Object({
  name: Type.String({
    description: 'Name of the field in the body of `PUT /admin/v1/providers/{name}`.',
  }),
  in_settings: Type.Boolean({ description: 'Whether the field belongs into `settings`, and not beside it.' }),
  ...formField,
})

const ModelKind = Type.Object({
  object: ObjectType('model.kind'),
  kind: Type.String({
    enum: ['video', 'speech', 'transcription', 'chat'],
    description: 'The `kind` of models with these fields.',
  }),
  fields: Type.Array(
    Type.Object({
      name: Type.String({
        description: 'Name of the field in `settings` of `PUT /admin/v1/models/{id}`.',
      }),
      ...formField,
    }),
    { description: 'Everything that a model of this kind can be configured with, in the order of a form.' },
  ),
})
export type ModelKind = Static<typeof ModelKind>

const ModelKinds = Type.Object({
  object: ObjectType('list'),
  data: Type.Array(ModelKind, { description: 'All kinds.' }),
})

const ProviderProtocol = Type.Object({
  object: ObjectType('provider.protocol'),
  kind: Type.String({ description: 'The `kind` of providers of this protocol.' }),
  title: Type.String({ description: 'Name of the protocol, for a list.' }),
  description: Type.String({ description: 'For which services it is.' }),
  capabilities: Type.Array(Type.String({ enum: ['video', 'speech', 'transcription', 'chat'] }), {
    description: 'The kinds of models that it can serve.',
  }),
  default_base_url: Nullable(
    Type.String({ description: 'Address that is used if `base_url` is not given; null if it is required.' }),
  ),
  needs_key: Type.Boolean({ description: 'Whether services of this protocol require an API key.' }),
  fields: Type.Array(Field, {
    description: 'Everything that a provider of this kind can be configured with, in the order of a form.',
  }),
  example: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description: 'A valid body of `PUT /admin/v1/providers/{name}`.',
  }),
})
export type ProviderProtocol = Static<typeof ProviderProtocol>

const Protocols = Type.Object({
  object: ObjectType('list'),
  data: Type.Array(ProviderProtocol, { description: 'All protocols.' }),
})

export const providerProtocolOperations = {
  listProviderProtocols: {
    id: 'listProviderProtocols',
    method: 'GET',
    path: '/admin/v1/provider-protocols',
    summary: 'List the protocols of providers',
    description:
      'Lists the kinds of providers with the fields that each of them has, so that a form can be built from it.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    answer: { description: 'All protocols.', schema: Protocols },
    errors: [],
  },
} as const satisfies Record<string, Operation>

export const modelKindOperations = {
  listModelKinds: {
    id: 'listModelKinds',
    method: 'GET',
    path: '/admin/v1/model-kinds',
    summary: 'List the kinds of models',
    description:
      'Lists the kinds of models with the settings that each of them has, so that a form can be built from it.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    answer: { description: 'All kinds.', schema: ModelKinds },
    errors: [],
  },
} as const satisfies Record<string, Operation>
