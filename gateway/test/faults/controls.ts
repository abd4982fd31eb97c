/**
 * The guards, each with a fault that does damage without it. A guard with a setting is disabled by it; any other is
 * taken out of the source text that the roles load.
 */
import type { Environment } from '../../src/config.ts'
import type { FaultName } from './faults.ts'
import type { Mutation } from './mutation.ts'

export interface Control {
  /** What is missing. */
  name: string
  fault: FaultName
  without: { environment: Environment } | { mutation: Mutation }
  /** The figure that must be beyond its target. */
  expected: string
  /** How long to wait after the fault, if the damage shows only then. */
  stuckAfterMs?: number
}

const database: Control[] = [
  {
    name: 'no error listeners',
    fault: 'terminate connections',
    without: {
      mutation: {
        file: 'platform/postgres.ts',
        find: `pool.on('connect', (client) =>
    client.on('error', (error) => log.warn({ err: error }, 'postgres.connection-lost')),
  )`,
        replace: '',
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
    fault: 'kill submitting',
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

const downloads: Control[] = [
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

export const controls: Control[] = [...database, ...submits, ...engine, ...downloads]
