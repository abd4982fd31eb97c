/** `/v1/statements`. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType, Page, Time } from '../fields.ts'
import { Currency, Micros, Quantity } from '../money.ts'
import type { Operation } from '../operation.ts'

const statementStates = ['open', 'closed'] as const

const monthFields = {
  month: Type.String({ description: 'The calendar month in UTC, such as `2026-10`.' }),
  state: Type.String({
    enum: [...statementStates],
    description:
      '`open`: the month has not ended, or ended less than an hour ago. `closed`: its figures no longer change.',
  }),
  from: Time('Start of the month, inclusive.'),
  to: Time('End of the month, exclusive.'),
}

export const StatementMonth = Type.Object({ object: ObjectType('statement_month'), ...monthFields })
export type StatementMonth = Static<typeof StatementMonth>

const Movements = (description: string, amount: string) =>
  Type.Object(
    {
      count: Type.Integer({ description: 'How many of these movements were made.' }),
      amount_micros: Micros(amount),
      currency: Currency,
    },
    { description },
  )

export const StatementCharge = Type.Object({
  model: Nullable(Type.String({ description: 'Id of the model; null if it is no longer known.' })),
  count: Type.Integer({ description: 'Tasks and requests that were charged.' }),
  quantities: Type.Array(
    Type.Object({
      unit: Type.String({ description: 'The unit of the price, such as `second`.' }),
      quantity: Quantity('How many seconds, calls, images, characters or tokens were charged.'),
      unit_size: Type.Integer({
        description: 'How many of them are in one unit, such as 60 seconds in a `minute`.',
      }),
    }),
    { description: 'What was charged, by unit of the price.' },
  ),
  amount_micros: Micros('Amount charged.'),
  currency: Currency,
})
export type StatementCharge = Static<typeof StatementCharge>

export const StatementWallet = Type.Object({
  wallet: Type.String({
    enum: ['payg', 'subscription'],
    description: 'The wallet: pay-as-you-go or subscription.',
  }),
  currency: Currency,
  opening_balance_micros: Micros('Balance at the start of the month, with held amounts.'),
  top_ups: Movements('Payments.', 'Amount added.'),
  grants: Movements('Quotas of subscription cycles.', 'Amount added.'),
  refunds: Movements('Refunds, also of charges of earlier months.', 'Amount added.'),
  adjustments: Movements(
    'Corrections by the operator.',
    'Amount added; negative if the adjustments lowered the balance.',
  ),
  expiries: Movements('Unspent rests of subscription cycles.', 'Amount removed, as a negative number.'),
  charges: Movements('Charges of all models.', 'Amount removed, as a negative number.'),
  charges_by_model: Type.Array(StatementCharge, {
    description: 'The charges of each model, as positive amounts. They sum up to `charges`.',
  }),
  closing_balance_micros: Micros(
    'Balance at the end of the month, with held amounts: the opening balance plus all movements above.',
  ),
  held_micros: Micros(
    'The part of the closing balance that was held for tasks and requests that had not ended.',
  ),
})
export type StatementWallet = Static<typeof StatementWallet>

export const Statement = Type.Object({
  object: ObjectType('statement'),
  ...monthFields,
  as_of: Time('Until when movements are included: the end of the month, or now in the current month.'),
  issuer: Type.Object(
    {
      name: Nullable(Type.String({ description: 'Name of the operator; null if not configured.' })),
      address: Type.Array(Type.String(), { description: 'Lines of the address of the operator.' }),
      tax_number: Nullable(
        Type.String({ description: 'Tax number of the operator; null if not configured.' }),
      ),
    },
    { description: 'Who issues the statement.' },
  ),
  account: Type.Object(
    {
      id: Type.String({ description: 'Id of the account.' }),
      name: Type.String({ description: 'Name of the account.' }),
    },
    { description: 'The account.' },
  ),
  wallets: Type.Array(StatementWallet, {
    description: 'The wallets of the account. Nothing flows between them.',
  }),
})
export type Statement = Static<typeof Statement>

export const monthPath = {
  month: Type.String({ description: 'The calendar month in UTC, such as `2026-10`.' }),
}

export const statementQuery = {
  format: Type.String({
    enum: ['json', 'csv', 'html'],
    default: 'json',
    description:
      'With `csv`, the response is a table of comma-separated values with a header line. With `html`, it is a page for reading and printing.',
  }),
}

export const statementOperations = {
  listStatements: {
    id: 'listStatements',
    method: 'GET',
    path: '/v1/statements',
    summary: 'List statements',
    description: 'Lists the months in which money of the account moved, newest first.',
    access: 'key',
    scopes: ['account'],
    limit: 'read',
    answer: { description: 'The months. There is always a single page.', schema: Page(StatementMonth) },
    errors: [],
  },
  getStatement: {
    id: 'getStatement',
    method: 'GET',
    path: '/v1/statements/{month}',
    summary: 'Get the statement of a month',
    description:
      'Returns the opening balance, the movements and the closing balance of each wallet in a calendar month, from the ledger. The statement of a closed month does not change: a later refund or adjustment is in the month in which it is made.',
    access: 'key',
    scopes: ['account'],
    limit: 'read',
    parameters: { path: monthPath, optionalQuery: statementQuery },
    answer: { description: 'The statement.', schema: Statement, texts: true, pages: true },
    errors: ['invalid_parameter', 'resource_not_found'],
  },
} as const satisfies Record<string, Operation>
