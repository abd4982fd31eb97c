/**
 * Records the request log for operators. Every request with a valid key has a row. Anonymous requests are counted by
 * operation and status, the counts are logged every minute, and a limited number of those that were not refused has a
 * row as well. Completed requests are buffered in memory and written in batches, so that no request waits for its row.
 * While the database is unreachable the buffer grows up to a limit; further requests are dropped and counted.
 */
import type { CompletedRequest, RequestLog } from '../http/completed-request.ts'
import type { Log } from '../platform/log.ts'
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
  /** Limits the rows of anonymous requests, so that they cannot fill the table. */
  anonymousRowsPerMinute: number
}

const defaults: RecorderSettings = { bufferedMax: 20_000, flushEveryMs: 1_000, anonymousRowsPerMinute: 100 }
const minuteMs = 60_000
const perWrite = 500
const keyUsedEverySeconds = 60
const trackedKeysMax = 50_000

export const createRequestRecorder = (
  { postgres, log }: { postgres: Postgres; log: Log },
  given: Partial<RecorderSettings> = {},
): RequestRecorder => {
  const { bufferedMax, flushEveryMs, anonymousRowsPerMinute } = { ...defaults, ...given }
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

  const writeAll = async () => {
    while (buffered.length > 0) {
      const chunk = buffered.slice(0, perWrite)
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

  /** The counts of the current minute by operation and status. */
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
    if (writing === undefined && (buffered.length > 0 || dropped > 0)) void flush()
  }, flushEveryMs)
  timer.unref()

  return {
    count,
    record: (request) => {
      if (request.keyId === null) {
        count(request)
        if (anonymousRows >= anonymousRowsPerMinute) return
        anonymousRows += 1
      }
      if (buffered.length >= bufferedMax) {
        dropped += 1
        return
      }
      buffered.push(request)
      if (buffered.length >= perWrite && writing === undefined && !isUnreachable) void flush()
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
