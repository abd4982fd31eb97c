/** The event feed. */
import { operations } from '@kinora/contract/operations'
import { feedDays } from '@kinora/contract/operations/events'

import { createFollowFeed, type FollowFeed } from '../event-feed/follow-feed.ts'
import { listEvents } from '../event-feed/list-events.ts'
import type { FeedDependencies } from '../event-feed/read-page.ts'
import { bindOperation, type ApiServer } from '../http/server/bind-operation.ts'
import type { ApiContext } from './api-context.ts'

/** The most streams of an account in one process. */
const streamsMax = 20

/** What reads of the feed need. */
export const feedDependencies = ({ config, postgres, log }: ApiContext): FeedDependencies => ({
  database: postgres,
  secrets: config.LINK_SECRETS,
  log,
})

export const createEventFeed = ({ postgres, log }: ApiContext): FollowFeed =>
  createFollowFeed({ database: postgres, log, days: feedDays, streamsMax })

export const bindEvents = (server: ApiServer, context: ApiContext, { follow }: FollowFeed): void => {
  bindOperation(server, operations.listEvents, listEvents({ ...feedDependencies(context), follow }))
}
