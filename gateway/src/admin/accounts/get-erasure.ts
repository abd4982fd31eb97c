import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'

import { findErasure } from '../../erasure/erasure-store.ts'
import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { givenId } from '../given-id.ts'
import { presentErasure } from './present-erasure.ts'

export const getErasure =
  ({ database }: { database: Database }): Handler<typeof adminOperations.getErasure> =>
  async (call) => {
    const erasure = await findErasure(database, givenId(call, 'account'))
    if (erasure === undefined) {
      throw new ApiError('resource_not_found', {
        message:
          'There is no erasure of an account with this id. Request one with DELETE /admin/v1/accounts/{id}.',
      })
    }
    return { body: presentErasure(erasure) }
  }
