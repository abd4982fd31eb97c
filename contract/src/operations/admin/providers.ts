/** `/admin/v1/providers`. */
import { Type, type Static } from 'typebox'

import { Deleted, Nullable, ObjectType, Page, pageQuery, Time } from '../../fields.ts'
import { mebibyte } from '../../limits.ts'
import { Currency, Micros, RequestCurrency, RequestMicros } from '../../money.ts'
import { errorsOfBodies, type Operation } from '../../operation.ts'

const Milliseconds = (description: string) =>
  Type.Integer({ minimum: 1, description: `${description} In milliseconds.` })

/** Settings of every provider, whatever its kind. */
const commonSettings = {
  base_url: Type.String({ maxLength: 2_000, description: "URL of the provider's API." }),
  enabled: Type.Boolean({
    description: 'Whether the provider gets new jobs. A disabled provider finishes its running jobs.',
  }),
  slots: Type.Integer({ minimum: 1, description: 'Jobs that the provider may run at once.' }),
  shards: Type.Integer({ minimum: 1, description: 'Number of loops that poll its jobs.' }),
  poll_interval_ms_min: Milliseconds('Shortest time between two polls of a job.'),
  poll_interval_ms_max: Milliseconds('Longest time between two polls of a job.'),
  submit_timeout_ms: Milliseconds('Timeout for submitting a job.'),
  poll_timeout_ms: Milliseconds('Timeout for polling a job.'),
  download_timeout_ms: Milliseconds('Timeout for downloading a result.'),
  concurrency: Type.Integer({
    minimum: 1,
    description:
      'Synchronous calls (speech, transcription, translation, audio chat) that each API process may have in flight.',
  }),
  connections: Type.Integer({
    minimum: 1,
    description: 'Connections that each process may open to one origin.',
  }),
  traceparent: Type.Boolean({
    description: 'Whether calls have the header `traceparent` with the ids of their trace.',
  }),
  result_origins: Type.Array(Type.String({ maxLength: 2_000 }), {
    maxItems: 100,
    description: 'Origins with private addresses from which results may be downloaded.',
  }),
}

const budgetSettings = {
  budget_alert_percent: Type.Integer({
    minimum: 1,
    maximum: 100,
    description: 'Share of the budget from which on operators are warned.',
  }),
  budget_stops: Type.Boolean({
    description: 'Whether the provider gets no new work for the rest of the day once its budget is reached.',
  }),
}

const budgetPerDay =
  'What the provider may cost per UTC day: what tasks and requests that ended on the day have cost, and what those in flight will cost.'

export const apiKeyCharactersMax = 8_000

const settings = {
  type: 'object',
  additionalProperties: true,
  description: "Settings of the provider's kind, named as in the providers file, in snake case.",
}

const kind = Type.String({ maxLength: 100, description: 'The protocol of the provider, such as `openai`.' })

export const ProviderBody = Type.Object({
  kind,
  ...Type.Partial(Type.Object(commonSettings)).properties,
  ...Type.Partial(Type.Object(budgetSettings)).properties,
  budget_per_day_micros: Type.Optional(RequestMicros(`${budgetPerDay} If omitted, any amount.`, 1)),
  currency: Type.Optional(RequestCurrency),
  api_key: Type.Optional(
    Type.Unsafe<unknown>({
      anyOf: [{ type: 'string', minLength: 1, maxLength: apiKeyCharactersMax }, { type: 'null' }],
      // The parameter reader quotes rejected values, and an API key must not be quoted.
      'x-read-by-endpoint': true,
      description:
        'API key of the provider. It is stored encrypted and never returned. If omitted, the current key stays; null removes it.',
    }),
  ),
  settings: Type.Optional(Type.Unsafe<unknown>({ ...settings, 'x-read-by-endpoint': true })),
})

export const Health = Type.Object(
  {
    state: Type.String({
      enum: ['healthy', 'unhealthy'],
      description: 'Whether the provider gets new jobs of this model.',
    }),
    reason: Nullable(Type.String({ description: 'Why it is unhealthy; null if it is healthy.' })),
    until: Nullable(Time('When it is tried again; null if it is healthy.')),
  },
  { description: 'Health of the provider for this model.' },
)

export const Spend = Type.Object(
  {
    day: Type.String({ format: 'date', description: 'The UTC day of the amounts.' }),
    spent_micros: Micros('What tasks and requests that ended on this day have cost.'),
    committed_micros: Micros('What jobs in flight cost.'),
    state: Type.String({
      enum: ['within', 'alert', 'spent'],
      description:
        'Whether what was spent and committed has reached `budget_alert_percent` of the budget (`alert`), or all of it (`spent`).',
    }),
    is_stopped: Type.Boolean({ description: 'Whether the provider gets no new work now.' }),
    resets_at: Time('When the day ends.'),
    models_without_costs: Type.Array(Type.String(), {
      description:
        'Models whose costs at this provider are not configured. They count as free, so set `costs` of their routes.',
    }),
    currency: Currency,
  },
  { description: 'What the provider has cost today.' },
)

export const Provider = Type.Object({
  name: Type.String({ description: 'Name of the provider.' }),
  object: ObjectType('provider'),
  source: Type.String({
    enum: ['file', 'record'],
    description:
      'Where its configuration comes from: the providers file (`file`) or the admin API (`record`).',
  }),
  kind: Type.String({ description: 'The protocol of the provider.' }),
  ...commonSettings,
  budget_per_day_micros: Nullable(Micros(`${budgetPerDay} Null for any amount.`)),
  ...budgetSettings,
  currency: Currency,
  spend: Nullable(Spend),
  settings: Type.Unsafe<Record<string, unknown>>(settings),
  credential_hint: Nullable(
    Type.String({ description: 'Last characters of its API key, to tell keys apart; null without a key.' }),
  ),
  is_removed: Type.Boolean({
    description: 'Whether the provider was deleted and only finishes its running jobs.',
  }),
  problem: Nullable(
    Type.String({ description: 'Why the provider cannot be used, and how to fix it; null if it can.' }),
  ),
  models: Type.Array(
    Type.Object({
      model: Type.String({ description: 'Id of the model.' }),
      upstream_model: Type.String({ description: "The provider's own name of the model." }),
      order: Type.Integer({ description: 'Priority of the route; lower values are tried first.' }),
      weight: Type.Integer({ description: 'Share of the work among routes of the same order.' }),
      health: Health,
    }),
    { description: 'The models that the provider serves.' },
  ),
  tasks_in_flight: Type.Integer({ description: 'Tasks that the provider is working on.' }),
  tasks_waiting: Type.Integer({ description: 'Tasks that wait for a slot of the provider.' }),
  duration_mismatches: Type.Integer({
    description:
      'Recordings for which the provider reported another duration than the one that was measured and charged. Each is in the log as `recording.duration-mismatch`.',
  }),
  updated_at: Nullable(
    Time('When an operator last changed the configuration; null if it comes from the file.'),
  ),
})
export type Provider = Static<typeof Provider>

const DeletedProvider = Type.Object({
  name: Type.String({ description: 'Name of the provider.' }),
  deleted: Deleted,
  is_of_file: Type.Boolean({
    description:
      'Whether the providers file has a provider of this name. Its configuration applies again from now on.',
  }),
  open_tasks: Type.Integer({
    description: 'Running tasks that the provider still finishes. It stays in the list until then.',
  }),
})

const ResetHealth = Type.Object({
  name: Type.String({ description: 'Name of the provider.' }),
  object: ObjectType('provider.health'),
  forgotten: Type.Array(Type.String(), { description: 'Models for which the provider was unhealthy.' }),
})

const TestStep = Type.Object({
  name: Type.String({
    enum: ['configuration', 'address', 'key'],
    description:
      '`configuration`: the settings are valid and the stored key can be read. `address`: the provider answers as its protocol defines. `key`: it accepts the key.',
  }),
  title: Type.String({ description: 'The step in a few words.' }),
  result: Type.String({
    enum: ['passed', 'failed', 'unknown', 'skipped'],
    description: '`unknown`: the answer does not show it. `skipped`: an earlier step failed.',
  }),
  duration_ms: Type.Integer({ minimum: 0, description: 'Duration of the step, in milliseconds.' }),
  message: Type.String({ description: 'The result in words.' }),
  repair: Nullable(Type.String({ description: 'How to fix it; null if it did not fail.' })),
})

const ProviderTest = Type.Object({
  object: ObjectType('provider.test'),
  provider: Type.String({ description: 'Name of the provider.' }),
  ok: Type.Boolean({ description: 'Whether the provider answered as its protocol defines.' }),
  key_verified: Type.Boolean({
    description:
      'Whether the answer shows that the provider accepts the key. False also for kinds and services without a call that shows it; `message` says so.',
  }),
  status: Nullable(Type.Integer({ description: 'HTTP status of the answer; null if there was none.' })),
  duration_ms: Type.Integer({ description: 'Duration of the call, in milliseconds.' }),
  message: Type.String({
    description:
      'The result in words. After a failure: the reason, and how to fix it. It contains no secrets.',
  }),
  steps: Type.Array(TestStep, { description: 'The steps of the test, in their order.' }),
  cost_micros: Micros('What the test cost at the provider: always 0, because it creates no job.'),
  currency: Currency,
})

const providerName = { name: Type.String({ description: 'Name of the provider.' }) }

export const providerOperations = {
  listProviders: {
    id: 'listProviders',
    method: 'GET',
    path: '/admin/v1/providers',
    summary: 'List providers',
    description: 'Lists providers by name, with their configuration, models, health and load.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: { optionalQuery: pageQuery },
    answer: { description: 'A page of providers.', schema: Page(Provider) },
    errors: ['invalid_parameter'],
  },
  getProvider: {
    id: 'getProvider',
    method: 'GET',
    path: '/admin/v1/providers/{name}',
    summary: 'Get a provider',
    description: 'Returns a provider with its configuration, models, health and load.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: { path: providerName },
    answer: { description: 'The provider.', schema: Provider },
    errors: ['resource_not_found'],
  },
  setProvider: {
    id: 'setProvider',
    method: 'PUT',
    path: '/admin/v1/providers/{name}',
    summary: 'Create or replace a provider',
    description:
      'Creates a provider or replaces its configuration. It takes precedence over the providers file and applies without a restart.',
    access: 'operator',
    roles: ['admin'],
    parameters: { path: providerName },
    body: { form: null, json: [ProviderBody], sizeBytesMax: mebibyte },
    answer: { description: 'The provider.', schema: Provider },
    errors: [...errorsOfBodies, 'conflict'],
  },
  deleteProvider: {
    id: 'deleteProvider',
    method: 'DELETE',
    path: '/admin/v1/providers/{name}',
    summary: 'Delete a provider',
    description:
      'Deletes the configuration that was made with the admin API. The provider gets no new jobs and finishes its running ones.',
    access: 'operator',
    roles: ['admin'],
    parameters: { path: providerName },
    answer: { description: 'The provider was deleted.', schema: DeletedProvider },
    errors: ['resource_not_found', 'conflict'],
  },
  resetProviderHealth: {
    id: 'resetProviderHealth',
    method: 'POST',
    path: '/admin/v1/providers/{name}/reset-health',
    summary: 'Reset the health of a provider',
    description:
      'Closes the circuit breakers of a provider, so that it gets new jobs at once. A pause that the provider requested with `Retry-After` stays.',
    access: 'operator',
    roles: ['admin'],
    parameters: { path: providerName },
    answer: { description: 'The models that were reset.', schema: ResetHealth },
    errors: ['resource_not_found'],
  },
  testProvider: {
    id: 'testProvider',
    method: 'POST',
    path: '/admin/v1/providers/{name}/test',
    summary: 'Test the address and the key of a provider',
    description:
      'Makes the cheapest call of the protocol of a provider that shows whether its address and its key are right, such as a list of models. It creates no job and costs nothing. A failure of the provider is a result with `ok: false` and an explanation. The provider may be disabled. After a success, a provider that was skipped because it refused its key is used again, and one that was skipped for another reason is tried with the next job.',
    access: 'operator',
    roles: ['admin'],
    parameters: { path: providerName },
    answer: { description: 'The result of the call.', schema: ProviderTest },
    errors: ['resource_not_found'],
  },
} as const satisfies Record<string, Operation>
