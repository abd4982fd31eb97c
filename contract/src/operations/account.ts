/** `/v1/me`, `/v1/usage` and `/v1/receipts`. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType, Page, periodQuery, taskId, Time } from '../fields.ts'
import { keyScopes } from '../key-scope.ts'
import { metadataQuery } from '../metadata.ts'
import { Currency, Micros, Quantity } from '../money.ts'
import type { Operation } from '../operation.ts'

const PerMinute = (description: string) => Type.Integer({ description })

const used = {
  limit_micros: Micros('The limit.'),
  used_micros: Micros('The part of the limit that is used.'),
  currency: Currency,
}

const MeKey = Type.Object(
  {
    id: Type.String({ description: 'Id of the key.' }),
    name: Type.String({ description: 'Name of the key.' }),
    hint: Type.String({ description: 'Last characters of the secret, to tell keys apart.' }),
    kind: Type.String({
      enum: ['payg', 'subscription'],
      description: 'Whether the key pays from the pay-as-you-go balance or from the subscription.',
    }),
    models: Nullable(
      Type.Array(Type.String(), { description: 'Models that the key may use; null for all models.' }),
    ),
    scopes: Type.Array(Type.String({ enum: [...keyScopes] }), {
      description: 'What the key may do: `create`, `read`, `account`.',
    }),
    expires_at: Nullable(Time('When the key expires; null if it does not expire.')),
    dialect: Type.String({
      description: 'Dialect of the responses to this key: `reference` or `openai`.',
    }),
  },
  { description: 'The key of this request.' },
)

export const Me = Type.Object({
  object: ObjectType('me'),
  key: MeKey,
  account: Type.Object(
    {
      id: Type.String({ description: 'Id of the account.' }),
      name: Type.String({ description: 'Name of the account.' }),
      payment_state: Type.String({ description: '`ok`, or `failed` if the last top-up was declined.' }),
    },
    { description: 'The account of the key.' },
  ),
  balance: Type.Object(
    {
      available_micros: Micros('Amount that can be spent.'),
      held_micros: Micros('Amount held for running tasks and requests.'),
      currency: Currency,
    },
    { description: 'Balance of the wallet that the key pays from.' },
  ),
  quota: Nullable(
    Type.Object(used, { description: 'Total amount that the key may ever spend; null for no limit.' }),
  ),
  budgets: Type.Array(
    Type.Object({
      period: Type.String({ description: 'The period: `hour`, `day`, `week` or `month`.' }),
      ...used,
      resets_at: Time('When the next period starts.'),
    }),
    { description: 'Amounts that the key may spend per period.' },
  ),
  spend_cap: Nullable(
    Type.Object(
      { ...used, resets_at: Time('When the next month starts.') },
      { description: 'Amount that the account may spend per calendar month; null for no limit.' },
    ),
  ),
  subscription: Nullable(
    Type.Object(
      {
        cycle_quota_micros: Nullable(Micros('Amount that one cycle may spend.')),
        currency: Currency,
        cycle_ends_at: Time('When the current cycle ends.'),
        ends_at: Time('When the subscription ends.'),
      },
      { description: 'The subscription; null for a pay-as-you-go key.' },
    ),
  ),
  limits: Type.Object(
    {
      requests_per_minute: Nullable(
        PerMinute("The key's limit for all requests together; null for no limit."),
      ),
      create: PerMinute('Requests that create videos, characters or transcription tasks.'),
      read: PerMinute('Requests that read or change existing resources.'),
      audio: PerMinute('Requests for speech, transcriptions and translations.'),
      chat: PerMinute('Requests for chat completions.'),
    },
    { description: 'Rate limits, in requests per minute.' },
  ),
  concurrency: Type.Object(
    {
      per_account: Nullable(
        Type.Integer({ description: 'Tasks that the account may run at once; null for no limit.' }),
      ),
      per_key: Nullable(
        Type.Integer({ description: 'Tasks that the key may run at once; null for no limit.' }),
      ),
      in_flight: Type.Integer({ description: 'Tasks of the account that are running now.' }),
      waiting: Type.Integer({ description: 'Tasks of the account that are queued now.' }),
    },
    { description: 'Limits and current number of tasks.' },
  ),
})
export type Me = Static<typeof Me>

/** The price of a quantity. */
export const PriceLine = Type.Object({
  unit: Type.String({ description: 'The unit of the price, such as `second`.' }),
  unit_micros: Micros('Price of one unit.'),
  quantity: Quantity('How many seconds, calls, images, characters or tokens were counted.'),
  unit_size: Type.Integer({
    description:
      'How many of them are in one unit, such as 60 seconds in a `minute`. `total_micros` is `unit_micros` times `quantity` divided by `unit_size`, rounded up.',
  }),
  total_micros: Micros('Price of all units.'),
  currency: Currency,
  version: Type.Optional(Type.Integer({ description: 'Version of the price, if an operator set it.' })),
  resolution: Type.Optional(
    Type.String({ description: 'The resolution that the price is for, if it is only for one.' }),
  ),
  sound: Type.Optional(
    Type.Boolean({ description: 'Whether the price is for videos with sound, if it depends on it.' }),
  ),
  input: Type.Optional(
    Type.String({ description: 'The kind of input that the price is for, if it depends on it.' }),
  ),
})
export type PriceLine = Static<typeof PriceLine>

export const Receipt = Type.Object({
  object: ObjectType('receipt'),
  id: Type.String({ description: 'Id of the task or request.' }),
  model: Type.String({ description: 'Id of the model.' }),
  status: Type.String({ description: 'State of the task or request.' }),
  lines: Type.Array(PriceLine, { description: 'How the price was calculated.' }),
  hold_micros: Micros('Amount held at the start.'),
  captured_micros: Nullable(Micros('Amount charged; null until the task or request has ended.')),
  released_micros: Nullable(
    Micros('Part of the hold that was returned; null until the task or request has ended.'),
  ),
  refunded_micros: Micros('Part of the charge that was refunded later.'),
  currency: Currency,
  entries: Type.Array(
    Type.Object({
      movement: Type.String({
        description: 'Kind of movement: `hold`, `capture`, `release`, `expiry` or `refund`.',
      }),
      amount_micros: Micros('Amount of the movement.'),
      currency: Currency,
      created_at: Time('When the movement was recorded.'),
    }),
    { description: 'The movements in the ledger.' },
  ),
})
export type Receipt = Static<typeof Receipt>

/** The response to a create with `dry_run=true`. */
export const Quote = Type.Object({
  object: ObjectType('quote'),
  model: Nullable(Type.String({ description: 'Id of the model; null if no model is involved.' })),
  parameters: Type.Unknown({ description: 'The parameters of the request, including defaults.' }),
  lines: Type.Array(PriceLine, { description: 'How the price is calculated.' }),
  total_micros: Micros('The price, or its maximum if the price depends on the output.'),
  currency: Currency,
  fits: Type.Boolean({ description: 'Whether the key could pay this price now.' }),
  refusal: Nullable(
    Type.Object(
      {
        code: Type.String({ description: 'The error code that the request would get.' }),
        message: Type.String({ description: 'The error message that the request would get.' }),
      },
      { description: 'Why the key cannot pay this price; null if it can.' },
    ),
  ),
})
export type Quote = Static<typeof Quote>

export const usageFields = {
  period: Nullable(Time('Start of the hour or day of this row; null if the rows are not grouped by time.')),
  model: Nullable(Type.String({ description: 'Id of the model; null if not grouped by model.' })),
  key_id: Nullable(Type.String({ description: 'Id of the key; null if not grouped by key.' })),
  key_name: Nullable(Type.String({ description: 'Name of the key; null if not grouped by key.' })),
  account_id: Nullable(Type.String({ description: 'Id of the account; null if not grouped by account.' })),
  requests: Type.Integer({ description: 'Tasks and requests that ended in the period.' }),
  completed: Type.Integer({ description: 'Those of them that succeeded.' }),
  failed: Type.Integer({ description: 'Those of them that failed.' }),
  captured_micros: Micros('Amount charged.'),
  refunded_micros: Micros('Amount refunded in the period, also for earlier tasks and requests.'),
  currency: Currency,
  seconds: Quantity('Seconds of generated video or of processed audio.'),
}
export const UsageRow = Type.Object({
  ...usageFields,
  metadata: Nullable(
    Type.Record(Type.String(), Nullable(Type.String()), {
      description:
        'The values of the metadata keys that the rows are grouped by, as text; a value is null for requests without the key, and those whose metadata was deleted. Null if not grouped by metadata.',
    }),
  ),
})
export type UsageRow = Static<typeof UsageRow>

export const UsageFormat = Type.String({
  enum: ['json', 'csv'],
  default: 'json',
  description: 'With `csv`, the response is a table of comma-separated values with a header line.',
})

export const accountOperations = {
  getMe: {
    id: 'getMe',
    method: 'GET',
    path: '/v1/me',
    summary: 'Get the current key and its account',
    description: 'Returns the key of this request with its account, its balance and its limits.',
    access: 'key',
    scopes: ['create', 'read', 'account'],
    limit: 'read',
    answer: { description: 'The key, its account, its balance and its limits.', schema: Me },
    errors: [],
  },
  getUsage: {
    id: 'getUsage',
    method: 'GET',
    path: '/v1/usage',
    summary: 'Get usage and cost',
    description: 'Sums up the tasks and requests that ended in a period, and their cost.',
    access: 'key',
    scopes: ['read', 'account'],
    limit: 'read',
    parameters: {
      optionalQuery: {
        group_by: Type.String({
          default: 'day',
          description:
            'Comma-separated list of `hour`, `day`, `model`, `key`, and `metadata.<key>` for up to five keys of your metadata.',
        }),
        scope: Type.String({
          enum: ['key', 'account'],
          default: 'key',
          description: 'Whether to count this key only or all keys of its account.',
        }),
        ...periodQuery,
        ...metadataQuery,
        format: UsageFormat,
      },
    },
    answer: { description: 'The rows of usage.', schema: Page(UsageRow), texts: true },
    errors: ['invalid_parameter'],
  },
  getReceipt: {
    id: 'getReceipt',
    method: 'GET',
    path: '/v1/receipts/{id}',
    summary: 'Get the receipt of a task or request',
    description: 'Returns the cost of a task or request and how it was calculated.',
    access: 'key',
    scopes: ['read', 'account'],
    limit: 'read',
    parameters: { path: taskId },
    answer: { description: 'The receipt.', schema: Receipt },
    errors: ['task_not_found'],
  },
} as const satisfies Record<string, Operation>
