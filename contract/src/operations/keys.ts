/** `/v1/keys`: the keys of the account, managed by the customer. */
import { Type, type Static } from 'typebox'

import { DeletedResource, ObjectType, optionals, Page, pageQuery, ResourceId } from '../fields.ts'
import {
  Budgets,
  KeyHint,
  KeySecret,
  keySettings,
  keyState,
  requestKeySettings,
  RotateBody,
  Scopes,
} from '../key-fields.ts'
import { mebibyte } from '../limits.ts'
import { Currency } from '../money.ts'
import { errorsOfBodies, type Operation } from '../operation.ts'

export const AccountKeyBody = optionals(requestKeySettings)

export const AccountKey = Type.Object(
  {
    id: Type.String({ description: 'Id of the key.' }),
    object: ObjectType('key'),
    kind: Type.String({
      enum: ['payg', 'subscription'],
      description: 'Whether the key pays from the pay-as-you-go balance or from the subscription.',
    }),
    hint: KeyHint,
    scopes: Scopes,
    ...keySettings,
    budgets: Budgets(Currency),
    ...keyState,
  },
  { description: 'The key.' },
)
export type AccountKey = Static<typeof AccountKey>

const KeyWithSecret = Type.Object({ key: AccountKey, secret: KeySecret })

const rights =
  'No right may exceed those of the key of this request: scopes, models, addresses, expiry, rate limits and concurrency.'
const keyId = ResourceId('key')

export const accountKeyOperations = {
  createAccountKey: {
    id: 'createAccountKey',
    method: 'POST',
    path: '/v1/keys',
    summary: 'Create a key',
    description: `Creates a key of the same account and kind. ${rights} Without \`scopes\` the key has the scopes \`create\` and \`read\`, as far as the key of this request has them; other settings that are absent are those of the key of this request. Store the secret: it is returned only in this response.`,
    access: 'key',
    scopes: ['account'],
    limit: 'create',
    body: { form: null, json: [AccountKeyBody], sizeBytesMax: mebibyte },
    answer: { description: 'The created key and its secret.', schema: KeyWithSecret },
    errors: [...errorsOfBodies, 'conflict'],
  },
  listAccountKeys: {
    id: 'listAccountKeys',
    method: 'GET',
    path: '/v1/keys',
    summary: 'List keys',
    description: 'Lists the keys of the account, newest first.',
    access: 'key',
    scopes: ['account'],
    limit: 'read',
    parameters: { optionalQuery: pageQuery },
    answer: { description: 'A page of keys.', schema: Page(AccountKey) },
    errors: ['invalid_parameter'],
  },
  getAccountKey: {
    id: 'getAccountKey',
    method: 'GET',
    path: '/v1/keys/{id}',
    summary: 'Get a key',
    description: 'Returns a key of the account without its secret.',
    access: 'key',
    scopes: ['account'],
    limit: 'read',
    parameters: { path: keyId },
    answer: { description: 'The key.', schema: AccountKey },
    errors: ['resource_not_found'],
  },
  updateAccountKey: {
    id: 'updateAccountKey',
    method: 'PATCH',
    path: '/v1/keys/{id}',
    summary: 'Update a key',
    description: `Changes the fields that are present in the body. Use \`disabled\` to disable or enable a key. ${rights}`,
    access: 'key',
    scopes: ['account'],
    limit: 'read',
    parameters: { path: keyId },
    body: { form: null, json: [AccountKeyBody], sizeBytesMax: mebibyte },
    answer: { description: 'The updated key.', schema: AccountKey },
    errors: [...errorsOfBodies, 'resource_not_found'],
  },
  rotateAccountKey: {
    id: 'rotateAccountKey',
    method: 'POST',
    path: '/v1/keys/{id}/rotate',
    summary: 'Rotate a key',
    description:
      'Gives a key a new secret. Its id, settings and usage stay. The previous secret expires after `overlap_seconds`. The key may not have a right that the key of this request does not have.',
    access: 'key',
    scopes: ['account'],
    limit: 'create',
    parameters: { path: keyId },
    body: { form: null, json: [RotateBody], sizeBytesMax: mebibyte },
    answer: { description: 'The key and its new secret.', schema: KeyWithSecret },
    errors: [...errorsOfBodies, 'resource_not_found'],
  },
  deleteAccountKey: {
    id: 'deleteAccountKey',
    method: 'DELETE',
    path: '/v1/keys/{id}',
    summary: 'Delete a key',
    description: 'Deletes a key of the account. Requests with it are rejected from now on.',
    access: 'key',
    scopes: ['account'],
    limit: 'read',
    parameters: { path: keyId },
    answer: { description: 'The key was deleted.', schema: DeletedResource('key') },
    errors: ['resource_not_found'],
  },
} as const satisfies Record<string, Operation>
