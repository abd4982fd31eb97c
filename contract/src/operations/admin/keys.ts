/** `/admin/v1/keys` and operator keys. */
import { Type, type Static } from 'typebox'

import {
  DeletedResource,
  Nullable,
  ObjectType,
  optionals,
  Page,
  pageQuery,
  ResourceId,
  Time,
} from '../../fields.ts'
import {
  Budgets,
  KeyHint,
  keyName,
  KeySecret,
  keySettings,
  keyState,
  requestKeySettings,
  RotateBody,
  Scopes,
} from '../../key-fields.ts'
import { mebibyte } from '../../limits.ts'
import { Currency } from '../../money.ts'
import { errorsOfBodies, type Operation } from '../../operation.ts'
import { operatorKeyDays, operatorRoles } from '../../operator-key.ts'

const role = Type.String({
  enum: [...operatorRoles],
  description:
    'What an operator key may do: `read` everything except what customers send; `support` also customers, their keys and their tasks; `finance` also money, plans and prices; `admin` everything.',
})

export const KeyBody = Type.Object({
  kind: Type.String({
    enum: ['payg', 'subscription'],
    description: 'Whether the key pays from the pay-as-you-go balance or from the subscription.',
  }),
  ...optionals(requestKeySettings).properties,
})
export const KeyChange = optionals({ ...requestKeySettings, role })

export const Key = Type.Object(
  {
    id: Type.String({ description: 'Id of the key.' }),
    object: ObjectType('key'),
    account_id: Nullable(Type.String({ description: 'Id of the account; null for an operator key.' })),
    account_name: Nullable(Type.String({ description: 'Name of the account; null for an operator key.' })),
    kind: Type.String({
      enum: ['payg', 'subscription', 'admin'],
      description: 'What the key is for: pay-as-you-go, subscription or administration.',
    }),
    role: Nullable(
      Type.String({
        enum: [...operatorRoles],
        description: 'What an operator key may do; null for a key of an account.',
      }),
    ),
    hint: KeyHint,
    scopes: Nullable(Scopes),
    ...keySettings,
    budgets: Budgets(Currency),
    ...keyState,
  },
  { description: 'The key.' },
)
export type Key = Static<typeof Key>

const CreatedKey = Type.Object({
  key: Key,
  secret: KeySecret,
})

export const OperatorKeyBody = Type.Object({
  name: keyName,
  role,
  expires_at: Type.Optional(
    Nullable(
      Time(
        `When the key expires; null if it does not expire. Without it, the key expires after ${operatorKeyDays} days.`,
      ),
    ),
  ),
})

const keyId = ResourceId('key')

export const keyOperations = {
  createKey: {
    id: 'createKey',
    method: 'POST',
    path: '/admin/v1/accounts/{id}/keys',
    summary: 'Create a key',
    description: 'Creates a key for an account. Store the secret: it is returned only in this response.',
    access: 'operator',
    roles: ['support', 'admin'],
    parameters: { path: ResourceId('account') },
    body: { form: null, json: [KeyBody], sizeBytesMax: mebibyte },
    answer: { description: 'The created key and its secret.', schema: CreatedKey },
    errors: [...errorsOfBodies, 'resource_not_found'],
  },
  listKeys: {
    id: 'listKeys',
    method: 'GET',
    path: '/admin/v1/keys',
    summary: 'List keys',
    description: 'Lists the keys of all accounts and of operators, newest first.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: {
      optionalQuery: {
        ...pageQuery,
        account_id: Type.String({ description: 'Only keys of this account.' }),
        kind: Type.String({
          enum: ['payg', 'subscription', 'admin'],
          description: 'Only keys of this kind.',
        }),
      },
    },
    answer: { description: 'A page of keys.', schema: Page(Key) },
    errors: ['invalid_parameter'],
  },
  getKey: {
    id: 'getKey',
    method: 'GET',
    path: '/admin/v1/keys/{id}',
    summary: 'Get a key',
    description: 'Returns a key without its secret.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: { path: keyId },
    answer: { description: 'The key.', schema: Key },
    errors: ['resource_not_found'],
  },
  updateKey: {
    id: 'updateKey',
    method: 'PATCH',
    path: '/admin/v1/keys/{id}',
    summary: 'Update a key',
    description:
      'Changes the fields that are present in the body. Use `disabled` to disable or enable a key. Only the role `admin` may change an operator key.',
    access: 'operator',
    roles: ['support', 'admin'],
    parameters: { path: keyId },
    body: { form: null, json: [KeyChange], sizeBytesMax: mebibyte },
    answer: { description: 'The updated key.', schema: Key },
    errors: [...errorsOfBodies, 'resource_not_found', 'conflict'],
  },
  rotateKey: {
    id: 'rotateKey',
    method: 'POST',
    path: '/admin/v1/keys/{id}/rotate',
    summary: 'Rotate a key',
    description:
      'Gives a key a new secret. Its id, settings and usage stay. The previous secret expires after `overlap_seconds`. Only the role `admin` may rotate an operator key.',
    access: 'operator',
    roles: ['support', 'admin'],
    parameters: { path: keyId },
    body: { form: null, json: [RotateBody], sizeBytesMax: mebibyte },
    answer: { description: 'The key and its new secret.', schema: CreatedKey },
    errors: [...errorsOfBodies, 'resource_not_found'],
  },
  deleteKey: {
    id: 'deleteKey',
    method: 'DELETE',
    path: '/admin/v1/keys/{id}',
    summary: 'Delete a key',
    description:
      'Deletes a key. Requests with it are rejected from now on. Only the role `admin` may delete an operator key.',
    access: 'operator',
    roles: ['support', 'admin'],
    parameters: { path: keyId },
    answer: { description: 'The key was deleted.', schema: DeletedResource('key') },
    errors: ['resource_not_found', 'conflict'],
  },
  createOperatorKey: {
    id: 'createOperatorKey',
    method: 'POST',
    path: '/admin/v1/operator-keys',
    summary: 'Create an operator key',
    description:
      'Creates a key for the admin API with a role. Store the secret: it is returned only in this response.',
    access: 'operator',
    roles: ['admin'],
    body: { form: null, json: [OperatorKeyBody], sizeBytesMax: mebibyte },
    answer: { description: 'The created key and its secret.', schema: CreatedKey },
    errors: [...errorsOfBodies],
  },
} as const satisfies Record<string, Operation>
