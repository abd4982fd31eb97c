/**
 * Follows the feeds of accounts. A process looks for new events of all followed accounts at once: soon after it was told that
 * tasks have changed, and every second in case it was not told. Then only the accounts with new events are read. Streams of one
 * account at the same place share their reads. A stream reads its next page when its client has received the last one.
 */
import { ApiError } from '@kinora/contract/errors'

import type { Log } from '../platform/log.ts'
import type { Database } from '../platform/postgres.ts'
import { findFeedChanges, readFeed, type FeedEvent, type FeedPosition } from './event-feed-store.ts'

type Place = Pick<FeedPosition, 'position' | 'number'>

export interface FollowFeed {
  /** Takes one of the streams of an account, or throws. It is given back when the signal is aborted or the stream ends. */
  follow: (accountId: string, after: Place, signal: AbortSignal) => AsyncGenerator<FeedEvent, void, undefined>
  /** Tasks have changed. */
  noteChange: () => void
  stop: () => Promise<void>
}

export interface FollowSettings {
  database: Database
  log: Log
  days: number
  /** The most streams of an account in this process. */
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
  const followers = new Map<string, Set<Follower>>()
  /** What was looked at already; undefined while nobody follows. */
  let seen: string | undefined
  let looking: Promise<void> | undefined
  let isAskedAgain = false
  let soon: NodeJS.Timeout | undefined
  let delayedSinceMs: number | undefined

  const wake = (accountIds: Iterable<string>) => {
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
    wake(seen === undefined ? followers.keys() : accountIds)
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
  const read = (accountId: string, after: Place): Promise<FeedEvent[]> => {
    const name = `${accountId} ${after.position} ${after.number}`
    const open = reading.get(name)
    if (open !== undefined) return open
    const query = { accountId, after, order: 'asc', type: undefined, limit: pageSize } as const
    const page = readFeed(database, days, query).finally(() => reading.delete(name))
    reading.set(name, page)
    return page
  }

  const open = (accountId: string): Follower => {
    const ofAccount = followers.get(accountId) ?? new Set()
    if (ofAccount.size >= streamsMax) {
      throw new ApiError('rate_limit_exceeded', {
        message: `Concurrency limit reached: ${streamsMax} event streams for this account. Close one of them, or share a stream.`,
        headers: { 'retry-after': '1' },
      })
    }
    const follower = { hasNews: false, wake: () => {} }
    followers.set(accountId, ofAccount.add(follower))
    return follower
  }
  const close = (accountId: string, follower: Follower) => {
    const ofAccount = followers.get(accountId)
    ofAccount?.delete(follower)
    if (ofAccount?.size === 0) followers.delete(accountId)
    // Nobody looks from now on.
    if (followers.size === 0 && looking === undefined) seen = undefined
  }

  async function* stream(
    accountId: string,
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
    follow: (accountId, after, signal) => {
      const follower = open(accountId)
      const onEnd = () => {
        signal.removeEventListener('abort', onAbort)
        close(accountId, follower)
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
