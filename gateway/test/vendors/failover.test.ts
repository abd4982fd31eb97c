/**
 * The preferred provider of a model fails and is repaired under continuous load. Its tasks move to the fallback, and work
 * returns to it. The full run measures the times and stores the figures of the chart; the short one ends the open times of
 * the circuit breaker early, and counts tasks instead.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { FailoverFigures } from '../../../bench/report/failover-figures.ts'
import { writeResult } from '../../../bench/report/results.ts'
import { startVendor, type Vendor } from '../../../dev/vendor/vendor.ts'
import { send } from '../faults/retrying.ts'
import { proxyFaults, startFaultyProxy, type FaultyProxy, type ProxyFault } from '../kit/faulty-proxy.ts'
import { startStack, type Stack } from '../kit/stack.ts'

const isFull = process.env['PROVE_FAILOVER'] === 'full'
const perSecond = isFull ? 0.5 : 1
const beforeMs = 20_000
const faultMs = 90_000
const afterMs = 100_000
const returnMsMax = 60_000
const bucketMs = 5_000
/** In the short run, the work has returned if the last so many tasks went to the first provider. */
const returnedTasks = 1
const tasksUntilReturnMax = 100
const jobMs = 500
const apiKey = 'vendor-key-of-tests'
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const firstOf = (fault: ProxyFault) => `first-${fault}`
const videoModelOf = (fault: ProxyFault) => `clip-${fault}`
const speechModelOf = (fault: ProxyFault) => `voice-${fault}`

/** A task, or a request that was answered synchronously. */
interface Work {
  fault: ProxyFault
  createdMs: number
  provider: string | null
  /** `failed` if the caller got an error. */
  state: string
}
interface Task extends Work {
  attempts: { provider: string; outcome: string; skipped: { provider: string; reason: string }[] }[]
}

let stack: Stack
let second: Vendor
let proxies: Map<ProxyFault, FaultyProxy>
let failedAtMs: number
let repairedAtMs: number
let tasks: Task[]
let calls: Work[]
/** The first request that was refused although it should not have been. */
let problem: unknown

const routingConfig = () => {
  const common = {
    ...{ kind: 'openai', apiKey, slots: 500, idempotentSubmits: true },
    ...{ pollIntervalMsMin: 250, pollIntervalMsMax: 1_000 },
  }
  // Long enough for a busy machine, except where requests are to time out.
  const timeoutOf = (fault: ProxyFault) => (fault === 'timeout' ? (isFull ? 20_000 : 2_000) : 60_000)
  const firsts = [...proxies].map(([fault, { url }]) => [
    firstOf(fault),
    { ...common, baseUrl: url, submitTimeoutMs: timeoutOf(fault) },
  ])
  const models = proxyFaults.flatMap((fault) => {
    const routes = [
      { provider: firstOf(fault), order: 1 },
      { provider: 'second', order: 2 },
    ]
    const video = { kind: 'video', family: 'B', seconds: [4], sizes: ['1280x720'], routes }
    const speech = { kind: 'speech', voices: ['alloy'], routes }
    return [
      [videoModelOf(fault), { ...video, prices: [{ unit: 'second', micros: 100_000 }] }],
      [speechModelOf(fault), { ...speech, prices: [{ unit: 'million_characters', micros: 15_000_000 }] }],
    ]
  })
  return {
    providers: { ...Object.fromEntries(firsts), second: { ...common, baseUrl: second.url } },
    models: Object.fromEntries(models),
  }
}

/** Creates a task and makes a synchronous call for each fault at a constant rate, without waiting, until stopped. */
const offer = () => {
  const pending: Promise<void>[] = []
  const startedMs = Date.now()
  let turns = 0
  const create = async (fault: ProxyFault, turn: number) => {
    const sent = await send({
      ...{ origins: [stack.url], key: stack.key, path: '/v1/videos', method: 'POST' },
      headers: { 'content-type': 'application/json', 'idempotency-key': `${fault} ${turn}` },
      body: JSON.stringify({
        model: videoModelOf(fault),
        prompt: `Whale ${turn}`,
        seconds: '4',
        size: '1280x720',
      }),
      signal: AbortSignal.timeout(600_000),
    })
    if (sent.kind === 'failed') throw new Error(`a create failed: ${sent.reason}`)
  }
  const speak = async (fault: ProxyFault) => {
    const response = await fetch(`${stack.url}/v1/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: speechModelOf(fault), input: 'Hello', voice: 'alloy' }),
      signal: AbortSignal.timeout(600_000),
    })
    // A response that has begun is broken off with that of the vendor.
    await response.arrayBuffer().catch(() => undefined)
    if (response.status < 500 && !response.ok) throw new Error(`a call failed: ${response.status}`)
  }
  const begin = (work: Promise<void>) =>
    pending.push(
      work.catch((error: unknown) => {
        problem ??= error
      }),
    )
  const timer = setInterval(() => {
    while (turns < ((Date.now() - startedMs) / 1_000) * perSecond) {
      turns += 1
      for (const fault of proxyFaults) {
        begin(create(fault, turns))
        // The short form for synchronous calls is in speech-routes.test.ts.
        if (isFull) begin(speak(fault))
      }
    }
  }, 20)
  const stop = async () => {
    clearInterval(timer)
    await Promise.all(pending)
  }
  return { stop, count: () => (isFull ? turns * proxyFaults.length : 0) }
}

/** Lets the open times of the breaker, and the pauses of tasks, pass. */
const endOpenTimes = async () => {
  const { postgres } = stack.database
  await postgres.query(`update open_tasks set not_before = now() where not_before > now()`)
  await postgres.query(`update route_health set open_until = now() where recovered_at is null`)
  await postgres.notify('route_health', '')
}

const readTasks = async (): Promise<Task[]> => {
  const { rows } = await stack.database.postgres.query<Task & Record<string, unknown>>(
    `select split_part(t.model, '-', 2) as fault, t.state, t.provider,
            extract(epoch from t.created_at)::float8 * 1000 as "createdMs",
            (select coalesce(jsonb_agg(jsonb_build_object(
                      'provider', a.provider, 'outcome', a.outcome, 'skipped', a.decision -> 'skipped')
                      order by a.attempt), '[]')
               from task_attempts a where a.day = t.day and a.task_id = t.id) as attempts
       from video_tasks t where t.model like 'clip-%' order by t.created_at, t.id`,
  )
  return rows
}

/** The log is written after the responses, in batches. */
const readCalls = async (): Promise<Work[]> => {
  const { rows } = await stack.database.postgres.query<Work & Record<string, unknown>>(
    `select split_part(model, '-', 2) as fault, provider, case when status < 300 then 'completed' else 'failed' end as state,
            extract(epoch from at)::float8 * 1000 as "createdMs"
       from request_log where model like 'voice-%' order by 4`,
  )
  return rows
}

const madeSince = (sinceMs: number, fault: ProxyFault, all: Task[]) =>
  all.filter((task) => task.fault === fault && task.createdMs > sinceMs && task.state === 'completed')

const untilEach = (what: string, holds: (fault: ProxyFault, all: Task[]) => boolean) =>
  stack.until(what, async () => {
    if (problem !== undefined) throw problem
    const all = await readTasks()
    return proxyFaults.every((fault) => holds(fault, all))
  })

const hasReturned = (fault: ProxyFault, all: Task[]) => {
  const made = madeSince(repairedAtMs, fault, all).map(({ provider }) => provider)
  if (made.length > tasksUntilReturnMax) throw new Error(`${fault}: no work returned`)
  return made.length >= returnedTasks && made.slice(-returnedTasks).every((name) => name === firstOf(fault))
}

beforeAll(async () => {
  second = await startVendor({ apiKey, durationMs: jobMs })
  const first = await startVendor({ apiKey, durationMs: jobMs })
  proxies = new Map(
    await Promise.all(proxyFaults.map(async (fault) => [fault, await startFaultyProxy(first.url)] as const)),
  )
  stack = await startStack({
    routingConfig,
    environment: { LIMIT_CREATES_PER_MINUTE: '1000000', LIMIT_REQUESTS_PER_MINUTE: '1000000' },
  })
  const { stop, count } = offer()
  let hurrying: NodeJS.Timeout | undefined
  try {
    if (isFull) await sleep(beforeMs)
    await untilEach('each is used', (fault, all) => madeSince(0, fault, all).length >= 2)
    failedAtMs = Date.now()
    for (const [fault, proxy] of proxies) await proxy.set(fault)
    if (isFull) await sleep(faultMs)
    await untilEach('each is replaced', (fault, all) =>
      madeSince(failedAtMs, fault, all).some(({ attempts }) => attempts[0]?.provider === 'second'),
    )
    for (const proxy of proxies.values()) await proxy.set(undefined)
    repairedAtMs = Date.now()
    if (isFull) await sleep(afterMs)
    else {
      hurrying = setInterval(() => void endOpenTimes(), 300)
      await untilEach('work returns', hasReturned)
    }
  } finally {
    await stop()
  }
  await stack.until('all is done', async () => Object.keys(await stack.stages()).length === 0)
  clearInterval(hurrying)
  tasks = await readTasks()
  await stack.until('all calls are logged', async () => {
    calls = await readCalls()
    // A call whose connection broke may be missing.
    return calls.length >= count() * 0.98
  })
})
afterAll(async () => {
  await stack[Symbol.asyncDispose]()
  await Promise.all([...proxies.values()].map((proxy) => proxy[Symbol.asyncDispose]()))
  await second.close()
})

const figuresOf = (works: Work[], fault: ProxyFault): FailoverFigures => {
  const own = works.filter((work) => work.fault === fault)
  const done = own.filter(({ state }) => state === 'completed')
  const at = (isFirst: boolean, sinceMs: number) =>
    done
      .filter(({ provider, createdMs }) => (provider === firstOf(fault)) === isFirst && createdMs >= sinceMs)
      .map(({ createdMs }) => (createdMs - sinceMs) / 1_000)
  const bucketOf = ({ createdMs }: Work) => Math.floor((createdMs - failedAtMs) / bucketMs)
  const buckets = Map.groupBy(own, bucketOf)
  return {
    works: own.length,
    failed: own.length - done.length,
    failoverSeconds: Math.min(...at(false, failedAtMs)),
    firstReturnSeconds: Math.min(...at(true, repairedAtMs)),
    lastElsewhereSeconds: Math.max(0, ...at(false, repairedAtMs)),
    shares: [...buckets]
      .toSorted(([one], [other]) => one - other)
      .map(([bucket, inBucket]) => {
        const share = (holds: (work: Work) => boolean) => inBucket.filter(holds).length / inBucket.length
        return {
          seconds: (bucket * bucketMs) / 1_000,
          first: share(({ state, provider }) => state === 'completed' && provider === firstOf(fault)),
          second: share(({ state, provider }) => state === 'completed' && provider === 'second'),
          failed: share(({ state }) => state !== 'completed'),
        }
      }),
  }
}

const seconds = (value: number) => `${value.toFixed(0)} s`
const lineOf = ({
  works,
  failed,
  failoverSeconds,
  firstReturnSeconds,
  lastElsewhereSeconds,
}: FailoverFigures) =>
  `${works}, ${failed} failed; at the fallback after ${seconds(failoverSeconds)}, ` +
  `back after ${seconds(firstReturnSeconds)}, none at the fallback after ${seconds(lastElsewhereSeconds)}`

describe.each(proxyFaults)('%s', (fault) => {
  const own = () => tasks.filter((task) => task.fault === fault)

  test('no task is lost', ({ task }) => {
    const figures = figuresOf(tasks, fault)
    task.meta.line = lineOf(figures)
    expect(figures.failed).toBe(0)
  })

  test.for(isFull ? [returnMsMax] : [])('tasks and calls return within %d ms', (withinMs, { task }) => {
    task.meta.line = `calls: ${lineOf(figuresOf(calls, fault))}`
    for (const works of [tasks, calls]) {
      expect(figuresOf(works, fault).lastElsewhereSeconds * 1_000).toBeLessThan(withinMs)
    }
  })

  test('the decision says that a provider refused a task only if it was asked', () => {
    const wrong = own().filter(({ attempts }) =>
      attempts.some(({ skipped }, at) =>
        skipped.some(
          ({ provider, reason }) =>
            reason === 'refused it already' &&
            !attempts.slice(0, at).some((earlier) => earlier.provider === provider),
        ),
      ),
    )
    expect(wrong.map(({ attempts }) => attempts)).toEqual([])
  })
})

test('every task is charged once, and each has one job', async () => {
  await stack.assertLedger({
    ...{ completed: tasks.length, failed: 0 },
    captures: calls.filter(({ state }) => state === 'completed').length,
    releases: calls.filter(({ state }) => state !== 'completed').length,
  })
})

test.for(isFull ? ['failover'] : [])('the figures are stored as %s', async (name) => {
  const of = (works: Work[]) =>
    Object.fromEntries(proxyFaults.map((fault) => [fault, figuresOf(works, fault)]))
  const repairedSeconds = (repairedAtMs - failedAtMs) / 1_000
  await writeResult(name, { perSecond }, { repairedSeconds, tasks: of(tasks), calls: of(calls) })
})
