/** Faults of the engine that it cannot repair by itself: it has lost tasks, or carries those of another time. */
import { execFile } from 'node:child_process'
import { rename, rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

import type { FaultStack } from './fault-stack.ts'
import { until } from './part.ts'
import type { Fault } from './run-fault.ts'

const recoveredWithinMs = 30_000
/** A submit whose outcome is unknown is looked up for two minutes before it is repeated. */
const lookedUpWithinMs = 180_000
const submitsAtOnce = 30

const run = async (program: string, parameters: string[]) => {
  await promisify(execFile)(program, parameters)
}

interface Invocation {
  id: string
  service: string
  key: string
}

const killInvocations = async ({ restate }: FaultStack, where: string): Promise<Invocation[]> => {
  const invocations = await restate.query<Invocation>(
    `select id, target_service_name as service, coalesce(target_service_key, idempotency_key) as key from sys_invocation
      where status <> 'completed' and ${where}`,
  )
  await Promise.all(
    invocations.map(({ id }) => fetch(`${restate.adminUrl}/invocations/${id}/kill`, { method: 'PATCH' })),
  )
  return invocations
}

/** Kills the invocations of tasks in this stage, until there were some. A task that waits for its job has none. */
const killAtStage = (stage: string): Fault => ({
  recoveredWithinMs,
  run: async ({ stack, client }) => {
    let count = 0
    client.burst(30, 'repeatable')
    await until(
      `invocations of tasks that are ${stage} are killed`,
      async () => {
        const rows = await stack.postgres.query<{ key: string }>(
          `select task_id || '~' || run as key from open_tasks where stage = $1`,
          [stage],
        )
        if (rows.length === 0) return false
        // A call has the keys of all its runs.
        const hasKey = rows.map(({ key }) => `idempotency_key like '%${key}%'`).join(' or ')
        const killed = await killInvocations(stack, `target_service_name = 'advanceVideo' and (${hasKey})`)
        count += killed.length
        return count > 0
      },
      { everyMs: 5 },
    )
  },
})

/** A run whose invocation is killed goes on in its worker, so the workers are killed as well. */
const killWorkersAndRuns: Fault['run'] = async ({ stack, client }) => {
  const { postgres, workers } = stack
  client.burst(submitsAtOnce, 'repeatable', 'vendor:slow-reply=2000')
  await until('tasks are being submitted', async () => {
    const submitting = await postgres.query(
      `select from open_tasks where provider = 'repeatable' and stage = 'submitting'`,
    )
    return submitting.length >= submitsAtOnce / 2
  })
  await Promise.all(workers.map((worker) => worker.kill()))
  await killInvocations(stack, `target_service_name = 'advanceVideo'`)
  await Promise.all(workers.map((worker) => worker.start()))
}

interface Stoppable {
  whileStopped: (work: (dataDirectory: string) => Promise<void>) => Promise<void>
}

/** Copies the data of a service, and puts the copy in place ten seconds later. */
const restoreCopy = async ({ whileStopped }: Stoppable) => {
  await whileStopped((data) => run('cp', ['-a', data, `${data}-copy`]))
  await sleep(10_000)
  await whileStopped(async (data) => {
    await rm(data, { recursive: true })
    await rename(`${data}-copy`, data)
  })
}

export const engineFaults = {
  'kill starting': killAtStage('starting'),
  'kill submitting': killAtStage('submitting'),
  'kill storing': killAtStage('storing'),
  'kill workers and runs': {
    isLong: true,
    recoveredWithinMs: lookedUpWithinMs,
    run: killWorkersAndRuns,
  },
  'kill all invocations': {
    recoveredWithinMs,
    run: async ({ stack, client }) => {
      client.burst(30, 'repeatable')
      await killInvocations(stack, 'true')
    },
  },
  'restore engine': { recoveredWithinMs, run: ({ stack }) => restoreCopy(stack.restate) },
  'restore postgres': {
    recoveredWithinMs,
    // The other one has no means to recognize the submits that the database has forgotten.
    isLong: true,
    models: ['repeatable'],
    stopsCreates: true,
    run: async ({ stack, client }) => {
      // What is created after the copy is lost with the database.
      client.stop()
      client.burst(60, 'repeatable')
      await until('the tasks are created', () => client.creates.every(({ isSettled }) => isSettled))
      await restoreCopy(stack.postgres)
    },
  },
  'empty engine': {
    recoveredWithinMs,
    run: ({ stack: { restate } }) => restate.whileStopped((data) => rm(data, { recursive: true })),
  },
} satisfies Record<string, Fault>
