/** The feed as server-sent events: those after a cursor, then new ones as they happen. */
import { ApiError } from '@kinora/contract/errors'
import type { AdminEvent } from '@kinora/contract/operations/admin/events'
import type { Event } from '@kinora/contract/operations/events'

import type { Call } from '../http/call.ts'
import type { EventStream } from '../http/sse.ts'
import { writeCursor } from './event-cursor.ts'
import { findFeedEnd, type FeedEvent, type FeedPosition } from './event-feed-store.ts'
import type { FeedReader, FollowFeed } from './follow-feed.ts'
import { readGivenCursor, type FeedDependencies } from './read-page.ts'

/** What a stream sends, and to whom. */
export interface FeedView {
  /** Whose cursors these are: an account or `operators`. */
  cursorOwner: string
  reader: FeedReader
  /** Without it, the events of all accounts. */
  accountId: string | undefined
  isVisible: (event: FeedEvent) => boolean
  present: (event: FeedEvent) => Event | AdminEvent
}

type FeedCall = Pick<Call, 'query' | 'header' | 'method' | 'waitSignal' | 'writeError'>

/** Whether a request asks for server-sent events, with `stream` or the `Accept` header. */
export const asksForStream = ({ query, header }: Pick<Call, 'query' | 'header'>): boolean =>
  query['stream'] === 'true' ||
  header('accept')
    ?.split(',')
    .some((each) => each.split(';')[0]?.trim().toLowerCase() === 'text/event-stream') === true

// Jitter, so that clients disconnected together do not reconnect together.
const reconnectDelayMs = () => 500 + Math.floor(Math.random() * 2_000)

/** Why the caller may not follow any longer; undefined if the signal has another reason. */
const refusalIn = ({ reason }: AbortSignal): ApiError | undefined =>
  reason instanceof ApiError && reason.code !== 'service_unavailable' ? reason : undefined

/** The first event after which a stream begins: of the last one received, of the query, or of the end of the feed. */
const findStart = async (
  dependencies: FeedDependencies,
  { query, header }: FeedCall,
  cursorOwner: string,
): Promise<FeedPosition> => {
  const lastEventId = header('last-event-id')?.trim() ?? ''
  if (lastEventId !== '') return readGivenCursor(dependencies, cursorOwner, lastEventId, 'Last-Event-ID')
  const { after } = query
  if (after !== undefined) return readGivenCursor(dependencies, cursorOwner, after, 'after')
  return findFeedEnd(dependencies.database)
}

interface Streaming extends FeedDependencies, Pick<FeedView, 'cursorOwner' | 'isVisible' | 'present'> {
  followed: ReturnType<FollowFeed['follow']>
  start: FeedPosition
  type: string | undefined
  writeError: Call['writeError']
  signal: AbortSignal
}

/** A request for the headers alone follows nothing. */
async function* followNothing(): ReturnType<FollowFeed['follow']> {}

async function* streamEvents(streaming: Streaming): EventStream {
  const { followed, start, cursorOwner, type, isVisible, present, writeError, secrets, log, signal } =
    streaming
  // A client that loses the connection before the first event resumes here.
  yield { id: writeCursor(secrets, cursorOwner, start), retryMs: reconnectDelayMs() }
  try {
    for await (const event of followed) {
      if ((type !== undefined && event.type !== type) || !isVisible(event)) continue
      const data = JSON.stringify(present(event))
      yield { id: writeCursor(secrets, cursorOwner, event), event: event.type, data }
    }
  } catch (error) {
    // The client reconnects and resumes.
    log.warn({ err: error }, 'events.not-read')
    return
  }
  const refusal = refusalIn(signal)
  if (refusal !== undefined) yield { event: 'error', data: writeError(refusal) }
}

export type FollowedFeed = FeedDependencies & Pick<FollowFeed, 'follow'>

/** Takes one of the streams of the reader, or throws. */
export const streamFeed = async (
  { follow, ...dependencies }: FollowedFeed,
  call: FeedCall,
  { reader, accountId, ...view }: FeedView,
): Promise<{ body: EventStream }> => {
  const start = await findStart(dependencies, call, view.cursorOwner)
  const { writeError, query } = call
  const signal = call.waitSignal()
  const followed = call.method === 'HEAD' ? followNothing() : follow(reader, accountId, start, signal)
  const streaming = { ...dependencies, ...view, followed, start, type: query['type'], writeError, signal }
  return { body: streamEvents(streaming) }
}
