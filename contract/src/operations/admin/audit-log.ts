/** `/admin/v1/audit-log`. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType, Page, periodQuery, Time } from '../../fields.ts'
import type { Operation } from '../../operation.ts'
import { pageQuery } from './admin-fields.ts'

export const AuditEntry = Type.Object({
  sequence: Type.Integer({ description: 'Number of the entry.' }),
  object: ObjectType('audit.entry'),
  at: Time('When the change was made.'),
  actor: Type.String({ description: 'Name and hint of the operator key.' }),
  action: Type.String({ description: 'Id of the operation.' }),
  target: Nullable(Type.String({ description: 'Id of the changed resource; null if there is none.' })),
  before: Type.Unknown({ description: 'The resource before the change.' }),
  after: Type.Unknown({ description: 'The resource after the change.' }),
  request_id: Type.String({ description: 'Id of the request.' }),
  hash: Type.String({ description: 'Hash of this entry and of the hash of the previous entry.' }),
})
export type AuditEntry = Static<typeof AuditEntry>

const AuditVerification = Type.Object({
  object: ObjectType('audit.verification'),
  is_intact: Type.Boolean({ description: 'Whether all hashes are correct.' }),
  entries: Type.Integer({ description: 'Number of entries that were checked.' }),
  broken_at: Nullable(
    Type.Integer({
      description: 'Number of the first entry with an incorrect hash; null if all are correct.',
    }),
  ),
  head: Nullable(
    Type.String({
      description: 'Hash of the newest entry. Store it elsewhere to prove later that the log is unchanged.',
    }),
  ),
})

export const auditLogOperations = {
  listAuditEntries: {
    id: 'listAuditEntries',
    method: 'GET',
    path: '/admin/v1/audit-log',
    summary: 'List the audit log',
    description: 'Lists the changes that operators made, newest first.',
    access: 'operator',
    parameters: {
      optionalQuery: {
        ...pageQuery,
        action: Type.String({ description: 'Only this operation.' }),
        target: Type.String({ description: 'Only changes of this resource.' }),
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
    answer: { description: 'The result of the verification.', schema: AuditVerification },
    errors: [],
  },
} as const satisfies Record<string, Operation>
