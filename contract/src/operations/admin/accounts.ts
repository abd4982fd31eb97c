/** `/admin/v1/accounts` and subscriptions. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType, optionals, Page, pageQuery, ResourceId, Time } from '../../fields.ts'
import { TaskCount } from '../../limit-fields.ts'
import { mebibyte } from '../../limits.ts'
import { Currency, Micros, RequestCurrency, RequestMicros } from '../../money.ts'
import { errorsOfBodies, type Operation } from '../../operation.ts'
import { Days, Wallet } from './admin-fields.ts'

const accountName = Type.String({ maxLength: 200, description: 'Name of the account.' })
const accountSettings = {
  status: Type.String({
    enum: ['active', 'suspended'],
    description: 'Whether the keys of the account work.',
  }),
  payment_state: Type.String({
    enum: ['ok', 'failed'],
    description:
      'Set `failed` after a declined payment: requests that exceed the balance then get `payment_failed` instead of `insufficient_balance`.',
  }),
  spend_cap_micros: Nullable(
    RequestMicros('Maximum amount to spend per calendar month (UTC); null for no limit.'),
  ),
  concurrency: Nullable(
    TaskCount('Tasks that the account may run at once; further tasks are queued. Null for the default.'),
  ),
  media_retention_days: Nullable(Days('Days until media is deleted; null for the default.')),
  task_retention_days: Nullable(Days('Days until tasks are deleted; null for the default.')),
}

export const AccountBody = Type.Object({
  name: accountName,
  ...optionals({ ...accountSettings, currency: RequestCurrency }).properties,
})

export const AccountChange = optionals({ name: accountName, ...accountSettings, currency: RequestCurrency })

export const Balance = Type.Object(
  {
    wallet: Wallet,
    available_micros: Micros('Amount that can be spent.'),
    held_micros: Micros('Amount held for running tasks and requests.'),
    currency: Currency,
  },
  { description: 'Balance of a wallet.' },
)

const Subscription = Type.Object(
  {
    plan_id: Nullable(Type.String({ description: 'Id of the plan; null if it has none.' })),
    cycle_quota_micros: Micros('Amount that the current cycle may spend.'),
    currency: Currency,
    cycle_started_at: Time('When the current cycle started.'),
    cycle_ends_at: Time('When the current cycle ends.'),
    ends_at: Time('When the subscription ends.'),
  },
  { description: 'The subscription; null if there is none.' },
)

export const Account = Type.Object({
  id: Type.String({ description: 'Id of the account.' }),
  object: ObjectType('account'),
  name: Type.String({ description: 'Name of the account.' }),
  ...accountSettings,
  currency: Currency,
  balances: Type.Array(Balance, { description: "Balances of the account's wallets." }),
  subscription: Nullable(Subscription),
  created_at: Time('When the account was created.'),
  erased_at: Nullable(
    Time('When its keys stopped to work because it is erased; null for every other account.'),
  ),
})
export type Account = Static<typeof Account>

export const SubscriptionBody = Type.Object({
  plan_id: Type.String({ description: 'Id of the plan.' }),
  ends_at: Time('When the subscription ends. Its keys are rejected from then on.'),
})

const Count = (description: string) => Type.Integer({ minimum: 0, description })
/** Numbers by name. */
const Numbers = (description: string) => Type.Object({}, { additionalProperties: true, description })

const ErasureCertificate = Type.Object(
  {
    account_id: Type.String({ description: 'Id of the account.' }),
    operator_key_id: Nullable(
      Type.String({ description: 'Id of the operator key that requested the erasure, if it is known.' }),
    ),
    requested_at: Time('When the erasure was requested.'),
    finished_at: Time('When nothing was left.'),
    deleted_rows: Numbers('Deleted rows by table.'),
    emptied: Type.Array(
      Type.Object({
        table: Type.String({ description: 'Name of the table.' }),
        columns: Type.String({ description: 'What was emptied.' }),
        rows: Count('Number of rows.'),
      }),
      { description: 'Rows that stay without what a person wrote.' },
    ),
    files: Type.Object(
      { objects: Count('Number of files.'), size_bytes: Count('Their size, without recordings.') },
      { description: 'Deleted files.' },
    ),
    provider_jobs: Type.Object(
      {
        requested: Count('Jobs that providers were asked to delete.'),
        pending: Count('Those that were not deleted yet. They are tried for 30 days.'),
      },
      { description: 'Jobs at providers.' },
    ),
    kept: Type.Array(
      Type.Object({
        table: Type.String({ description: 'Name of the table.' }),
        rows: Count('Number of rows.'),
        reason: Type.String({ description: 'Why the rows stay.' }),
      }),
      { description: 'Rows that stay.' },
    ),
    balances: Type.Array(Balance, { description: 'What is left in each wallet.' }),
    backups: Type.String({ description: 'What backups still have.' }),
    signature: Type.String({ description: 'Keyed hash of the other fields, hexadecimal.' }),
  },
  { description: 'What was erased; null until everything is.' },
)

export const Erasure = Type.Object({
  account_id: Type.String({ description: 'Id of the account.' }),
  object: ObjectType('account.erasure'),
  status: Type.String({
    enum: ['erasing', 'erased'],
    description: 'Whether everything is erased. The keys stop to work at once.',
  }),
  requested_at: Time('When the erasure was requested.'),
  finished_at: Nullable(Time('When nothing was left.')),
  counts: Numbers('Rows that are deleted or emptied so far, by table, and files, bytes and provider jobs.'),
  certificate: Nullable(ErasureCertificate),
})
export type Erasure = Static<typeof Erasure>

const accountId = ResourceId('account')

export const accountOperations = {
  createAccount: {
    id: 'createAccount',
    method: 'POST',
    path: '/admin/v1/accounts',
    summary: 'Create an account',
    description: 'Creates an account with an empty balance and no keys.',
    access: 'operator',
    roles: ['support', 'admin'],
    body: { form: null, json: [AccountBody], sizeBytesMax: mebibyte },
    answer: { description: 'The created account.', schema: Account },
    errors: [...errorsOfBodies],
  },
  listAccounts: {
    id: 'listAccounts',
    method: 'GET',
    path: '/admin/v1/accounts',
    summary: 'List accounts',
    description: 'Lists accounts with their balances, newest first.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: {
      optionalQuery: {
        ...pageQuery,
        name: Type.String({ description: 'Only accounts whose name contains this text.' }),
        status: Type.String({ enum: ['active', 'suspended'], description: 'Only accounts in this state.' }),
      },
    },
    answer: { description: 'A page of accounts.', schema: Page(Account) },
    errors: ['invalid_parameter'],
  },
  getAccount: {
    id: 'getAccount',
    method: 'GET',
    path: '/admin/v1/accounts/{id}',
    summary: 'Get an account',
    description: 'Returns an account with its balances and its subscription.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: { path: accountId },
    answer: { description: 'The account.', schema: Account },
    errors: ['resource_not_found'],
  },
  updateAccount: {
    id: 'updateAccount',
    method: 'PATCH',
    path: '/admin/v1/accounts/{id}',
    summary: 'Update an account',
    description: 'Changes the fields that are present in the body. Use `status` to suspend an account.',
    access: 'operator',
    roles: ['support', 'finance', 'admin'],
    parameters: { path: accountId },
    body: { form: null, json: [AccountChange], sizeBytesMax: mebibyte },
    answer: { description: 'The updated account.', schema: Account },
    errors: [...errorsOfBodies, 'resource_not_found'],
  },
  eraseAccount: {
    id: 'eraseAccount',
    method: 'DELETE',
    path: '/admin/v1/accounts/{id}',
    summary: 'Erase an account',
    description:
      'Erases everything that the account has stored; this cannot be undone. Its keys stop to work at once, and the rest is deleted within minutes. Its id stays in the ledger and the audit log. Calling it again returns the state.',
    access: 'operator',
    roles: ['admin'],
    parameters: { path: accountId },
    answer: { description: 'The state of the erasure.', schema: Erasure },
    errors: ['resource_not_found'],
  },
  getErasure: {
    id: 'getErasure',
    method: 'GET',
    path: '/admin/v1/accounts/{id}/erasure',
    summary: 'Get the erasure of an account',
    description: 'Returns the state of an erasure, and its certificate when everything is erased.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: { path: accountId },
    answer: { description: 'The state of the erasure.', schema: Erasure },
    errors: ['resource_not_found'],
  },
  setSubscription: {
    id: 'setSubscription',
    method: 'PUT',
    path: '/admin/v1/accounts/{id}/subscription',
    summary: 'Set the subscription of an account',
    description: 'Subscribes an account to a plan, or changes or extends its subscription.',
    access: 'operator',
    roles: ['finance', 'admin'],
    parameters: { path: accountId },
    body: { form: null, json: [SubscriptionBody], sizeBytesMax: mebibyte },
    answer: { description: 'The updated account.', schema: Account },
    errors: [...errorsOfBodies, 'resource_not_found'],
  },
  endSubscription: {
    id: 'endSubscription',
    method: 'DELETE',
    path: '/admin/v1/accounts/{id}/subscription',
    summary: 'End the subscription of an account',
    description: 'Ends the subscription now. The unspent part of its cycle expires.',
    access: 'operator',
    roles: ['finance', 'admin'],
    parameters: { path: accountId },
    answer: { description: 'The updated account.', schema: Account },
    errors: ['resource_not_found'],
  },
} as const satisfies Record<string, Operation>
