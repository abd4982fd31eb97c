/** `/admin/v1/audit-log`. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType, Page, pageQuery, periodQuery, Time } from '../../fields.ts'
import type { Operation } from '../../operation.ts'

export const AuditEntry = Type.Object({
  sequence: Type.Integer({ description: 'Number of the entry.' }),
  object: ObjectType('audit.entry'),
  at: Time('When it happened.'),
  actor: Type.String({
    description: 'Id of the operator key, or the number of the user on the command line.',
  }),
  actor_name: Nullable(
    Type.String({
      description: 'Name that the operator key has now; null if there is none, or it was erased.',
    }),
  ),
  action: Type.String({ description: 'Id of the operation.' }),
  target: Nullable(
    Type.String({ description: 'Id of the changed or read resource; null if there is none.' }),
  ),
  target_name: Nullable(
    Type.String({
      description:
        'Name that the account or key has now; null if the target is something else, or the name was erased.',
    }),
  ),
  before: Type.Unknown({
    description: 'The resource before the change, without names, reasons, references and addresses.',
  }),
  after: Type.Unknown({
    description:
      'The resource after the change, without the same. `changed_without_value` lists those that were changed.',
  }),
  request_id: Nullable(Type.String({ description: 'Id of the request; null for a command.' })),
  hash: Type.String({ description: 'Keyed hash of this entry and of the hash of the previous entry.' }),
})
export type AuditEntry = Static<typeof AuditEntry>

const AuditVerification = Type.Object({
  object: ObjectType('audit.verification'),
  is_intact: Type.Boolean({
    description: 'Whether all hashes are correct and the log contains `known_head`, if it was given.',
  }),
  entries: Type.Integer({ description: 'Number of entries that were checked.' }),
  broken_at: Nullable(
    Type.Integer({
      description: 'Number of the first entry with an incorrect hash; null if all are correct.',
    }),
  ),
  has_known_head: Nullable(
    Type.Boolean({
      description:
        'Whether the log contains the entry with the hash `known_head`. If not, entries were removed at the end, or the log was replaced. Null without `known_head`.',
    }),
  ),
  head: Nullable(
    Type.String({
      description:
        'Hash of the newest entry. Store it elsewhere and send it later as `known_head` to prove that nothing was removed.',
    }),
  ),
})

export const auditLogOperations = {
  listAuditEntries: {
    id: 'listAuditEntries',
    method: 'GET',
    path: '/admin/v1/audit-log',
    summary: 'List the audit log',
    description: 'Lists what operators changed, and which prompts they read, newest first.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: {
      optionalQuery: {
        ...pageQuery,
        action: Type.String({ description: 'Only this operation.' }),
        target: Type.String({ description: 'Only entries about this resource.' }),
        ...periodQuery,
      },
    },
    answer: { description: 'A page of entries.', schema: Page(AuditEntry) },
    errors: ['invalid_parameter'],
  },
  verifyAuditLog: {
    id: 'verifyAuditLog',
    method: 'GET',
    path: '/admin/v1/audit-log/verification',
    summary: 'Verify the audit log',
    description: 'Checks the chain of hashes of the audit log to detect tampering.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: {
      optionalQuery: {
        known_head: Type.String({
          pattern: '^[0-9a-f]{64}$',
          'x-demand':
            'a hash of 64 hexadecimal digits such as 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
          description: 'The `head` of an earlier verification, which the log must still contain.',
        }),
      },
    },
    answer: { description: 'The result of the verification.', schema: AuditVerification },
    errors: ['invalid_parameter'],
  },
} as const satisfies Record<string, Operation>
