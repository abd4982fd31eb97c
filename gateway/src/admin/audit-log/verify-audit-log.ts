import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import type { AuditLog } from './audit.ts'

export const verifyAuditLog =
  ({
    database,
    auditLog,
  }: {
    database: Database
    auditLog: AuditLog
  }): Handler<typeof adminOperations.verifyAuditLog> =>
  async ({ query: { known_head: knownHead } }) => {
    const { entries, brokenAt, head, hasKnownHead } = await auditLog.verify(
      database,
      knownHead === undefined ? undefined : Buffer.from(knownHead, 'hex'),
    )
    return {
      body: {
        object: 'audit.verification',
        is_intact: brokenAt === undefined && hasKnownHead !== false,
        entries,
        broken_at: brokenAt ?? null,
        has_known_head: hasKnownHead ?? null,
        head: head?.toString('hex') ?? null,
      },
    }
  }
