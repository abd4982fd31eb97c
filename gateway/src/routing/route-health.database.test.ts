/** Health of routes shared between processes, and without the database. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../test/kit/database.ts'
import { startProxy } from '../../test/kit/start-gateway.ts'
import { providerConfigAt } from '../../test/kit/vendor-providers.ts'
import { withoutIntervals } from '../../test/kit/without-intervals.ts'
import { createLog } from '../platform/log.ts'
import { connectPostgres } from '../platform/postgres.ts'
import { ProviderFailure } from '../providers/port/failure.ts'
import { createProviders } from '../providers/registry.ts'
import { createHealth, type Health } from './health.ts'
import { initialTokens } from './retry-budget.ts'
import { deleteOldHealth } from './route-health-store.ts'
import { createRouter } from './router.ts'

const log = createLog({ level: 'silent' }, 'test')
const often = { interval: 20 }
/** The process of the test counts as one that never stands still, however slow the machine is. */
const stalls = { hasStalledSince: () => false, stop: () => {} }

let database: TestDatabase
let one: Health
let other: Health
let model: string
let models = 0

beforeAll(async () => {
  database = await createDatabase()
  // Without the periodic reads, only notifications carry changes between them.
  const create = () => withoutIntervals(() => createHealth({ postgres: database.postgres, stalls, log }))
  one = await create()
  other = await create()
})
afterAll(async () => {
  await one.stop()
  await other.stop()
  await database[Symbol.asyncDispose]()
})
beforeEach(() => {
  models += 1
  model = `model-${models}`
})

const fail = (health: Health, times: number) => {
  for (let call = 0; call < times; call += 1) health.report('acme', model, 'not_delivered')
}
const kindOf = (health: Health) => health.healthOf('acme', model).kind
const bothAre = (kind: 'healthy' | 'unhealthy') =>
  expect.poll(() => [kindOf(one), kindOf(other)], often).toEqual([kind, kind])

/** Ends the open time of the breaker in both processes. */
const endOpenTime = async () => {
  const end = () =>
    database.postgres.query(
      `update route_health set open_until = now() - interval '1 second' where model = $1`,
      [model],
    )
  await expect.poll(async () => (await end()).rowCount, often).toBe(1)
  await database.postgres.notify('route_health', '')
  await expect
    .poll(() => [one, other].map((health) => health.healthOf('acme', model)), often)
    .toMatchObject([{ forMs: 0 }, { forMs: 0 }])
}
const permits = async (asked: Health[]) => {
  const answers = await Promise.all(asked.map((health) => health.mayCall('acme', model, 'first')))
  return answers.filter(({ kind }) => kind === 'yes')
}
const many = () => Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? one : other))

describe('several processes', () => {
  test('ramp up from the rate at which the dispatcher started work for all of them', async () => {
    // Only its own calls would be known otherwise, and after a restart none.
    one.countStarts('acme', model, 200)
    fail(other, 5)
    await bothAre('unhealthy')
    await endOpenTime()
    expect(await permits([other])).toHaveLength(1)
    other.report('acme', model, 'ok')
    await bothAre('healthy')
    // In the first ten seconds, 200 starts count as 20 per second.
    expect(one.startsAllowed('acme', model)).toBeGreaterThanOrEqual(40)
    expect(other.startsAllowed('acme', model)).toBe(5)
  })

  test('learn at once that a provider is unhealthy, and that it recovered', async () => {
    fail(one, 5)
    await bothAre('unhealthy')
    expect(await permits(many())).toEqual([])
    await endOpenTime()
    const [permit] = await permits([other])
    expect(permit).toEqual({ kind: 'yes', isProbe: true })
    other.report('acme', model, 'ok')
    await bothAre('healthy')
    // Every process ramps its starts up.
    for (const health of [one, other]) {
      expect(health.startsAllowed('acme', model)).toBe(5)
      health.countStarts('acme', model, 5)
      expect(health.startsAllowed('acme', model)).toBeLessThan(5)
      expect(health.startsAllowed('acme', 'another model')).toBe(Infinity)
    }
  })

  test('probe with one call at a time; a released probe allows the next', async () => {
    fail(one, 5)
    await bothAre('unhealthy')
    await endOpenTime()
    expect(await permits(many())).toHaveLength(1)
    // Only the process that holds the probe releases it.
    for (const health of [one, other]) health.releaseProbe('acme', model)
    await expect.poll(() => permits(many()), often).toHaveLength(1)
    const openings = async () => {
      const { rows } = await database.postgres.query('select openings from route_health where model = $1', [
        model,
      ])
      return rows
    }
    for (const health of [one, other]) health.report('acme', model, 'unknown')
    await expect.poll(() => openings(), often).toEqual([{ openings: 2 }])
    await bothAre('unhealthy')
    expect(await permits(many())).toEqual([])
  })

  test('do not take the failure of an earlier call for that of the probe', async () => {
    const earlierMs = performance.now()
    fail(one, 5)
    await bothAre('unhealthy')
    await endOpenTime()
    expect(await permits([one])).toHaveLength(1)
    // A call that began before the provider was unhealthy times out during the probe.
    one.report('acme', model, 'unknown', { startedMs: earlierMs })
    expect(await permits(many())).toEqual([])
    one.report('acme', model, 'ok')
    await bothAre('healthy')
  })

  test('that start later know of it too', async () => {
    fail(one, 5)
    await bothAre('unhealthy')
    const late = await createHealth({ postgres: database.postgres, stalls, log })
    expect(kindOf(late)).toBe('unhealthy')
    await late.stop()
  })

  test('delete old recoveries', async () => {
    fail(one, 5)
    await bothAre('unhealthy')
    const known = async () => {
      await deleteOldHealth(database.postgres)
      const { rows } = await database.postgres.query('select model from route_health where model = $1', [
        model,
      ])
      return rows.length
    }
    expect(await known()).toBe(1)
    await database.postgres.query(
      `update route_health set recovered_at = now() - interval '11 minutes' where model = $1`,
      [model],
    )
    expect(await known()).toBe(0)
  })
})

test('without the database a process uses its own counts, and shares them when it is back', async () => {
  await using proxy = await startProxy(database.url)
  const postgres = connectPostgres({ url: proxy.url, connectionsMax: 2 }, log)
  const cutOff = await createHealth({ postgres, stalls, log })
  await proxy.cut()
  expect((await cutOff.mayCall('acme', model, 'first')).kind).toBe('yes')
  fail(cutOff, 5)
  expect(kindOf(cutOff)).toBe('unhealthy')
  expect((await cutOff.mayCall('acme', model, 'first')).kind).toBe('no')
  expect(kindOf(one)).toBe('healthy')
  await proxy.mend()
  await bothAre('unhealthy')
  await cutOff.stop()
  await postgres.close()
})

test('retries at a provider are limited across its models', async () => {
  const health = await createHealth({ postgres: database.postgres, stalls, log })
  const retry = (name: string) => health.mayCall('bolt', name, 'retry')
  const made = await Promise.all(Array.from({ length: 2 * initialTokens }, (_, at) => retry(`m${at}`)))
  expect(made.filter(({ kind }) => kind === 'yes')).toHaveLength(initialTokens)
  for (let first = 0; first < 10; first += 1) await health.mayCall('bolt', 'm', 'first')
  expect((await retry('m')).kind).toBe('yes')
  expect(await retry('m')).toMatchObject({ kind: 'no', retryAfterMs: expect.any(Number) })
  await health.stop()
})

test('a routed task counts as load at once, until the counts are read again', async () => {
  const providers = ['first', 'second'].map((name) => providerConfigAt('http://127.0.0.1:9', 'any', { name }))
  const route = {
    upstreamModel: 'm',
    order: 1,
    weight: 1,
    seconds: undefined,
    sizes: undefined,
    slots: undefined,
  }
  const routes = [
    { ...route, provider: 'first' },
    { ...route, provider: 'second', order: 2 },
  ]
  const config = { providers, models: { video: { routes } } as never }
  const live = { current: () => config, onChange: () => () => {} }
  const { postgres } = database
  const router = await createRouter({
    ...{
      liveConfig: live,
      providers: createProviders(live, { ffmpegPath: 'ffmpeg' }),
      postgres,
      stalls,
      log,
    },
  })
  const video = { seconds: 4, width: 480, height: 480, isRemix: false, isSilent: false }
  const choose = () => router.choose('video', { capability: 'video', video })?.decision
  expect(choose()).toMatchObject({ provider: 'first', skipped: [] })
  expect(choose()).toMatchObject({
    provider: 'second',
    skipped: [{ provider: 'first', reason: 'all 1 slots in use' }],
  })
  // No task was created.
  await expect.poll(() => choose(), often).toMatchObject({ provider: 'first' })
  await router.stop()
})

test('a changed key resets the health in every process; another changed setting does not', async () => {
  const { postgres } = database
  const listeners = new Set<() => void>()
  let config = {
    providers: [providerConfigAt('http://127.0.0.1:9', 'old-key', { name: 'acme' })],
    models: {},
  }
  const live = {
    current: () => config,
    onChange: (listener: () => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  const change = (key: string, slots: number) => {
    config = {
      ...config,
      providers: [providerConfigAt('http://127.0.0.1:9', key, { name: 'acme', slots })],
    }
    for (const listener of listeners) listener()
  }
  const router = await createRouter({
    ...{
      liveConfig: live,
      providers: createProviders(live, { ffmpegPath: 'ffmpeg' }),
      postgres,
      stalls,
      log,
    },
  })
  router.report('acme', model, 'unauthorized')
  await expect
    .poll(() => other.healthOf('acme', model), often)
    .toMatchObject({ kind: 'unhealthy', isUnauthorized: true })
  change('old-key', 2)
  expect(router.healthOf('acme', model)).toMatchObject({ kind: 'unhealthy', isUnauthorized: true })
  change('new-key', 2)
  expect(router.healthOf('acme', model)).toEqual({ kind: 'healthy' })
  await expect.poll(() => other.healthOf('acme', model), often).toEqual({ kind: 'healthy' })
  await router.stop()
})

test.each([
  ['that outlives its client counts against the provider', true, 'unhealthy'],
  ['that ends with its client does not count', false, 'healthy'],
] as const)('a failure of work %s', async (_, outlivesClient, kind) => {
  const { postgres } = database
  const route = { provider: 'acme', upstreamModel: 'speech', order: 1, weight: 1 }
  const config = {
    providers: [providerConfigAt('http://127.0.0.1:9', 'a-key', { name: 'acme' })],
    models: { [model]: { routes: [route] } } as never,
  }
  const live = { current: () => config, onChange: () => () => {} }
  const router = await createRouter({
    ...{
      liveConfig: live,
      providers: createProviders(live, { ffmpegPath: 'ffmpeg' }),
      postgres,
      stalls,
      log,
    },
  })
  for (let call = 0; call < 5; call += 1) {
    const client = new AbortController()
    const asked = router.call(model, { capability: 'speech', outlivesClient }, client.signal, () => {
      client.abort()
      return Promise.reject(new ProviderFailure('unknown', 'no answer in time'))
    })
    await expect(asked).rejects.toMatchObject({ kind: 'unknown' })
  }
  expect(router.healthOf('acme', model).kind).toBe(kind)
  await router.stop()
})

describe('a failure that this process caused', () => {
  const startHealth = (hasStalled: (sinceMs: number) => boolean) =>
    createHealth({ postgres: database.postgres, stalls: { hasStalledSince: hasStalled }, log })

  test('does not count: it stood still during the call', async () => {
    const stalledUntilMs = performance.now()
    const health = await startHealth((sinceMs) => stalledUntilMs > sinceMs)
    const reportFive = (outcome: 'unknown' | 'not_delivered' | 'busy', startedMs: number) => {
      for (let call = 0; call < 5; call += 1) health.report('acme', model, outcome, { startedMs })
    }
    reportFive('unknown', stalledUntilMs - 1)
    reportFive('not_delivered', stalledUntilMs - 1)
    expect(kindOf(health)).toBe('healthy')
    // A call that began after the stall counts.
    reportFive('unknown', stalledUntilMs)
    expect(kindOf(health)).toBe('unhealthy')
    await health.stop()
  })

  test('does not count: it lacks resources; a probe is released', async () => {
    const health = await startHealth(() => false)
    const reportFive = (isLocal: boolean) => {
      for (let call = 0; call < 5; call += 1) health.report('acme', model, 'not_delivered', { isLocal })
    }
    reportFive(true)
    expect(kindOf(health)).toBe('healthy')
    reportFive(false)
    await bothAre('unhealthy')
    await endOpenTime()
    await expect.poll(() => health.healthOf('acme', model), often).toMatchObject({ forMs: 0 })
    expect(await health.mayCall('acme', model, 'first')).toEqual({ kind: 'yes', isProbe: true })
    health.report('acme', model, 'not_delivered', { isLocal: true })
    await expect.poll(() => permits(many()), often).toHaveLength(1)
    await health.stop()
  })

  test('is not one with a response, even after a stall', async () => {
    const health = await startHealth(() => true)
    health.report('acme', model, 'unauthorized', { startedMs: 0 })
    expect(health.healthOf('acme', model)).toMatchObject({ kind: 'unhealthy', isUnauthorized: true })
    await health.stop()
  })
})
