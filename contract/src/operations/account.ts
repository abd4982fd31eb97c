/** What key holders read about themselves. */
import { Type, type Static, type TSchema } from 'typebox'

import { Currency, Micros } from '../money.ts'

const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

export const Me = Type.Object({
  object: Type.Literal('me'),
  key: Type.Object({
    id: Type.String(),
    name: Type.String(),
    hint: Type.String(),
    kind: Type.String({ enum: ['payg', 'subscription'] }),
    models: Nullable(Type.Array(Type.String())),
    expires_at: Nullable(Type.Integer()),
    dialect: Type.String(),
  }),
  account: Type.Object({ id: Type.String(), name: Type.String(), payment_state: Type.String() }),
  balance: Type.Object({ available_micros: Micros, held_micros: Micros, currency: Currency }),
  quota: Nullable(Type.Object({ limit_micros: Micros, used_micros: Micros, currency: Currency })),
  budgets: Type.Array(
    Type.Object({
      period: Type.String(),
      limit_micros: Micros,
      used_micros: Micros,
      currency: Currency,
      resets_at: Type.Integer(),
    }),
  ),
  spend_cap: Nullable(
    Type.Object({
      limit_micros: Micros,
      used_micros: Micros,
      currency: Currency,
      resets_at: Type.Integer(),
    }),
  ),
  subscription: Nullable(
    Type.Object({
      cycle_quota_micros: Nullable(Micros),
      currency: Currency,
      cycle_ends_at: Type.Integer(),
      ends_at: Type.Integer(),
    }),
  ),
  limits: Type.Object({
    requests_per_minute: Nullable(Type.Integer()),
    create: Type.Integer(),
    read: Type.Integer(),
    audio: Type.Integer(),
    chat: Type.Integer(),
  }),
  concurrency: Type.Object({
    per_account: Nullable(Type.Integer()),
    per_key: Nullable(Type.Integer()),
    in_flight: Type.Integer(),
    waiting: Type.Integer(),
  }),
})
export type Me = Static<typeof Me>

/** What one thing costs: so many units at the price of one. */
export const PriceLine = Type.Object({
  unit: Type.String(),
  unit_micros: Micros,
  quantity: Type.Number(),
  total_micros: Micros,
  currency: Currency,
  version: Type.Optional(
    Type.Integer({ description: "Which of the operator's prices it was; absent for the catalog's." }),
  ),
})
export type PriceLine = Static<typeof PriceLine>

export const Receipt = Type.Object({
  object: Type.Literal('receipt'),
  id: Type.String({ description: 'The task or request it is for.' }),
  model: Type.String(),
  status: Type.String(),
  lines: Type.Array(PriceLine),
  hold_micros: Micros,
  captured_micros: Nullable(Micros),
  released_micros: Nullable(Micros),
  currency: Currency,
  entries: Type.Array(
    Type.Object({
      movement: Type.String(),
      amount_micros: Micros,
      currency: Currency,
      created_at: Type.Integer(),
    }),
  ),
})
export type Receipt = Static<typeof Receipt>

/** What a create with `dry_run=true` answers instead of creating anything. */
export const Quote = Type.Object({
  object: Type.Literal('quote'),
  model: Nullable(Type.String()),
  parameters: Type.Unknown({ description: 'The request as it was understood, defaults filled in.' }),
  lines: Type.Array(PriceLine),
  total_micros: Type.Integer({
    description: 'Millionths of `currency`. The most it can cost, where that depends on what is answered.',
  }),
  currency: Currency,
  fits: Type.Boolean({ description: 'Whether this key could pay for it now.' }),
  refusal: Nullable(Type.Object({ code: Type.String(), message: Type.String() })),
})
export type Quote = Static<typeof Quote>
