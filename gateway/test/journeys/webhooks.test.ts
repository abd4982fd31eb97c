/** Webhooks of a running service: receivers of every kind, and crashes. `npm run prove:webhooks` runs the long forms. */
import { expect, test } from 'vitest'

import { startStack, type Stack } from '../kit/stack.ts'
import { minutes } from '../kit/time-limits.ts'
import { startWebhookReceivers, type Arrival, type Behaviour } from '../kit/webhook-receivers.ts'

const tasks = Number(process.env['WEBHOOK_TASKS'] ?? 12)
const killedTasks = Number(process.env['WEBHOOK_KILLED_TASKS'] ?? 60)
const kills = Number(process.env['WEBHOOK_KILLS'] ?? 2)

const isShort = tasks < 100
// A receiver that is down until all videos are completed must not use up its attempts.
const pauses = isShort ? [1, 2, 3] : [1, 2, 3, 30, 60]
/** The random part of a pause. */
const jitter = 0.1

const environment = {
  WEBHOOK_ALLOW_LOOPBACK: 'true',
  WEBHOOK_RETRY_SECONDS: pauses.join(','),
  WEBHOOK_TIMEOUT_SECONDS: '1',
  // More than the receivers stand still on a busy machine.
  WEBHOOK_FAILING_SECONDS: isShort ? '15' : '120',
}

interface Counted extends Record<string, unknown> {
  endpoint: string
  state: string
  deliveries: number
  attempts: number
}

const countDeliveries = async ({ database }: Stack) =>
  (
    await database.postgres.query<Counted>(
      `select endpoint_id as endpoint, state, count(*) as deliveries, sum(attempts)::bigint as attempts
         from webhook_deliveries group by endpoint_id, state`,
    )
  ).rows

const countPending = async (stack: Stack) =>
  (await countDeliveries(stack)).reduce(
    (sum, { state, deliveries }) => sum + (state === 'pending' ? deliveries : 0),
    0,
  )

const idsOf = (arrivals: Arrival[]) => new Set(arrivals.map(({ eventId }) => eventId))

test(
  'each event is delivered, or ends as the schedule says, whatever a receiver does',
  { timeout: minutes(20) },
  async () => {
    await using stack = await startStack({ environment, slots: 200 })
    await using receivers = await startWebhookReceivers()
    const { postgres } = stack.database
    const behaviours: Behaviour[] = [
      ...(['ok', 'ok', 'flaky', 'down', 'break', 'slow'] as const),
      ...(['error', 'hang', 'trickle', 'redirect', 'gone'] as const),
    ]
    const endpoints: { behaviour: Behaviour; id: string }[] = []
    for (const behaviour of behaviours) {
      const { id } = await receivers.add(postgres, stack.accountId, behaviour, ['video.completed'])
      endpoints.push({ behaviour, id })
    }
    await Promise.all(Array.from({ length: tasks }, (_, index) => stack.create(`A whale, number ${index}`)))
    const down = endpoints.find(({ behaviour }) => behaviour === 'down')?.id
    const areCompleted = async () => (await stack.states())['completed'] === tasks
    await stack.until('a receiver is down for a while', async () =>
      isShort ? receivers.arrivals.some(({ endpoint }) => endpoint === down) : areCompleted(),
    )
    receivers.repair()
    await stack.until('all videos are completed', areCompleted)
    const takenMs = await stack.until(
      'all deliveries have ended',
      async () => (await countPending(stack)) === 0,
    )

    const counted = await countDeliveries(stack)
    const { rows: reasons } = await postgres.query<{ id: string; reason: string | null }>(
      'select id, disabled_reason as reason from webhook_endpoints',
    )
    for (const { behaviour, id } of endpoints) {
      const arrived = receivers.arrivals.filter(({ endpoint }) => endpoint === id)
      const ofEndpoint = counted.filter(({ endpoint }) => endpoint === id)
      const reason = reasons.find((each) => each.id === id)?.reason ?? null
      const succeeds = ['ok', 'flaky', 'down', 'break', 'slow'].includes(behaviour)
      expect({ behaviour, states: ofEndpoint.map(({ state }) => state), reason }).toEqual({
        behaviour,
        states: [succeeds ? 'delivered' : 'failed'],
        // With few events, all attempts may have been made before the endpoint is disabled.
        reason: succeeds ? null : behaviour === 'gone' ? 'gone' : expect.toBeOneOf(['failing', null]),
      })
      if (succeeds) expect(idsOf(arrived.filter(({ wasAccepted }) => wasAccepted)).size).toBe(tasks)
      for (const { attempts, deliveries } of ofEndpoint)
        expect(attempts).toBeLessThanOrEqual(deliveries * (pauses.length + 1))
    }
    expect(receivers.arrivals.filter(({ isAuthentic }) => !isAuthentic)).toEqual([])
    expect(receivers.followed()).toBe(0)

    // The pause before the second attempt. A later one only shows that the machine is busy.
    const flaky = endpoints.find(({ behaviour }) => behaviour === 'flaky')?.id
    const gapsMs = [
      ...Map.groupBy(
        receivers.arrivals.filter(({ endpoint }) => endpoint === flaky),
        ({ eventId }) => eventId,
      ),
    ]
      .flatMap(([, [first, second]]) =>
        first === undefined || second === undefined ? [] : second.atMs - first.atMs,
      )
      .toSorted((a, b) => a - b)
    const [pause = 0] = pauses
    for (const gapMs of gapsMs) expect(gapMs).toBeGreaterThan(1_000 * pause * (1 - jitter) - 5)
    console.log(
      `${tasks * endpoints.length} deliveries to ${endpoints.length} endpoints ended after ${(takenMs / 1000).toFixed(1)} s; ` +
        `${receivers.arrivals.length} attempts arrived; pause of ${pause} s: ${gapsMs.length} times, ` +
        `${gapsMs.map((gap) => gap.toFixed(0)).at(0)} to ${gapsMs.map((gap) => gap.toFixed(0)).at(-1)} ms`,
    )
  },
)

test(
  'killed workers, a killed engine and an emptied one lose no event, and repeated ones have the same id',
  { timeout: minutes(20) },
  async () => {
    await using stack = await startStack({ environment, slots: 200, workers: 2 })
    await using receivers = await startWebhookReceivers()
    const { id } = await receivers.add(stack.database.postgres, stack.accountId, 'slow', [
      'video.processing',
      'video.completed',
    ])
    const creating = Array.from({ length: killedTasks }, (_, index) =>
      stack.create(`A bear, number ${index}`),
    )
    await Promise.all(creating)
    for (let kill = 0; kill < kills; kill += 1) {
      const worker = stack.workers[kill % 2]
      await worker?.kill()
      if (kill % 4 === 1) {
        await stack.engine.stop()
        if (kill === 1) await stack.engine.empty()
        await stack.engine.start()
      }
      await worker?.start()
      const before = receivers.arrivals.length
      await stack.until(
        'another event has arrived, or all have',
        async () => receivers.arrivals.length > before || (await countPending(stack)) === 0,
      )
    }
    await stack.until(
      'all videos are completed',
      async () => (await stack.states())['completed'] === killedTasks,
    )
    await stack.until('all events are delivered', async () => (await countPending(stack)) === 0)
    expect(await countDeliveries(stack)).toMatchObject([
      { endpoint: id, state: 'delivered', deliveries: 2 * killedTasks },
    ])
    expect(idsOf(receivers.arrivals).size).toBe(2 * killedTasks)
    console.log(
      `${kills} kills: ${2 * killedTasks} events, ${receivers.arrivals.length - 2 * killedTasks} of them delivered once more`,
    )
    await stack.assertLedger({ completed: killedTasks, failed: 0 })
  },
)
