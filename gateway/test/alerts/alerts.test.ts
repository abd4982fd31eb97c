/**
 * Alerts fire in Prometheus and reach the receiver of Alertmanager under the fault that they are for, and clear after its repair.
 * `npm run prove:alerts`.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'

import { until } from '../faults/part.ts'
import { minutes } from '../kit/time-limits.ts'
import { startMonitoredStack, type MonitoredStack } from './monitored-stack.ts'

declare module 'vitest' {
  interface TaskMeta {
    figures?: { alert: string; fault: string; firedSeconds: number; clearedSeconds: number }[]
  }
}

/** By which `for`, ranges, and the waits of Alertmanager are divided. Limits of values stay as they are. */
const factor = 60
const withinMs = minutes(8)

interface Fault {
  alert: string
  /** As it appears in the table. */
  fault: string
  receiver: 'page' | 'ticket'
  /** Returns the repair. */
  inject: (given: MonitoredStack) => Promise<() => Promise<void>>
  /** Another alert that fires in Prometheus. Alertmanager does not report it while it reports the first one. */
  symptom?: string
}

/** Repeats something until it is stopped. */
const repeatedly = (work: () => Promise<void>) => {
  let isStopped = false
  const running = (async () => {
    while (!isStopped) {
      await work()
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  })()
  return async () => {
    isStopped = true
    await running
  }
}

const failVendor =
  (fault: '401' | '500' | 'refused') =>
  async ({ proxy }: MonitoredStack) => {
    await proxy.set(fault)
    return () => proxy.set(undefined)
  }

interface Invocation {
  id: string
}

const pauseInvocations = async ({ adminUrl }: MonitoredStack) => {
  const response = await fetch(`${adminUrl}/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({
      query: `select id from sys_invocation where status in ('running', 'suspended', 'backing-off')`,
    }),
  })
  const { rows } = (await response.json()) as { rows: Invocation[] }
  await Promise.all(rows.map(({ id }) => fetch(`${adminUrl}/invocations/${id}/pause`, { method: 'PATCH' })))
}

const changeHeld = (micros: number) =>
  `update balances set held_micros = held_micros + ${micros} where wallet = 'payg'`

const faults: Fault[] = [
  {
    alert: 'KinoraRoleDown',
    fault: 'the worker is killed',
    receiver: 'page',
    inject: async ({ stack: { workers } }) => {
      await workers[0]?.kill()
      return async () => workers[0]?.start()
    },
  },
  {
    alert: 'KinoraProviderRejectsKey',
    fault: 'the vendor answers 401',
    receiver: 'page',
    inject: failVendor('401'),
  },
  {
    alert: 'KinoraBreakerOpen',
    fault: 'the vendor answers 500',
    receiver: 'ticket',
    inject: failVendor('500'),
  },
  {
    alert: 'KinoraOldestTaskWaiting',
    fault: 'the vendor refuses connections, and a task in the queue is made 11 minutes older in SQL',
    receiver: 'page',
    inject: async (given) => {
      const repair = await failVendor('refused')(given)
      await until('tasks wait', async () => {
        const rows = await given.postgres.query(
          `update open_tasks set accepted_at = accepted_at - interval '11 minutes'
            where task_id = (select task_id from open_tasks where stage = 'accepted' limit 1) returning 1`,
        )
        return rows.length > 0
      })
      return repair
    },
  },
  {
    alert: 'KinoraTaskFailures',
    fault: 'the vendor fails every job',
    receiver: 'page',
    inject: async ({ stack: { vendor } }) => {
      vendor.faults.failCode = 'server_error'
      return async () => {
        vendor.faults.failCode = ''
      }
    },
  },
  {
    alert: 'KinoraRejections',
    fault: 'more creates at once than OVERLOAD_WAITING_CREATES',
    receiver: 'ticket',
    inject: async ({ flood }) => {
      const stopping = new AbortController()
      const flooding = flood(60, stopping.signal)
      return async () => {
        stopping.abort()
        await flooding
      }
    },
  },
  {
    alert: 'KinoraDiskLow',
    fault: 'the disk of uploads is full',
    receiver: 'page',
    inject: async ({ disk }) => {
      await disk.fill()
      return disk.empty
    },
  },
  {
    alert: 'KinoraMediaStoreProblem',
    fault: 'the S3 server answers 503',
    receiver: 'page',
    inject: async ({ bucket }) => {
      bucket.set('busy')
      return async () => bucket.set(undefined)
    },
  },
  {
    alert: 'KinoraLedgerViolation',
    fault: 'the held amount of a balance is changed in SQL by 0.000001',
    receiver: 'page',
    inject: async ({ postgres }) => {
      await postgres.query(changeHeld(1))
      return async () => {
        await postgres.query(changeHeld(-1))
      }
    },
  },
  {
    alert: 'KinoraInvocationsPaused',
    fault: 'every invocation is paused at the engine, again and again',
    receiver: 'page',
    inject: async (given) => repeatedly(() => pauseInvocations(given)),
  },
  {
    alert: 'KinoraEngineComparisonLate',
    fault: 'the engine is stopped',
    receiver: 'page',
    symptom: 'KinoraPollsOverdue',
    inject: async ({ postgres, stack: { engine, vendor } }) => {
      vendor.faults.neverFinishes = true
      await until('jobs wait for their next poll', async () => {
        const [row] = await postgres.query<{ waiting: number }>(
          `select count(*)::int as waiting from open_tasks where stage = 'waiting'`,
        )
        return (row?.waiting ?? 0) >= 5
      })
      await engine.stop()
      return async () => {
        vendor.faults.neverFinishes = false
        vendor.release(1_000)
        await engine.start()
      }
    },
  },
  {
    alert: 'KinoraApiErrorsFast',
    fault: 'PostgreSQL is stopped',
    receiver: 'page',
    inject: async ({ postgres }) => {
      await postgres.kill('SIGINT')
      return () => postgres.start()
    },
  },
]

let given: MonitoredStack

beforeAll(async () => {
  given = await startMonitoredStack(factor)
})
afterAll(() => given[Symbol.asyncDispose]())

const secondsUntil = async (what: string, holds: () => boolean | Promise<boolean>) => {
  const startedMs = performance.now()
  await until(what, holds, { withinMs })
  return (performance.now() - startedMs) / 1_000
}

test.for(faults)('$alert: $fault', async ({ alert, fault, receiver, symptom, inject }, { task }) => {
  const { alerting } = given
  const isInPrometheus = async (name: string) => (await alerting.firing()).includes(name)
  await secondsUntil(`${alert} does not fire`, async () => !(await isInPrometheus(alert)))
  await secondsUntil(`${alert} is not reported`, () => !alerting.isFiring(alert))
  const watched = [
    { name: alert, isFiring: async () => alerting.isFiring(alert) },
    ...(symptom === undefined ? [] : [{ name: symptom, isFiring: () => isInPrometheus(symptom) }]),
  ]
  const repair = await inject(given)
  let fired: number[] = []
  try {
    fired = await Promise.all(watched.map(({ name, isFiring }) => secondsUntil(`${name} fires`, isFiring)))
  } finally {
    await repair()
  }
  expect(alerting.receiversOf(alert)).toEqual([receiver])
  const cleared = await Promise.all(
    watched.map(({ name, isFiring }) => secondsUntil(`${name} clears`, async () => !(await isFiring()))),
  )
  task.meta.figures = watched.map(({ name }, index) => ({
    ...{ alert: name, fault },
    ...{ firedSeconds: fired[index] ?? Number.NaN, clearedSeconds: cleared[index] ?? Number.NaN },
  }))
})
