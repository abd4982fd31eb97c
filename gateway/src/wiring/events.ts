/** The event feed. */
import { operations } from '@kinora/contract/operations'
import { feedDays } from '@kinora/contract/operations/events'

import { createFollowFeed, type FollowFeed } from '../event-feed/follow-feed.ts'
import { listEvents } from '../event-feed/list-events.ts'
import type { FollowedFeed } from '../event-feed/stream-feed.ts'
import { bindOperation, type ApiServer } from '../http/server/bind-operation.ts'
import type { ApiContext } from './api-context.ts'

/** The most streams of an account or an operator's key in one process. */
const streamsMax = 20

/** What reads of the feed need. */
export const feedDependencies = (
  { config, postgres, log }: ApiContext,
  { follow }: FollowFeed,
): FollowedFeed => ({ database: postgres, secrets: config.LINK_SECRETS, log, follow })

export const createEventFeed = ({ postgres, log }: ApiContext): FollowFeed =>
  createFollowFeed({ database: postgres, log, days: feedDays, streamsMax })

export const bindEvents = (server: ApiServer, context: ApiContext, feed: FollowFeed): void => {
  bindOperation(server, operations.listEvents, listEvents(feedDependencies(context, feed)))
}
