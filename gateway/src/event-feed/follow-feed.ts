/**
 * Follows the feeds of accounts, and of all accounts together. A process looks for new events of everything that is followed at
 * once: soon after it was told that tasks have changed, and every second in case it was not told. Then only the feeds with new
 * events are read. Streams of one feed at the same place share their reads. A stream reads its next page when its client has
 * received the last one.
 */
import { ApiError } from '@kinora/contract/errors'

import type { Log } from '../platform/log.ts'
import type { Database } from '../platform/postgres.ts'
import { findFeedChanges, readFeed, type FeedEvent, type FeedPosition } from './event-feed-store.ts'

type Place = Pick<FeedPosition, 'position' | 'number'>

/** Undefined for the events of all accounts. */
type Followed = string | undefined

/** An account, or an operator with their key. Each may have a limited number of streams. */
export interface FeedReader {
  kind: 'account' | 'key'
  id: string
}

export interface FollowFeed {
  /** Takes one of the streams of a reader, or throws. It is given back when the signal is aborted or the stream ends. */
  follow: (
    reader: FeedReader,
    accountId: Followed,
    after: Place,
    signal: AbortSignal,
  ) => AsyncGenerator<FeedEvent, void, undefined>
  /** Tasks have changed. */
  noteChange: () => void
  stop: () => Promise<void>
}

export interface FollowSettings {
  database: Database
  log: Log
  days: number
  /** The most streams of a reader in this process. */
  streamsMax: number
}

interface Follower {
  hasNews: boolean
  wake: () => void
}

const lookEveryMs = 1_000
const lookPauseMs = 100
const pageSize = 100
/** An open transaction that delays events for so long is worth a line in the log. */
const delayReportedAfterMs = 30_000

export const createFollowFeed = ({ database, log, days, streamsMax }: FollowSettings): FollowFeed => {
  const followers = new Map<Followed, Set<Follower>>()
  /** The number of streams by the id of their reader. */
  const streams = new Map<string, number>()
  /** What was looked at already; undefined while nobody follows. */
  let seen: string | undefined
  let looking: Promise<void> | undefined
  let isAskedAgain = false
  let soon: NodeJS.Timeout | undefined
  let delayedSinceMs: number | undefined

  const wake = (accountIds: Iterable<Followed>) => {
    for (const accountId of accountIds) {
      for (const follower of followers.get(accountId) ?? []) {
        follower.hasNews = true
        follower.wake()
      }
    }
  }

  const reportDelay = (end: string, hasPending: boolean) => {
    const nowMs = performance.now()
    if (!hasPending || end !== seen) delayedSinceMs = undefined
    else delayedSinceMs ??= nowMs
    if (delayedSinceMs === undefined || nowMs - delayedSinceMs < delayReportedAfterMs) return
    log.warn(
      { seconds: Math.round((nowMs - delayedSinceMs) / 1000) },
      'events.delayed: an open transaction delays the event feed. pg_stat_activity shows it as the one with the oldest backend_xid.',
    )
    delayedSinceMs = nowMs
  }

  const look = async () => {
    const { accountIds, end, hasPending } = await findFeedChanges(database, seen)
    reportDelay(end, hasPending)
    if (seen === undefined) wake(followers.keys())
    else if (accountIds.length > 0) wake([...accountIds, undefined])
    seen = end
    if (hasPending) isAskedAgain = true
  }

  const lookSoon = (pauseMs = lookPauseMs) => {
    if (followers.size === 0) return
    if (looking !== undefined) {
      isAskedAgain = true
      return
    }
    soon ??= setTimeout(() => {
      soon = undefined
      isAskedAgain = false
      looking = look()
        .catch((error: unknown) => log.warn({ err: error }, 'events.not-read'))
        .finally(() => {
          looking = undefined
          if (followers.size === 0) seen = undefined
          else if (isAskedAgain) lookSoon()
        })
    }, pauseMs)
  }
  const timer = setInterval(lookSoon, lookEveryMs)

  const reading = new Map<string, Promise<FeedEvent[]>>()
  const read = (accountId: Followed, after: Place): Promise<FeedEvent[]> => {
    const name = `${accountId ?? 'all'} ${after.position} ${after.number}`
    const open = reading.get(name)
    if (open !== undefined) return open
    const query = { accountId, after, order: 'asc', type: undefined, limit: pageSize } as const
    const page = readFeed(database, days, query).finally(() => reading.delete(name))
    reading.set(name, page)
    return page
  }

  const open = ({ kind, id }: FeedReader, accountId: Followed): Follower => {
    const ofReader = streams.get(id) ?? 0
    if (ofReader >= streamsMax) {
      throw new ApiError('rate_limit_exceeded', {
        message: `Concurrency limit reached: ${streamsMax} event streams for this ${kind}. Close one of them, or share a stream.`,
        headers: { 'retry-after': '1' },
      })
    }
    streams.set(id, ofReader + 1)
    const follower = { hasNews: false, wake: () => {} }
    followers.set(accountId, (followers.get(accountId) ?? new Set()).add(follower))
    return follower
  }
  const close = ({ id }: FeedReader, accountId: Followed, follower: Follower) => {
    const sameFeed = followers.get(accountId)
    // A stream is closed by its signal and again by its end.
    if (sameFeed?.delete(follower) !== true) return
    if (sameFeed.size === 0) followers.delete(accountId)
    const others = (streams.get(id) ?? 1) - 1
    if (others === 0) streams.delete(id)
    else streams.set(id, others)
    // Nobody looks from now on.
    if (followers.size === 0 && looking === undefined) seen = undefined
  }

  async function* stream(
    accountId: Followed,
    follower: Follower,
    after: Place,
    signal: AbortSignal,
    onEnd: () => void,
  ) {
    let place = after
    try {
      lookSoon(0)
      while (!signal.aborted) {
        follower.hasNews = false
        const page = await read(accountId, place)
        for (const event of page) {
          if (signal.aborted) return
          yield event
          place = event
        }
        if (page.length === pageSize) continue
        await new Promise<void>((resolve) => {
          follower.wake = resolve
          if (follower.hasNews || signal.aborted) resolve()
        })
      }
    } finally {
      onEnd()
    }
  }

  return {
    follow: (reader, accountId, after, signal) => {
      const follower = open(reader, accountId)
      const onEnd = () => {
        signal.removeEventListener('abort', onAbort)
        close(reader, accountId, follower)
      }
      // Also ends a stream of which nothing was read.
      const onAbort = () => {
        follower.wake()
        onEnd()
      }
      signal.addEventListener('abort', onAbort)
      if (signal.aborted) onAbort()
      return stream(accountId, follower, after, signal, onEnd)
    },
    noteChange: () => lookSoon(),
    stop: async () => {
      clearInterval(timer)
      clearTimeout(soon)
      await looking
    },
  }
}
