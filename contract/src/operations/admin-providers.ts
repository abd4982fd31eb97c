/** What operators read and write of providers and of the routes to them. */
import { Type, type Static } from 'typebox'

import { Nullable, Time } from './admin.ts'

const Milliseconds = Type.Integer({ minimum: 1 })

/** What can be said of a provider of any kind. Each kind has settings of its own beside them. */
const common = {
  base_url: Type.String({ maxLength: 2_000, description: 'Where it is reached.' }),
  enabled: Type.Boolean({ description: 'False to give it nothing new; it finishes what it has.' }),
  slots: Type.Integer({ minimum: 1, description: 'Jobs it may have in flight.' }),
  shards: Type.Integer({ minimum: 1, description: 'Over how many watches they are spread.' }),
  poll_interval_ms_min: Milliseconds,
  poll_interval_ms_max: Milliseconds,
  submit_timeout_ms: Milliseconds,
  poll_timeout_ms: Milliseconds,
  download_timeout_ms: Milliseconds,
  connections: Type.Integer({ minimum: 1, description: 'To one origin, at a time.' }),
  result_origins: Type.Array(Type.String({ maxLength: 2_000 }), {
    maxItems: 100,
    description: 'Origins that results may be fetched from although their addresses are private.',
  }),
}
export const apiKeyCharactersMax = 8_000

const settings = {
  description: 'What only its kind knows of, named as in the providers file, in snake case.',
}

export const ProviderBody = Type.Object({
  kind: Type.String({ maxLength: 100, description: 'The protocol it speaks.' }),
  ...Type.Partial(Type.Object(common)).properties,
  api_key: Type.Optional(
    Type.Unsafe<unknown>({
      anyOf: [{ type: 'string', minLength: 1, maxLength: apiKeyCharactersMax }, { type: 'null' }],
      // A refusal quotes what it refuses, and this must not be quoted.
      'x-read-by-endpoint': true,
      description:
        'Kept sealed and never shown again. Not given, the one it has stays; null takes that one away.',
    }),
  ),
  settings: Type.Optional(
    Type.Unsafe<unknown>({
      type: 'object',
      additionalProperties: true,
      'x-read-by-endpoint': true,
      ...settings,
    }),
  ),
})

const Health = Type.Object({
  state: Type.String({ enum: ['well', 'unhealthy'] }),
  because: Nullable(Type.String()),
  until: Nullable(Type.Integer({ description: 'Nobody calls before then; Unix time in seconds.' })),
})

export const Provider = Type.Object({
  name: Type.String(),
  object: Type.Literal('provider'),
  source: Type.String({
    enum: ['file', 'record'],
    description: '`record` where operators set it up, `file` where the configuration does.',
  }),
  kind: Type.String(),
  ...common,
  settings: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, ...settings }),
  credential_hint: Nullable(
    Type.String({ description: 'The end of its key, for people to tell keys apart; null without one.' }),
  ),
  is_removed: Type.Boolean({ description: 'True for one that only finishes what it has.' }),
  problem: Nullable(Type.String({ description: 'Why it cannot be used as it is set up, and what to do.' })),
  models: Type.Array(
    Type.Object({
      model: Type.String(),
      upstream_model: Type.String(),
      order: Type.Integer(),
      weight: Type.Integer(),
      health: Health,
    }),
    { description: 'What it serves, and how it does with each.' },
  ),
  tasks_in_flight: Type.Integer(),
  tasks_waiting: Type.Integer({ description: 'For a slot of it.' }),
  changed_at: Nullable(Time),
})
export type Provider = Static<typeof Provider>

export const DeletedProvider = Type.Object({
  name: Type.String(),
  deleted: Type.Literal(true),
  is_of_file: Type.Boolean({
    description: 'True where the configuration has one of this name, which counts again from now on.',
  }),
  open_tasks: Type.Integer({ description: 'Tasks that it finishes before it is gone from the list.' }),
})

export const ForgottenHealth = Type.Object({
  name: Type.String(),
  object: Type.Literal('provider.health'),
  forgotten: Type.Array(Type.String(), { description: 'Models that it was known to be unhealthy with.' }),
})

const route = {
  provider: Type.String({ maxLength: 100 }),
  model: Type.String({ maxLength: 300, description: "The provider's name for the model." }),
  order: Type.Integer({
    minimum: 1,
    description: 'The lowest that will do is taken; the others wait for their turn.',
  }),
  weight: Type.Integer({ minimum: 1, description: 'Its share among routes of the same order.' }),
  seconds: Type.Array(Type.Integer({ minimum: 1 }), {
    maxItems: 100,
    description: 'Lengths of video it makes.',
  }),
  sizes: Type.Array(Type.String({ maxLength: 20 }), {
    maxItems: 100,
    description: 'Sizes of video it makes, such as `1280x720`.',
  }),
  slots: Type.Integer({ minimum: 1, description: 'Tasks of this model it may have in flight.' }),
}

export const RoutesBody = Type.Object({
  routes: Type.Array(
    Type.Object({
      provider: route.provider,
      ...Type.Partial(Type.Omit(Type.Object(route), ['provider'])).properties,
    }),
    { maxItems: 50 },
  ),
})

export const ModelRoutes = Type.Object({
  object: Type.Literal('model.routes'),
  model: Type.String(),
  source: Type.String({
    enum: ['record', 'file', 'default'],
    description:
      '`record` where operators set them, `file` where the configuration does, `default` where nobody does: the first provider that can do it serves the model.',
  }),
  problem: Nullable(Type.String({ description: 'Why what operators set does not count, and what to do.' })),
  routes: Type.Array(
    Type.Object({
      ...route,
      seconds: Nullable(route.seconds),
      sizes: Nullable(route.sizes),
      health: Health,
    }),
  ),
})
export type ModelRoutes = Static<typeof ModelRoutes>
