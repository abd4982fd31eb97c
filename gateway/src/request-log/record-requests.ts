/**
 * The log of requests, for operators. Every request of a known key has a row. Anybody can send requests without one, so
 * those are counted by operation and status, and the counts are logged every minute; of those that were not refused,
 * some have a row as well. A request is noted in memory once it was answered, and written with others a
 * moment later, so that nobody waits for it. What the database cannot take is kept until it can, up to a most; beyond
 * that it is dropped and counted.
 */
import type { CompletedRequest, RequestLog } from '../http/completed-request.ts'
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import { insertRequests, noteKeysUsed } from './request-log-store.ts'

export interface RequestRecorder extends RequestLog {
  /** Writes what is there, for who wants to read it now. */
  flush: () => Promise<void>
  close: () => Promise<void>
}

interface RecorderSettings {
  waitingMax: number
  everyMs: number
  /** Rows for requests without a known key, so that nobody can fill the table with them. */
  anonymousRowsPerMinute: number
}

const usual: RecorderSettings = { waitingMax: 20_000, everyMs: 1_000, anonymousRowsPerMinute: 100 }
const minuteMs = 60_000
const perWrite = 500
const keyUsedEverySeconds = 60
const rememberedKeysMax = 50_000

export const createRequestRecorder = (
  { postgres, log }: { postgres: Postgres; log: Log },
  given: Partial<RecorderSettings> = {},
): RequestRecorder => {
  const { waitingMax, everyMs, anonymousRowsPerMinute } = { ...usual, ...given }
  let waiting: CompletedRequest[] = []
  let dropped = 0
  let writing: Promise<void> | undefined
  let isAway = false
  const keysNoted = new Map<string, number>()

  /** The newest use of each key that was not noted within the last minute. */
  const usesOf = (requests: CompletedRequest[]) => {
    const uses = new Map<string, Date>()
    for (const { keyId, at } of requests) {
      if (keyId !== null && at.getTime() - (keysNoted.get(keyId) ?? 0) >= keyUsedEverySeconds * 1000) {
        uses.set(keyId, at)
      }
    }
    return [...uses].map(([keyId, at]) => ({ keyId, at }))
  }

  const write = async (requests: CompletedRequest[]) => {
    const uses = usesOf(requests)
    // Lost with the database's last moments, should it crash: a log need not wait for its disk.
    await postgres.transaction(
      async (database) => {
        await insertRequests(database, requests)
        await noteKeysUsed(database, uses, keyUsedEverySeconds)
      },
      { isDurable: false },
    )
    if (keysNoted.size >= rememberedKeysMax) keysNoted.clear()
    for (const { keyId, at } of uses) keysNoted.set(keyId, at.getTime())
  }

  const writeAll = async () => {
    while (waiting.length > 0) {
      const taken = waiting.slice(0, perWrite)
      try {
        await write(taken)
      } catch (error) {
        if (!isAway) log.warn({ err: error }, 'requests.not-written')
        isAway = true
        break
      }
      isAway = false
      waiting = waiting.slice(taken.length)
    }
    if (dropped > 0) log.warn({ dropped }, 'requests.dropped')
    dropped = 0
  }

  const flush = async (): Promise<void> => {
    // Whoever comes while a write is under way waits for it, and for one that has seen what they saw.
    await writing
    writing ??= writeAll().finally(() => {
      writing = undefined
    })
    await writing
  }

  /** By operation and status, of the minute that is under way. */
  let anonymous = new Map<string, { operation: string; status: number; count: number }>()
  let anonymousRows = 0

  const count = ({ operation, status }: CompletedRequest) => {
    const name = `${operation} ${status}`
    const counted = anonymous.get(name) ?? { operation, status, count: 0 }
    counted.count += 1
    anonymous.set(name, counted)
  }

  const report = () => {
    if (anonymous.size > 0) log.info({ requests: [...anonymous.values()] }, 'requests.anonymous')
    anonymous = new Map()
    anonymousRows = 0
  }

  const reporting = setInterval(report, minuteMs)
  reporting.unref()

  const timer = setInterval(() => {
    if (writing === undefined && (waiting.length > 0 || dropped > 0)) void flush()
  }, everyMs)
  timer.unref()

  return {
    count,
    record: (request) => {
      if (request.keyId === null) {
        count(request)
        if (anonymousRows >= anonymousRowsPerMinute) return
        anonymousRows += 1
      }
      if (waiting.length >= waitingMax) {
        dropped += 1
        return
      }
      waiting.push(request)
      if (waiting.length >= perWrite && writing === undefined && !isAway) void flush()
    },
    flush,
    close: async () => {
      clearInterval(timer)
      clearInterval(reporting)
      report()
      await flush()
    },
  }
}
