/** The service as the benchmarks measure it, by default one API and one worker, on parts of their own, with limits out of the way. */
import { startFaultStack, type FaultStack, type StackChanges } from '../gateway/test/faults/fault-stack.ts'
import { until, type Part } from '../gateway/test/faults/part.ts'
import { createAccount, createKey } from '../gateway/test/kit/factories.ts'
import { manyRequests } from '../gateway/test/kit/stack.ts'
import { cpuMsOf, cpuMsOfFamily } from './measure/cpu-time.ts'
import { countingSettings, startCounting, summarizeStatements } from './measure/database-work.ts'
import { minus, per, total, type Figures } from './measure/figures.ts'
import { runLoad, type Load, type LoadOptions, type RequestOf } from './measure/load.ts'
import { profileIn, profileDirectory } from './measure/profile.ts'

export interface BenchKey {
  text: string
  accountId: string
  keyId: string
}

export interface BenchStack extends AsyncDisposable {
  stack: FaultStack
  origin: string
  keys: BenchKey[]
  /** Milliseconds that the processes of the service have used. */
  cpu: () => Figures
}

const accounts = 16
const noLimit = 100_000_000
const endedWithinMs = 1_200_000

/** Faults vacuum more often than PostgreSQL does by default. */
const productionSettings = ['autovacuum_naptime=1min']

const environmentOfBench = {
  ...manyRequests,
  // The load is not to be refused.
  OVERLOAD_WAITING_CREATES: '0',
  OVERLOAD_EVENT_LOOP_DELAY_MS: '0',
  LIMIT_ADDRESS_PER_3_MINUTES: String(noLimit),
  // The host may stop the whole machine for seconds.
  DATABASE_CONNECT_TIMEOUT_MS: '60000',
}

/** Also the statements of triggers, and the time of planning. */
const profilingSettings = ['pg_stat_statements.track=all', 'pg_stat_statements.track_planning=on']

/** Those that are not running count as 0. */
const cpuMsOfParts = (parts: readonly Part[]) => parts.reduce((sum, part) => sum + cpuMsOf(part.pid()), 0)

export const startBenchStack = async ({
  environment,
  ...changes
}: StackChanges = {}): Promise<BenchStack> => {
  const isProfiling = profileDirectory() !== undefined
  const stack = await startFaultStack({
    processes: { apis: 1, workers: 1 },
    postgresSettings: [...countingSettings, ...productionSettings, ...(isProfiling ? profilingSettings : [])],
    environment: { ...environmentOfBench, ...profileIn(profileDirectory()), ...environment },
    // So that a profile names files.
    isFromSource: isProfiling,
    ...changes,
  })
  await startCounting(stack)
  const unlimited = { create: noLimit, read: noLimit, audio: noLimit, chat: noLimit }
  const keys = await stack.withDatabase((postgres) =>
    Promise.all(
      Array.from({ length: accounts }, async () => {
        const accountId = await createAccount(postgres, { balance: 100_000_000 })
        const { id: keyId, text } = await createKey(postgres, accountId, { limits: unlimited })
        return { accountId, keyId, text }
      }),
    ),
  )
  const { apis, workers, restate, postgres, redis } = stack
  return {
    stack,
    keys,
    origin: stack.origins[0] ?? '',
    cpu: () => ({
      api: cpuMsOfParts(apis),
      worker: cpuMsOfParts(workers),
      restate: cpuMsOf(restate.pid()),
      postgres: cpuMsOfFamily(postgres.pid()),
      redis: cpuMsOf(redis.pid()),
    }),
    [Symbol.asyncDispose]: async () => {
      // A process writes its profile when it ends by itself.
      if (isProfiling) {
        await Promise.all([apis[0], workers[0]].map((role) => role.kill('SIGTERM')))
        console.log(await summarizeStatements(stack))
      }
      await stack[Symbol.asyncDispose]()
    },
  }
}

/** The requests of the benchmarks; the keys take turns. */
export const createVideoOf =
  (keys: BenchKey[], directive = ''): RequestOf =>
  (index) => ({
    method: 'POST',
    path: '/v1/videos',
    headers: {
      authorization: `Bearer ${keys[index % keys.length]?.text}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      model: 'vidB-2',
      prompt: `A whale swims through a calm ocean at sunset, take ${index} ${directive}`,
      seconds: 4,
      size: '1280x720',
    }),
  })

/** Spreads reads over tasks. */
const stride = 7_919

/** Reads the status of one task after the other, as clients that poll would. */
export const readVideosOf =
  (ids: string[], key: BenchKey | undefined, headers: Record<string, string> = {}): RequestOf =>
  (index) => ({
    method: 'GET',
    path: `/v1/videos/${encodeURIComponent(ids[(index * stride) % ids.length] ?? '')}`,
    headers: { authorization: `Bearer ${key?.text}`, ...headers },
  })

export const untilNoneIsOpen = async ({ postgres }: FaultStack): Promise<void> => {
  const client = await postgres.connect()
  try {
    await until(
      'all tasks have ended',
      async () => (await client.query('select from open_tasks limit 1')).rows.length === 0,
      { withinMs: endedWithinMs, everyMs: 100 },
    )
  } finally {
    await client.end()
  }
}

/** Runs a load and returns its figures with the processor time per request, by process and in sum. */
export const measureLoad = async (
  cpu: () => Figures,
  origin: string,
  requestOf: RequestOf,
  options: LoadOptions,
): Promise<Load> => {
  const before = cpu()
  const { count, figures } = await runLoad(origin, requestOf, options)
  const used = per(minus(cpu(), before), count)
  return { count, figures: { ...used, cpu: total(used), ...figures } }
}
