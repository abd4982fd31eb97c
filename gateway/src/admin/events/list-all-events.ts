import type { adminOperations } from '@kinora/contract/admin-operations'
import type { AdminEvent } from '@kinora/contract/operations/admin/events'

import type { FeedEvent } from '../../event-feed/event-feed-store.ts'
import { presentEvent } from '../../event-feed/present-event.ts'
import { readPage } from '../../event-feed/read-page.ts'
import { asksForStream, streamFeed, type FollowedFeed } from '../../event-feed/stream-feed.ts'
import type { Handler } from '../../http/call.ts'
import { givenFilterId } from '../given-id.ts'

/** Cursors of all operators, whatever their filters. */
const cursorOwner = 'operators'

const present = (event: FeedEvent): AdminEvent => ({ ...presentEvent(event), account_id: event.accountId })

export const listAllEvents =
  (dependencies: FollowedFeed): Handler<typeof adminOperations.listAllEvents> =>
  async (call) => {
    const accountId = givenFilterId(call, 'account_id')
    if (asksForStream(call)) {
      const reader = { kind: 'key', id: call.operator.keyId } as const
      const isVisible = () => true
      return streamFeed(dependencies, call, { cursorOwner, reader, accountId, isVisible, present })
    }
    const { shown, has_more, next } = await readPage(dependencies, call, cursorOwner, accountId)
    return { body: { object: 'list', data: shown.map(present), has_more, next } }
  }
