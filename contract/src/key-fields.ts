/** The fields of keys, for customers and for operators. */
import { Type, type TSchema } from 'typebox'

import { Nullable, Time } from './fields.ts'
import { keyScopes } from './key-scope.ts'
import { Limits, PerMinute, TaskCount } from './limit-fields.ts'
import { Currency, Micros, RequestCurrency, RequestMicros } from './money.ts'

export const Budgets = <Schema extends TSchema>(currency: Schema) =>
  Type.Array(
    Type.Object({
      period: Type.String({ enum: ['hour', 'day', 'week', 'month'], description: 'The period (UTC).' }),
      limit_micros: RequestMicros('Maximum amount to spend per period.'),
      currency,
    }),
    {
      maxItems: 4,
      description: 'Maximum amounts to spend per period. Unspent amounts do not carry over.',
    },
  )

export const keyName = Type.String({ maxLength: 200, description: 'Name of the key.' })
export const Scopes = Type.Array(Type.String({ enum: [...keyScopes] }), {
  minItems: 1,
  maxItems: keyScopes.length,
  uniqueItems: true,
  description:
    'What the key may do: `create` creates, changes and deletes media; `read` reads it; `account` manages keys and budgets of the account.',
})
export const keySettings = {
  name: keyName,
  models: Nullable(
    Type.Array(Type.String(), {
      maxItems: 200,
      description:
        'Models that the key may use, by id or alias; null for all models. An id allows the model under every name, an alias under that name only.',
    }),
  ),
  addresses: Nullable(
    Type.Array(Type.String(), {
      maxItems: 200,
      description: 'IP addresses or CIDR ranges that may use the key; null for all addresses.',
    }),
  ),
  expires_at: Nullable(Time('When the key expires; null if it does not expire.')),
  disabled: Type.Boolean({ description: 'Whether requests with the key are rejected.' }),
  quota_micros: Nullable(
    RequestMicros('Total amount that the key may spend from the time the quota is set; null for no limit.'),
  ),
  requests_per_minute: Nullable(
    PerMinute('Limit for all requests with the key together; null for no limit.'),
  ),
  limits: Limits,
  concurrency: Nullable(
    TaskCount('Tasks that the key may run at once; further tasks are queued. Null for the default.'),
  ),
  dialect: Type.String({
    enum: ['reference', 'openai'],
    description: 'Dialect of the responses to this key.',
  }),
}
export const requestKeySettings = {
  ...keySettings,
  scopes: Scopes,
  budgets: Budgets(Type.Optional(RequestCurrency)),
  currency: RequestCurrency,
}

/** What only the service sets. */
export const keyState = {
  currency: Currency,
  used_micros: Micros('Used part of the quota; 0 for a key without a quota.'),
  budget_usage: Type.Array(
    Type.Object({
      period: Type.String({ enum: ['hour', 'day', 'week', 'month'], description: 'The period (UTC).' }),
      used_micros: Micros('Used part of the budget in the current period, with what is held.'),
      currency: Currency,
      resets_at: Time('When the next period starts.'),
    }),
    { description: 'How much of each budget is used.' },
  ),
  previous_secret_expires_at: Nullable(
    Time('When the secret before the last rotation expires; null if it is not valid any more or never was.'),
  ),
  last_used_at: Nullable(Time('When the key was last used; null if it was never used.')),
  created_at: Time('When the key was created.'),
}

export const KeyHint = Type.String({ description: 'Last characters of the secret, to tell keys apart.' })

export const KeySecret = Type.String({
  description: 'The secret of the key. It is returned only once; the service stores a hash of it.',
})

export const RotateBody = Type.Object({
  overlap_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2_592_000,
      default: 0,
      description:
        'How long the previous secret remains valid, in seconds. Secrets before it are refused at once.',
    }),
  ),
})
