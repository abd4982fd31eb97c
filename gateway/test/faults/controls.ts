/**
 * The guards, each with a fault that does damage without it. A guard with a setting is disabled by it; any other is
 * taken out of the source text that the roles load.
 */
import { setTimeout as sleep } from 'node:timers/promises'

import type { Environment } from '../../src/config.ts'
import type { FaultName } from './faults.ts'
import { withoutDrain, type Mutation } from './mutation.ts'
import type { Fault } from './run-fault.ts'

export interface Control {
  /** What is missing. */
  name: string
  fault: FaultName | Fault
  /** Nothing for a control of the judge itself. */
  without?:
    | { environment: Environment }
    | { mutation: Mutation }
    | { postgresSettings: string[] }
    | { engineSettings: Record<string, string> }
  /** The figure that must be beyond its target. */
  expected: string
  /** How long to wait after the fault, if the damage shows only then. */
  stuckAfterMs?: number
}

const stalledMs = 5_000
const outageMs = 8_000

const database: Control[] = [
  {
    name: 'no error listeners',
    fault: 'terminate connections',
    without: {
      mutation: {
        file: 'platform/postgres.ts',
        find: `client.on('error', (error) => {
      primary.doubt()`,
        replace: `client.on('no error', (error) => {
      primary.doubt()`,
      },
    },
    expected: 'crashed',
  },
  {
    name: 'no statement timeouts',
    fault: 'stopped lock holder',
    without: { environment: { DATABASE_LOCK_TIMEOUT_MS: '0', DATABASE_STATEMENT_TIMEOUT_MS: '0' } },
    expected: 'creates confirmed meanwhile',
  },
  {
    name: 'no redis timeout',
    fault: 'pause redis',
    without: { environment: { REDIS_TIMEOUT_MS: '0' } },
    expected: 'creates confirmed meanwhile',
  },
]

const submits: Control[] = [
  {
    name: 'no lookup',
    fault: 'vendor errors',
    without: {
      mutation: {
        file: 'videos/lifecycle/submit-video.ts',
        find: '&& !video.submitsAreIdempotent) {',
        replace: '&& !video.submitsAreIdempotent && false) {',
      },
    },
    expected: 'duplicate jobs',
  },
  {
    name: 'no compare-and-set',
    fault: 'kill restate at a submit',
    without: {
      mutation: {
        file: 'videos/lifecycle/submit-store.ts',
        find: 'and o.run = given.run and o.submits = given.submits',
        replace: 'and o.run = given.run',
      },
    },
    expected: 'duplicate jobs',
    stuckAfterMs: 60_000,
  },
]

const engine: Control[] = [
  {
    name: 'no comparison',
    fault: 'kill workers and runs',
    without: {
      mutation: {
        file: 'platform/engine/supervise-engine.ts',
        find: `if (!(await claimJob(postgres, 'engine', 'check', intervalMs * 0.8))) return`,
        replace: 'if (intervalMs > 0) return',
      },
    },
    expected: 'stuck',
    stuckAfterMs: 60_000,
  },
]

const restarts: Control[] = [
  {
    name: 'no wait for submits',
    fault: 'restart workers',
    without: { mutation: withoutDrain },
    expected: 'stuck',
    stuckAfterMs: 60_000,
  },
  {
    name: 'no wait for responses',
    fault: 'restart apis',
    without: { environment: { DRAIN_SECONDS: '0' } },
    expected: 'speech that the restarts did not cut',
  },
  {
    // The defaults of the engine. It repeats calls only once their connection is closed.
    name: 'connections that nobody closes',
    fault: 'pause worker',
    without: {
      engineSettings: {
        RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_INTERVAL: '40s',
        RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_TIMEOUT: '20s',
      },
    },
    expected: 'completions by the other worker',
  },
]

const results: Control[] = [
  {
    name: 'no second try to store',
    fault: 'media disk full',
    without: {
      mutation: {
        file: 'videos/lifecycle/store-result.ts',
        find: 'const ending = findEnding(open, waitedMs, failure)\n',
        replace: "const ending = findEnding(open, waitedMs, failure) ?? failed('upstream_error')\n",
      },
    },
    expected: 'lost',
    stuckAfterMs: 60_000,
  },
  {
    name: 'no other route',
    fault: 'vendor fails over',
    without: {
      mutation: {
        file: 'routing/choose-route.ts',
        find: 'equals: free.filter(({ order }) => order === free[0]?.order) }',
        replace: 'equals: candidates.slice(0, 1).map(({ route }) => route) }',
      },
    },
    expected: 'completions of the model with another route',
  },
]

const downloads: Control[] = [
  {
    name: 'no slow share',
    fault: 'many slow results',
    without: { environment: { LIMIT_DOWNLOAD_BYTES_PER_SECOND_SLOW: '0' } },
    expected: 'other results per second',
  },
  {
    name: 'one permit for a provider',
    fault: 'slow and cut results',
    without: {
      mutation: {
        file: 'videos/download-permits.ts',
        find: 'const spare = Math.min(perProvider - active, Math.ceil((2 * free - active) / 3))',
        replace: 'const spare = 1 - active',
      },
    },
    // Retries get half of the permits, so here none.
    expected: 'stuck',
  },
  {
    name: 'no minimum download rate',
    fault: 'trickled downloads',
    without: { environment: { LIMIT_DOWNLOAD_BYTES_PER_SECOND_MIN: '0' } },
    expected: 'stuck',
    stuckAfterMs: 75_000,
  },
  {
    name: 'no download limits',
    fault: 'trickled downloads',
    without: {
      environment: {
        LIMIT_DOWNLOADS: '1000',
        LIMIT_DOWNLOADS_PER_PROVIDER: '1000',
        LIMIT_DOWNLOAD_BYTES_PER_SECOND_MIN: '0',
      },
    },
    expected: 'completions of the other provider',
  },
]

const guarantees: Control[] = [
  {
    name: 'no durable commits',
    fault: 'kill postgres',
    without: { postgresSettings: ['synchronous_commit=off', 'wal_writer_delay=10s'] },
    expected: 'lost',
  },
  {
    name: 'no idempotency keys',
    fault: 'pause api',
    without: {
      mutation: {
        file: 'idempotency/run-once.ts',
        find: `if (key !== undefined) {
      const name`,
        replace: `if (key === '') {
      const name`,
      },
    },
    expected: 'double-charged',
    stuckAfterMs: 60_000,
  },
  {
    name: 'truncated results',
    fault: 'kill redis',
    without: {
      mutation: {
        file: 'videos/lifecycle/store-result.ts',
        find: '  const retentionMs = await retentionMsOf(task.accountId)',
        replace: `  await dependencies.mediaStore.put(storageKey, Readable.from([Buffer.of(0)]), { sizeBytesMax: 1 })
  const retentionMs = await retentionMsOf(task.accountId)`,
      },
    },
    expected: 'wrong bytes',
  },
  {
    name: 'swapped results',
    fault: 'kill redis',
    without: {
      mutation: {
        file: 'videos/lifecycle/store-result.ts',
        find: 'openResult(open.upstream as Opaque, result, signal)',
        replace: `openResult(...(globalThis['first' + open.provider] ??= [open.upstream, result]), signal)`,
      },
    },
    expected: 'wrong bytes',
  },
  {
    name: 'no release of abandoned holds',
    fault: 'kill api',
    without: {
      mutation: {
        file: 'billing/metering/meter.ts',
        find: 'const abandoned = await findAbandonedRequests(postgres, 100)',
        replace: 'const abandoned = []',
      },
    },
    expected: 'holds left',
  },
  {
    name: 'comparison every 100 s',
    // Without its invocation, a run goes on in its worker. An engine without data has no loops either.
    fault: 'empty engine',
    without: {
      mutation: {
        file: 'platform/engine/supervise-engine.ts',
        find: 'const everyMs = 10_000',
        replace: 'const everyMs = 100_000',
      },
    },
    expected: 'recovery',
    stuckAfterMs: 45_000,
  },
]

const overload: Control[] = [
  {
    name: 'no limit of waiting creates',
    fault: 'overload',
    without: { environment: { OVERLOAD_WAITING_CREATES: '0', OVERLOAD_EVENT_LOOP_DELAY_MS: '0' } },
    expected: 'creates of the flood confirmed within 2 s',
  },
]

const judged: Control[] = [
  {
    name: 'vendor that stands still',
    fault: {
      run: async ({ stack: { vendors } }) => {
        vendors.repeatable.pause()
        await sleep(stalledMs)
        vendors.repeatable.resume()
      },
    },
    expected: 'invalid',
    stuckAfterMs: 60_000,
  },
  {
    name: 'outage behind retries',
    fault: {
      run: async ({ stack: { apis } }) => {
        for (const api of apis) api.pause()
        await sleep(outageMs)
        for (const api of apis) api.resume()
      },
    },
    expected: 'outage',
    stuckAfterMs: 60_000,
  },
]

export const controls: Control[] = [
  ...database,
  ...submits,
  ...engine,
  ...restarts,
  ...results,
  ...downloads,
  ...guarantees,
  ...overload,
  ...judged,
]
