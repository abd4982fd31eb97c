import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { verifyAudit } from './audit.ts'

export const verifyAuditLog =
  ({ database }: { database: Database }): Handler<typeof adminOperations.verifyAuditLog> =>
  async () => {
    const { entries, brokenAt, head } = await verifyAudit(database)
    return {
      body: {
        object: 'audit.verification',
        is_intact: brokenAt === undefined,
        entries,
        broken_at: brokenAt ?? null,
        head: head?.toString('hex') ?? null,
      },
    }
  }
