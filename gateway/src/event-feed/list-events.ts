import { ApiError } from '@kinora/contract/errors'
import type { KeyScope } from '@kinora/contract/key-scope'
import type { operations } from '@kinora/contract/operations'
import { eventTypeNames, eventTypes, type EventType } from '@kinora/contract/webhook-events'

import type { Call, Handler } from '../http/call.ts'
import type { EventStream } from '../http/sse.ts'
import { writeCursor } from './event-cursor.ts'
import { findFeedEnd, type FeedEvent, type FeedPosition } from './event-feed-store.ts'
import type { FollowFeed } from './follow-feed.ts'
import { presentEvent } from './present-event.ts'
import { readGivenCursor, readPage, type FeedDependencies } from './read-page.ts'

/** Whether the `Accept` header names server-sent events. */
const acceptsEvents = (accept: string | undefined): boolean =>
  accept?.split(',').some((each) => each.split(';')[0]?.trim().toLowerCase() === 'text/event-stream') === true

// Jitter, so that clients disconnected together do not reconnect together.
const reconnectDelayMs = () => 500 + Math.floor(Math.random() * 2_000)

/** Why the caller may not follow any longer; undefined if the signal has another reason. */
const refusalIn = ({ reason }: AbortSignal): ApiError | undefined =>
  reason instanceof ApiError && reason.code !== 'service_unavailable' ? reason : undefined

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

interface Streaming extends FeedDependencies {
  followed: ReturnType<FollowFeed['follow']>
  start: FeedPosition
  accountId: string
  type: string | undefined
  isVisible: (event: FeedEvent) => boolean
  writeError: Call['writeError']
  signal: AbortSignal
}

/** A request for the headers alone follows nothing. */
async function* followNothing(): ReturnType<FollowFeed['follow']> {}

async function* streamEvents(streaming: Streaming): EventStream {
  const { followed, start, accountId, type, isVisible, writeError, secrets, log, signal } = streaming
  // A client that loses the connection before the first event resumes here.
  yield { id: writeCursor(secrets, accountId, start), retryMs: reconnectDelayMs() }
  try {
    for await (const event of followed) {
      if ((type !== undefined && event.type !== type) || !isVisible(event)) continue
      const data = JSON.stringify(presentEvent(event))
      yield { id: writeCursor(secrets, accountId, event), event: event.type, data }
    }
  } catch (error) {
    // The client reconnects and resumes.
    log.warn({ err: error }, 'events.not-read')
    return
  }
  const refusal = refusalIn(signal)
  if (refusal !== undefined) yield { event: 'error', data: writeError(refusal) }
}

export const listEvents =
  ({
    follow,
    ...dependencies
  }: FeedDependencies & Pick<FollowFeed, 'follow'>): Handler<typeof operations.listEvents> =>
  async (call) => {
    const { accountId, scopes } = call.caller
    const isVisible = createIsVisible(scopes)
    if (call.query.stream !== 'true' && !acceptsEvents(call.header('accept'))) {
      const { shown, has_more, next } = await readPage(dependencies, call, accountId, accountId)
      return { body: { object: 'list', data: shown.filter(isVisible).map(presentEvent), has_more, next } }
    }
    const lastEventId = call.header('last-event-id')?.trim() ?? ''
    const given = lastEventId === '' ? call.query.after : lastEventId
    const param = lastEventId === '' ? 'after' : 'Last-Event-ID'
    const start =
      given === undefined
        ? await findFeedEnd(dependencies.database)
        : await readGivenCursor(dependencies, accountId, given, param)
    const { writeError } = call
    const signal = call.waitSignal()
    const followed = call.method === 'HEAD' ? followNothing() : follow(accountId, start, signal)
    const streaming = {
      ...dependencies,
      followed,
      start,
      accountId,
      type: call.query.type,
      isVisible,
      writeError,
      signal,
    }
    return { body: streamEvents(streaming) }
  }
