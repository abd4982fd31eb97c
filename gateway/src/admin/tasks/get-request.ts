import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { findRequest } from '../../request-log/request-log-store.ts'
import { notFound } from '../given-id.ts'
import { presentRequest } from './present-request.ts'

export const getRequest =
  ({ postgres }: { postgres: Postgres }): Handler<typeof adminOperations.getRequest> =>
  async ({ path }) => {
    const found = await findRequest(postgres, path.id)
    if (found === undefined) throw notFound('request')
    return { body: presentRequest(found) }
  }
