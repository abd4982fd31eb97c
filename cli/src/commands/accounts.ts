/** Commands for accounts and their keys. */
import { defineCommand } from '../frame/command.ts'
import { currencyOption, operatorOptions, pageLimitOption, yesOption } from './operator-options.ts'

const account = { account: { summary: 'name or id of the account, or the beginning of one' } } as const
const ownOrAccount = {
  account: {
    summary: 'name or id of the account, or the beginning of one; not with the key of a customer',
    isOptional: true,
  },
} as const
const key = { key: { summary: 'name or id of the key, or the beginning of one' } } as const
const accountOption = {
  account: { type: 'text', value: 'name', summary: 'only keys of this account' },
} as const

const limits = {
  spendCap: { type: 'text', value: 'amount', summary: 'what the account may spend per month, or none' },
  concurrency: { type: 'text', value: 'tasks', summary: 'how many tasks it may run at once, or none' },
  mediaRetention: { type: 'text', value: 'days', summary: 'days until its media is deleted, or none' },
  taskRetention: { type: 'text', value: 'days', summary: 'days until its tasks are deleted, or none' },
  ...currencyOption,
} as const

export const accountCommands = [
  defineCommand({
    words: 'accounts list',
    group: 'Operate',
    summary: 'List the accounts with their balances, newest first.',
    options: {
      name: { type: 'text', value: 'text', summary: 'only accounts whose name contains this' },
      status: { type: 'text', choices: ['active', 'suspended'], summary: 'only accounts in this state' },
      ...pageLimitOption,
      ...operatorOptions,
    },
    example: 'kinora accounts list --status suspended',
    run: async (input) => (await import('../operator/accounts.ts')).listAccounts(input),
  }),
  defineCommand({
    words: 'accounts create',
    group: 'Operate',
    summary: 'Create an account.',
    arguments: { name: { summary: 'name of the account' } },
    options: { ...limits, ...operatorOptions },
    example: 'kinora accounts create Aquarium --spend-cap 500.00 --currency USD',
    run: async (input) => (await import('../operator/accounts.ts')).createAccount(input),
  }),
  defineCommand({
    words: 'accounts get',
    group: 'Operate',
    summary: 'Show an account with its balance and its limits.',
    details: 'With a key of a customer, which needs the scope `account`, it is their own account.',
    arguments: ownOrAccount,
    options: operatorOptions,
    example: 'kinora accounts get Aquarium',
    prints: 'the response of `GET /admin/v1/accounts/{id}`, or of `GET /v1/account` with a key of a customer',
    run: async (input) => (await import('../operator/accounts.ts')).getAccount(input),
  }),
  defineCommand({
    words: 'accounts update',
    group: 'Operate',
    summary: 'Change the limits of an account. What is not named stays.',
    details:
      'With a key of a customer, which needs the scope `account`, it changes --spend-cap and --balance-alert of their own account.',
    arguments: ownOrAccount,
    options: {
      name: { type: 'text', summary: 'the new name' },
      payment: {
        type: 'text',
        choices: ['ok', 'failed'],
        summary: 'failed after a declined payment: requests beyond the balance then get payment_failed',
      },
      balanceAlert: {
        type: 'text',
        value: 'amount',
        summary: 'when the balance falls below it, the event balance.low occurs; or none',
      },
      ...limits,
      ...operatorOptions,
    },
    example: 'kinora accounts update Aquarium --spend-cap none --concurrency 20',
    prints:
      'the response of `PATCH /admin/v1/accounts/{id}`, or of `PATCH /v1/account` with a key of a customer',
    run: async (input) => (await import('../operator/accounts.ts')).updateAccount(input),
  }),
  defineCommand({
    words: 'accounts suspend',
    group: 'Operate',
    summary: 'Suspend an account. Its keys stop to work at once.',
    arguments: account,
    options: { ...yesOption, ...operatorOptions },
    example: 'kinora accounts suspend Aquarium',
    prints: 'updateAccount',
    run: async (input) => (await import('../operator/accounts.ts')).suspendAccount(input),
  }),
  defineCommand({
    words: 'accounts resume',
    group: 'Operate',
    summary: 'Let the keys of a suspended account work again.',
    arguments: account,
    options: operatorOptions,
    example: 'kinora accounts resume Aquarium',
    prints: 'updateAccount',
    run: async (input) => (await import('../operator/accounts.ts')).resumeAccount(input),
  }),
  defineCommand({
    words: 'keys list',
    group: 'Operate',
    summary: 'List keys, newest first: of all accounts, or of the own account with a key of a customer.',
    options: { ...accountOption, ...pageLimitOption, ...operatorOptions },
    example: 'kinora keys list --account Aquarium',
    prints: 'the response of `GET /admin/v1/keys`, or of `GET /v1/keys` with a key of a customer',
    run: async (input) => (await import('../operator/keys.ts')).listKeys(input),
  }),
  defineCommand({
    words: 'keys create',
    group: 'Operate',
    summary: 'Create a key and print its secret once.',
    details:
      'A key of a customer, which needs the scope `account`, creates keys of their own account, without a right that it does not have.',
    arguments: { name: { summary: 'name of the key' } },
    options: {
      account: { type: 'text', value: 'name', summary: 'the account that the key is for' },
      kind: {
        type: 'text',
        choices: ['payg', 'subscription'],
        summary: 'what the key pays from; payg, unless it is named',
      },
      scopes: { type: 'text', value: 'scopes', summary: 'create, read, account, or several with commas' },
      models: { type: 'text', value: 'ids', summary: 'only these models, separated by commas' },
      budget: {
        type: 'list',
        value: 'period=amount',
        summary: 'what it may spend per hour, day, week or month, such as day=5.00',
      },
      quota: { type: 'text', value: 'amount', summary: 'what it may spend in total' },
      expires: { type: 'number', value: 'days', min: 1, max: 36_500, summary: 'days until it expires' },
      requestsPerMinute: { type: 'number', value: 'count', min: 1, summary: 'limit for all its requests' },
      concurrency: { type: 'number', value: 'tasks', min: 1, summary: 'how many tasks it may run at once' },
      ...currencyOption,
      ...operatorOptions,
    },
    example: 'kinora keys create website --account Aquarium --budget day=5.00',
    prints:
      'the response of `POST /admin/v1/accounts/{id}/keys`, or of `POST /v1/keys` with a key of a customer',
    run: async (input) => (await import('../operator/keys.ts')).createKey(input),
  }),
  defineCommand({
    words: 'keys get',
    group: 'Operate',
    summary: 'Show a key with its limits, without its secret.',
    arguments: key,
    options: { ...accountOption, ...operatorOptions },
    example: 'kinora keys get website --account Aquarium',
    prints: 'the response of `GET /admin/v1/keys/{id}`, or of `GET /v1/keys/{id}` with a key of a customer',
    run: async (input) => (await import('../operator/keys.ts')).getKey(input),
  }),
  defineCommand({
    words: 'keys rotate',
    group: 'Operate',
    summary: 'Give a key a new secret and print it once. Its id, usage and settings stay.',
    arguments: key,
    options: {
      overlap: {
        type: 'number',
        value: 'seconds',
        min: 0,
        max: 2_592_000,
        default: '0',
        summary: 'how long the present secret works too',
      },
      ...accountOption,
      ...yesOption,
      ...operatorOptions,
    },
    example: 'kinora keys rotate website --overlap 3600',
    prints:
      'the response of `POST /admin/v1/keys/{id}/rotate`, or of `POST /v1/keys/{id}/rotate` with a key of a customer',
    run: async (input) => (await import('../operator/keys.ts')).rotateKey(input),
  }),
  defineCommand({
    words: 'keys revoke',
    group: 'Operate',
    summary: 'Delete a key. Requests with it are rejected at once.',
    arguments: key,
    options: { ...accountOption, ...yesOption, ...operatorOptions },
    example: 'kinora keys revoke website --account Aquarium',
    prints:
      'the response of `DELETE /admin/v1/keys/{id}`, or of `DELETE /v1/keys/{id}` with a key of a customer',
    run: async (input) => (await import('../operator/keys.ts')).revokeKey(input),
  }),
]
