/** Top-ups, adjustments, refunds, the ledger and receipts. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType, Page, pageQuery, periodQuery, ResourceId, Time } from '../../fields.ts'
import { mebibyte } from '../../limits.ts'
import { amountMax, Currency, Micros, RequestCurrency, RequestMicros } from '../../money.ts'
import { errorsOfBodies, type Operation } from '../../operation.ts'
import { Receipt } from '../account.ts'
import { Balance } from './accounts.ts'
import { accountFields, ownerFields, Wallet } from './admin-fields.ts'

const AnyReceipt = Type.Object({
  ...Receipt.properties,
  ...ownerFields,
  provider: Nullable(Type.String({ description: 'The provider that did the work; null if none has yet.' })),
  cost_micros: Nullable(
    Micros(
      'What the provider charges; null until it is known, or if the costs of the route are not configured.',
    ),
  ),
  margin_micros: Nullable(Micros('Amount charged minus refunds and cost; null until both are known.')),
})

const reasonRequest = {
  reason: Type.String({ maxLength: 500, description: 'The reason, for the audit log.' }),
  reference: Type.Optional(
    Type.String({
      maxLength: 200,
      description:
        'Your own reference, such as an invoice number. A request that repeats a reference does not move money again.',
    }),
  ),
}

const movementRequest = {
  currency: Type.Optional(RequestCurrency),
  wallet: Type.Optional(
    Type.String({
      enum: ['payg', 'subscription'],
      default: 'payg',
      description: 'The wallet: pay-as-you-go or subscription.',
    }),
  ),
  ...reasonRequest,
}

export const TopUpBody = Type.Object({
  amount_micros: RequestMicros('Amount to add.', 1),
  ...movementRequest,
})

export const AdjustmentBody = Type.Object({
  amount_micros: RequestMicros(
    'Amount to add; negative to subtract. A balance cannot become negative.',
    -amountMax,
  ),
  ...movementRequest,
})

export const RefundBody = Type.Object({
  amount_micros: Type.Optional(
    RequestMicros('Amount to refund. Defaults to everything that was charged and not refunded yet.', 1),
  ),
  currency: Type.Optional(RequestCurrency),
  ...reasonRequest,
})

export const AccountMovement = Type.Object({
  id: Type.String({ description: 'Id of the movement.' }),
  object: ObjectType('movement'),
  ...accountFields,
  kind: Type.String({
    enum: ['top_up', 'grant', 'adjustment', 'expiry', 'refund'],
    description:
      'Kind of movement. A `grant` starts a cycle of a subscription, an `expiry` removes the unspent rest of a cycle, a `refund` returns the charge of a task or request.',
  }),
  task_id: Nullable(
    Type.String({ description: 'Id of the task or request that was refunded; null for other movements.' }),
  ),
  wallet: Wallet,
  amount_micros: Micros('Amount of the movement; negative if it lowers the balance.'),
  currency: Currency,
  actor: Type.String({ description: 'Who made the movement: the id of an operator key.' }),
  reason: Type.String({ description: 'The reason that was given.' }),
  reference: Nullable(Type.String({ description: 'The reference that was given; null if there was none.' })),
  created_at: Time('When the movement was recorded.'),
})
export type AccountMovement = Static<typeof AccountMovement>

export const CreatedMovement = Type.Object({ ...AccountMovement.properties, balance: Balance })
export type CreatedMovement = Static<typeof CreatedMovement>

export const CreatedRefund = Type.Object({
  ...CreatedMovement.properties,
  captured_micros: Micros('Amount charged for the task or request.'),
  refunded_micros: Micros('The part of it that was refunded, including this refund.'),
})
export type CreatedRefund = Static<typeof CreatedRefund>

export const LedgerEntry = Type.Object({
  id: Type.String({ description: 'Id of the entry.' }),
  ...accountFields,
  wallet: Wallet,
  task_id: Nullable(
    Type.String({ description: 'Id of the task, request or movement that the entry belongs to.' }),
  ),
  movement: Type.String({ description: 'Kind of movement, such as `hold` or `capture`.' }),
  book: Type.String({ description: 'The book of the entry, such as `available` or `held`.' }),
  amount_micros: Micros('Amount of the entry. The entries of a movement sum to zero.'),
  currency: Currency,
  created_at: Time('When the entry was recorded.'),
})
export type LedgerEntry = Static<typeof LedgerEntry>

export const LedgerAudit = Type.Object({
  object: ObjectType('ledger.audit'),
  is_sound: Type.Boolean({ description: 'Whether no invariant is violated.' }),
  checked_at: Time('When the audit was made.'),
  duration_ms: Type.Integer({ description: 'Duration of the audit in milliseconds.' }),
  findings: Type.Array(
    Type.Object({
      invariant: Type.String({ description: 'Name of the invariant.' }),
      violations: Type.Integer({ description: 'Number of violations.' }),
      examples: Type.Array(Type.String(), { description: 'Ids that violate the invariant.' }),
      meaning: Type.String({ description: 'The invariant as a sentence.' }),
    }),
    { description: 'The result for each invariant.' },
  ),
})
export type LedgerAudit = Static<typeof LedgerAudit>

const accountId = ResourceId('account')

export const ledgerOperations = {
  createTopUp: {
    id: 'createTopUp',
    method: 'POST',
    path: '/admin/v1/accounts/{id}/top-ups',
    summary: 'Top up an account',
    description: 'Adds money to a wallet of an account.',
    access: 'operator',
    roles: ['finance', 'admin'],
    parameters: { path: accountId },
    body: { form: null, json: [TopUpBody], sizeBytesMax: mebibyte },
    answer: { description: 'The movement and the new balance.', schema: CreatedMovement },
    errors: [...errorsOfBodies, 'resource_not_found', 'conflict'],
  },
  createAdjustment: {
    id: 'createAdjustment',
    method: 'POST',
    path: '/admin/v1/accounts/{id}/adjustments',
    summary: 'Adjust a balance',
    description: 'Corrects the balance of a wallet up or down.',
    access: 'operator',
    roles: ['finance', 'admin'],
    parameters: { path: accountId },
    body: { form: null, json: [AdjustmentBody], sizeBytesMax: mebibyte },
    answer: { description: 'The movement and the new balance.', schema: CreatedMovement },
    errors: [...errorsOfBodies, 'resource_not_found', 'conflict'],
  },
  createRefund: {
    id: 'createRefund',
    method: 'POST',
    path: '/admin/v1/receipts/{id}/refunds',
    summary: 'Refund a task or request',
    description:
      'Returns the charge of a task or request to the wallet that paid for it, in full or in part. The refunds of a task or request never exceed its charge.',
    access: 'operator',
    roles: ['finance', 'admin'],
    parameters: { path: ResourceId('task or request') },
    body: { form: null, json: [RefundBody], sizeBytesMax: mebibyte },
    answer: { description: 'The movement and the new balance.', schema: CreatedRefund },
    errors: [...errorsOfBodies, 'task_not_found', 'conflict'],
  },
  listMovements: {
    id: 'listMovements',
    method: 'GET',
    path: '/admin/v1/accounts/{id}/movements',
    summary: 'List the movements of an account',
    description: 'Lists the top-ups, grants, adjustments, expiries and refunds of an account, newest first.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: { path: accountId, optionalQuery: pageQuery },
    answer: { description: 'A page of movements.', schema: Page(AccountMovement) },
    errors: ['invalid_parameter', 'resource_not_found'],
  },
  listLedgerEntries: {
    id: 'listLedgerEntries',
    method: 'GET',
    path: '/admin/v1/ledger',
    summary: 'List ledger entries',
    description: 'Lists the entries of the double-entry ledger, newest first.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: {
      optionalQuery: {
        ...pageQuery,
        account_id: Type.String({ description: 'Only this account.' }),
        task_id: Type.String({
          description: 'Only this task or request with its refunds, or this movement.',
        }),
        movement: Type.String({
          enum: ['top_up', 'grant', 'adjustment', 'expiry', 'hold', 'capture', 'release', 'refund'],
          description: 'Only movements of this kind.',
        }),
        ...periodQuery,
      },
    },
    answer: { description: 'A page of entries.', schema: Page(LedgerEntry) },
    errors: ['invalid_parameter'],
  },
  getLedgerAudit: {
    id: 'getLedgerAudit',
    method: 'GET',
    path: '/admin/v1/ledger/audit',
    summary: 'Get the last ledger audit',
    description: 'Returns the result of the last audit of the ledger.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    answer: { description: 'The result of the audit.', schema: LedgerAudit },
    errors: [],
  },
  runLedgerAudit: {
    id: 'runLedgerAudit',
    method: 'POST',
    path: '/admin/v1/ledger/audit',
    summary: 'Run a ledger audit',
    description: 'Checks the invariants of the ledger now and returns the result.',
    access: 'operator',
    roles: ['finance', 'admin'],
    answer: { description: 'The result of the audit.', schema: LedgerAudit },
    errors: [],
  },
  getAnyReceipt: {
    id: 'getAnyReceipt',
    method: 'GET',
    path: '/admin/v1/receipts/{id}',
    summary: 'Get the receipt of any task or request',
    description: 'Returns the cost of a task or request of any account, and how it was calculated.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: { path: ResourceId('task or request') },
    answer: { description: 'The receipt.', schema: AnyReceipt },
    errors: ['task_not_found'],
  },
} as const satisfies Record<string, Operation>
