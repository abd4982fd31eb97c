/** Reads a page of the feed for a request. */
import { ApiError } from '@kinora/contract/errors'
import { feedDays } from '@kinora/contract/operations/events'

import type { Call } from '../http/call.ts'
import type { Log } from '../platform/log.ts'
import type { Database } from '../platform/postgres.ts'
import type { Secret } from '../platform/secret.ts'
import { readCursor, writeCursor } from './event-cursor.ts'
import { findFeedEnd, readFeed, type FeedEvent, type FeedPosition } from './event-feed-store.ts'

export interface FeedDependencies {
  database: Database
  /** The secrets of links, from which the keys of cursors are derived. */
  secrets: Secret[]
  log: Log
}

const dayMs = 86_400_000

/** The position in a cursor. Throws if it is none of this reader, or if events after it may have been deleted. */
export const readGivenCursor = async (
  { database, secrets }: FeedDependencies,
  reader: string,
  cursor: string,
  param: 'after' | 'Last-Event-ID',
): Promise<FeedPosition> => {
  const found = readCursor(secrets, reader, cursor)
  if (found === undefined) {
    throw new ApiError('invalid_parameter', {
      param,
      message: `'${param}' must be a cursor of this feed: the \`next\` of a page, or the id of a server-sent event.`,
    })
  }
  const { at: now } = await findFeedEnd(database)
  if (now.getTime() - found.at.getTime() > feedDays * dayMs) {
    throw new ApiError('invalid_parameter', {
      param,
      message: `The events after this cursor are older than ${feedDays} days, and some of them were deleted. Start without a cursor, with \`order=asc\` for the oldest events.`,
    })
  }
  return found
}

interface FeedPage {
  shown: FeedEvent[]
  has_more: boolean
  next: string
}

/** `reader` is the account or `operators`; the cursors of one are of no use to another. */
export const readPage = async (
  dependencies: FeedDependencies,
  { query }: Pick<Call, 'query'>,
  reader: string,
  accountId: string | undefined,
): Promise<FeedPage> => {
  const { database, secrets } = dependencies
  const { after: given, type } = query
  const order = query['order'] === 'asc' ? 'asc' : 'desc'
  // The end is found first, so a page without events ends there or later.
  const end = await findFeedEnd(database)
  const start = given === undefined ? end : await readGivenCursor(dependencies, reader, given, 'after')
  const limit = Number(query['limit'])
  const found = await readFeed(database, feedDays, {
    accountId,
    after: given === undefined ? undefined : start,
    order,
    type,
    // One more than the page shows whether there are more.
    limit: limit + 1,
  })
  const shown = found.slice(0, limit)
  return {
    shown,
    has_more: found.length > limit,
    // With nothing new, a reader continues at the end: a cursor lasts for a limited time.
    next: writeCursor(secrets, reader, shown.at(-1) ?? (order === 'asc' ? end : start)),
  }
}
