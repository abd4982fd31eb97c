/**
 * Records the request log for operators. Every request with a valid key has a row. Anonymous requests, and creates that
 * are refused for overload, are counted by operation and status, the counts are logged every minute, and a limited number
 * of them has a row as well. Completed requests are buffered in memory and written in batches, so that no request waits for its row.
 * While the database is unreachable the buffer grows up to a limit; further requests are dropped and counted.
 */
import type { CompletedRequest, RequestLog } from '../http/completed-request.ts'
import type { Log } from '../platform/log.ts'
import { count } from '../platform/metrics/metrics.ts'
import type { Postgres } from '../platform/postgres.ts'
import { insertRequests, recordKeyUses } from './request-log-store.ts'

export interface RequestRecorder extends RequestLog {
  /** Writes the buffered requests now. */
  flush: () => Promise<void>
  close: () => Promise<void>
}

interface RecorderSettings {
  bufferedMax: number
  flushEveryMs: number
  /** Limits the rows of counted requests, for anonymous ones and for refused creates each. */
  sampledRowsPerMinute: number
}

const defaults: RecorderSettings = { bufferedMax: 20_000, flushEveryMs: 1_000, sampledRowsPerMinute: 100 }
const minuteMs = 60_000
const perWrite = 500
const keyUsedEverySeconds = 60
const trackedKeysMax = 50_000

/** Counts requests by operation and status until the next report. */
const createTally = (log: Log, event: string, rowsMax: number) => {
  let counts = new Map<string, { operation: string; status: number; count: number }>()
  let rows = 0
  return {
    count: ({ operation, status }: Pick<CompletedRequest, 'operation' | 'status'>) => {
      const name = `${operation} ${status}`
      const counted = counts.get(name) ?? { operation, status, count: 0 }
      counted.count += 1
      counts.set(name, counted)
    },
    /** Whether another row may be stored before the next report; counts it. */
    takeRow: () => {
      rows += 1
      return rows <= rowsMax
    },
    report: () => {
      if (counts.size > 0) log.info({ requests: [...counts.values()] }, event)
      counts = new Map()
      rows = 0
    },
  }
}

export const createRequestRecorder = (
  { postgres, log }: { postgres: Postgres; log: Log },
  given: Partial<RecorderSettings> = {},
): RequestRecorder => {
  const { bufferedMax, flushEveryMs, sampledRowsPerMinute } = { ...defaults, ...given }
  let buffered: CompletedRequest[] = []
  let dropped = 0
  let writing: Promise<void> | undefined
  let isUnreachable = false
  const keyUses = new Map<string, number>()

  /** The newest use of each key whose use was not recorded within the last minute. */
  const usesOf = (requests: CompletedRequest[]) => {
    const uses = new Map<string, Date>()
    for (const { keyId, at } of requests) {
      if (keyId !== null && at.getTime() - (keyUses.get(keyId) ?? 0) >= keyUsedEverySeconds * 1000) {
        uses.set(keyId, at)
      }
    }
    return [...uses].map(([keyId, at]) => ({ keyId, at }))
  }

  const write = async (requests: CompletedRequest[]) => {
    const uses = usesOf(requests)
    // A crash of the database may lose the last rows, which is acceptable for a log.
    await postgres.transaction(
      async (database) => {
        await insertRequests(database, requests)
        await recordKeyUses(database, uses, keyUsedEverySeconds)
      },
      { isDurable: false },
    )
    if (keyUses.size >= trackedKeysMax) keyUses.clear()
    for (const { keyId, at } of uses) keyUses.set(keyId, at.getTime())
  }

  /** Writes what is buffered now. What arrives meanwhile waits for the next write, which would otherwise be of a few rows. */
  const writeAll = async () => {
    for (let left = buffered.length; left > 0; left -= perWrite) {
      const chunk = buffered.slice(0, Math.min(left, perWrite))
      try {
        await write(chunk)
      } catch (error) {
        if (!isUnreachable) log.warn({ err: error }, 'requests.not-written')
        isUnreachable = true
        break
      }
      isUnreachable = false
      buffered = buffered.slice(chunk.length)
    }
    if (dropped > 0) log.warn({ dropped }, 'requests.dropped')
    dropped = 0
  }

  const flush = async (): Promise<void> => {
    // A write under way may have started before the caller's requests were buffered, so a second one follows.
    await writing
    writing ??= writeAll().finally(() => {
      writing = undefined
    })
    await writing
  }

  const anonymous = createTally(log, 'requests.anonymous', sampledRowsPerMinute)
  const overloaded = createTally(log, 'requests.overloaded', sampledRowsPerMinute)
  const report = () => {
    anonymous.report()
    overloaded.report()
  }

  const reporting = setInterval(report, minuteMs)
  reporting.unref()

  const timer = setInterval(() => {
    if (writing === undefined && (buffered.length > 0 || dropped > 0)) void flush()
  }, flushEveryMs)
  timer.unref()

  const store = (request: CompletedRequest) => {
    if (buffered.length >= bufferedMax) {
      count('kinora.request_log.dropped', {})
      dropped += 1
      return
    }
    buffered.push(request)
    if (buffered.length >= perWrite && writing === undefined && !isUnreachable) void flush()
  }

  return {
    count: anonymous.count,
    countOverload: overloaded.count,
    record: (request) => {
      if (request.keyId === null) anonymous.count(request)
      if (request.keyId !== null || anonymous.takeRow()) store(request)
    },
    recordOverload: (request) => {
      overloaded.count(request)
      if (overloaded.takeRow()) store(request)
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
