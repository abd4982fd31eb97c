import type { KeyScope } from '@kinora/contract/key-scope'
import type { operations } from '@kinora/contract/operations'
import { eventTypeNames, eventTypes, type EventType } from '@kinora/contract/webhook-events'

import type { Handler } from '../http/call.ts'
import type { FeedEvent } from './event-feed-store.ts'
import { presentEvent } from './present-event.ts'
import { readPage } from './read-page.ts'
import { asksForStream, streamFeed, type FollowedFeed } from './stream-feed.ts'

/** Events of what only a key with another scope may read are left out. */
const createIsVisible = (scopes: readonly KeyScope[]) => {
  const hidden = new Set<string>(
    eventTypeNames.filter((name) => {
      const { scope }: EventType = eventTypes[name]
      return scope !== undefined && !scopes.includes(scope)
    }),
  )
  return ({ type }: FeedEvent) => !hidden.has(type)
}

export const listEvents =
  (dependencies: FollowedFeed): Handler<typeof operations.listEvents> =>
  async (call) => {
    const { accountId, scopes } = call.caller
    const isVisible = createIsVisible(scopes)
    if (asksForStream(call)) {
      const reader = { kind: 'account', id: accountId } as const
      const view = { cursorOwner: accountId, reader, accountId, isVisible, present: presentEvent }
      return streamFeed(dependencies, call, view)
    }
    const { shown, has_more, next } = await readPage(dependencies, call, accountId, accountId)
    return { body: { object: 'list', data: shown.filter(isVisible).map(presentEvent), has_more, next } }
  }
