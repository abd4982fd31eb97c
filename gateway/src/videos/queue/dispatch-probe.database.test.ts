/** A tick of the dispatcher of a provider that may get no work now, while another provider of its models is healthy. */
import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { createStartedTask } from '../../../test/kit/started-task.ts'
import { startVendorGateway, type VendorGateway } from '../../../test/kit/vendor-gateway.ts'
import { providerConfigAt } from '../../../test/kit/vendor-providers.ts'
import { createLog } from '../../platform/log.ts'
import type { ProviderConfig } from '../../provider-config/config.ts'
import { createProviders } from '../../providers/registry.ts'
import type { CallOutcome } from '../../routing/route.ts'
import { createRouter } from '../../routing/router.ts'
import { dispatch } from './dispatch-videos.ts'
import { queueDefaults } from './queue-limits.ts'

const model = 'vidB-2'
const single = 'vidB-2-pro'
const log = createLog({ level: 'silent' }, 'test')
const stalls = { hasStalledSince: () => false, stop: () => {} }

let gateway: VendorGateway
beforeAll(async () => {
  gateway = await startVendorGateway()
})
afterAll(() => gateway[Symbol.asyncDispose]())

/** A dispatcher of two providers without an engine. The first one has the budget. */
const startDispatcher = async (budget?: ProviderConfig['budget']) => {
  const { postgres } = gateway.database
  const route = (provider: string, order: number) => ({ provider, upstreamModel: model, order, weight: 1 })
  const config = {
    providers: ['vendor', 'fallback'].map((name) =>
      providerConfigAt(gateway.vendor.url, 'a-key', {
        ...{ name, slots: 100 },
        budget: name === 'vendor' ? budget : undefined,
      }),
    ),
    models: {
      [model]: { routes: [route('vendor', 1), route('fallback', 2)] },
      [single]: { routes: [route('vendor', 1)] },
    } as never,
  }
  const liveConfig = { current: () => config, onChange: () => () => {} }
  const providers = createProviders(liveConfig, { ffmpegPath: 'ffmpeg' })
  const router = await createRouter({ liveConfig, providers, postgres, stalls, log })
  const catalog = { isAvailable: () => true } as never
  const engine = { wake: () => {} } as never
  const dependencies = { postgres, providers, router, catalog, engine, queueLimits: () => queueDefaults }
  return {
    router,
    tick: () => dispatch(dependencies, 'vendor', randomUUID()),
    [Symbol.asyncDispose]: () => router.stop(),
  }
}

const failures: Partial<Record<CallOutcome, number>> = { unauthorized: 1, not_delivered: 5, unknown: 5 }

test.each(Object.entries(failures) as [CallOutcome, number][])(
  'after %s one task probes the provider when its open time has passed, and the others move to the fallback',
  async (outcome, count) => {
    const { postgres } = gateway.database
    await using dispatcher = await startDispatcher()
    const { router, tick } = dispatcher
    for (let call = 0; call < count; call += 1) router.report('vendor', model, outcome)
    const endOpenTime = () =>
      postgres.query(`update route_health set open_until = now() - interval '1 second' where model = $1`, [
        model,
      ])
    await expect.poll(async () => (await endOpenTime()).rowCount).toBe(1)
    await postgres.notify('route_health', '')
    await expect.poll(() => router.healthOf('vendor', model)).toMatchObject({ forMs: 0 })

    const taskIds = [
      await createStartedTask(gateway, 'starting'),
      await createStartedTask(gateway, 'starting'),
    ]
    await postgres.query(`update open_tasks set stage = 'accepted', run = 0 where task_id = any ($1)`, [
      taskIds,
    ])
    await tick()
    const { rows } = await postgres.query<{ provider: string; stage: string; decision: unknown }>(
      `select provider, stage, decision from open_tasks where task_id = any ($1) order by stage desc`,
      [taskIds],
    )
    const reason = expect.stringMatching(/^to be tried again after/)
    expect(rows).toMatchObject([
      { provider: 'vendor', stage: 'starting' },
      {
        provider: 'fallback',
        stage: 'accepted',
        // It was not asked, so it refused nothing.
        decision: { skipped: [{ provider: 'vendor', reason }] },
      },
    ])
    router.report('vendor', model, 'ok')
    await expect
      .poll(
        async () => (await postgres.query('select from route_health where recovered_at is null')).rowCount,
      )
      .toBe(0)
    await postgres.query('delete from route_health')
  },
)

test('while the budget of a provider is spent, its queue moves to other routes, and only a task whose job it may have starts', async () => {
  const { postgres } = gateway.database
  await using dispatcher = await startDispatcher({ micros: 1, alertPercent: 80, alertMicros: 1, stops: true })
  const { router, tick } = dispatcher
  await postgres.query(
    `insert into usage_entries (day, id, ended_at, account_id, key_id, model, outcome, captured_micros, provider, cost_micros,
                                prices)
     values ((now() at time zone 'utc')::date, 'earlier', now(), $1, $1, 'm', 'completed', 1, 'vendor', 1, '[]')`,
    [randomUUID()],
  )
  await expect.poll(() => router.stopAt('vendor')).toBeDefined()
  const movable = await createStartedTask(gateway, 'starting')
  const withoutRoute = await createStartedTask(gateway, 'starting')
  const unknown = await createStartedTask(gateway, 'starting')
  const ids = [movable, withoutRoute, unknown]
  await postgres.query(`update open_tasks set stage = 'accepted', run = 0 where task_id = any ($1)`, [ids])
  await postgres.query('update open_tasks set model = $2 where task_id = $1', [withoutRoute, single])
  await postgres.query('update open_tasks set outcome_unknown_since = now() where task_id = $1', [unknown])

  await tick()
  const { rows } = await postgres.query<{ id: string }>(
    'select task_id as id, provider, stage from open_tasks where task_id = any ($1)',
    [ids],
  )
  expect(new Map(rows.map(({ id, ...row }) => [id, row]))).toEqual(
    new Map<string, object>([
      [movable, { provider: 'fallback', stage: 'accepted' }],
      [withoutRoute, { provider: 'vendor', stage: 'accepted' }],
      [unknown, { provider: 'vendor', stage: 'starting' }],
    ]),
  )
})
