/**
 * Finds the primary among several hosts of PostgreSQL. It asks all of them when a connection was lost, and every few seconds.
 * If two of them accept writes, the one with the later timeline was promoted, and the other one was replaced.
 */
import { setTimeout as pause } from 'node:timers/promises'

import { addressOf } from './address-of.ts'
import { hostUrlsOf } from './database-url.ts'
import { readTimeline } from './timeline-store.ts'

/** None of several hosts accepts writes, so the query was not sent. */
export class NoPrimary extends Error {
  override name = 'NoPrimary'
}

type Warn = (fields: object, event: 'postgres.primary-changed') => void

export interface PrimaryFinder {
  /** The URL of the host that was the primary when it was last asked. */
  current: () => string
  /** Whether the primary may be another one. */
  isDoubtful: () => boolean
  /** Searches, if it may be. Throws `NoPrimary` if no host accepts writes. */
  settle: () => Promise<void>
  /** Notes that the primary may be another one. */
  doubt: () => void
  stop: () => void
}

interface Found {
  url: string
  timeline: number
}

const checkEveryMs = 5_000

/** `onMove` is called when the primary has become another host. */
export const findPrimaryOf = (url: string, warn: Warn, onMove: () => void): PrimaryFinder => {
  const urls = hostUrlsOf(url)
  let current = urls[0] ?? url
  if (urls.length === 1) {
    return {
      current: () => current,
      isDoubtful: () => false,
      settle: async () => undefined,
      doubt: () => undefined,
      stop: () => undefined,
    }
  }
  let isDoubtful = true
  let timelineMax = 0
  let searching: Promise<void> | undefined

  const accept = (found: Found) => {
    const isFirst = timelineMax === 0
    timelineMax = found.timeline
    isDoubtful = false
    if (found.url === current) return
    current = found.url
    if (isFirst) return
    warn({ primary: addressOf(current) }, 'postgres.primary-changed')
    onMove()
  }

  /**
   * Asks all hosts; the first that is not older than what was seen before is the primary. The first search waits for all of
   * them, because nothing was seen before.
   */
  const search = async () => {
    const isFirst = timelineMax === 0
    let latest: Found | undefined
    const problems: string[] = []
    const isFound = await new Promise<boolean>((resolve) => {
      void Promise.all(
        urls.map(async (each) => {
          try {
            const timeline = await readTimeline(each)
            if (timeline === undefined) problems.push(`${addressOf(each)} is read-only`)
            else if (timeline < timelineMax) problems.push(`${addressOf(each)} was replaced`)
            else if (isFirst) {
              if (latest === undefined || timeline > latest.timeline) latest = { url: each, timeline }
            } else {
              // Also the second one, if it was promoted later.
              if (isDoubtful || timeline > timelineMax) accept({ url: each, timeline })
              resolve(true)
            }
          } catch (error) {
            const { code, message } = error as { code?: string; message: string }
            problems.push(`${addressOf(each)}: ${code ?? message}`)
          }
        }),
      ).then(() => {
        if (latest !== undefined && latest.timeline >= timelineMax) accept(latest)
        resolve(latest !== undefined)
      })
    })
    if (!isFound) throw new NoPrimary(`no host accepts writes (${problems.join('; ')})`)
  }

  const settle = async () => {
    if (!isDoubtful) return
    searching ??= search().finally(() => {
      searching = undefined
    })
    await searching
  }

  const stopped = new AbortController()
  const checkAgain = async () => {
    for (;;) {
      await pause(checkEveryMs, undefined, { signal: stopped.signal, ref: false })
      // Queries report that there is none.
      await (searching ?? search()).catch(() => undefined)
    }
  }
  checkAgain().catch(() => undefined)

  return {
    current: () => current,
    isDoubtful: () => isDoubtful,
    settle,
    doubt: () => {
      isDoubtful = true
    },
    stop: () => stopped.abort(),
  }
}
