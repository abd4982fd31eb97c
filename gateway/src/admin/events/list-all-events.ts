import type { adminOperations } from '@kinora/contract/admin-operations'

import { presentEvent } from '../../event-feed/present-event.ts'
import { readPage, type FeedDependencies } from '../../event-feed/read-page.ts'
import type { Handler } from '../../http/call.ts'
import { givenFilterId } from '../given-id.ts'

export const listAllEvents =
  (dependencies: FeedDependencies): Handler<typeof adminOperations.listAllEvents> =>
  async (call) => {
    const accountId = givenFilterId(call, 'account_id')
    const { shown, has_more, next } = await readPage(dependencies, call, 'operators', accountId)
    const data = shown.map((event) => ({ ...presentEvent(event), account_id: event.accountId }))
    return { body: { object: 'list', data, has_more, next } }
  }
