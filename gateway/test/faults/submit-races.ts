/**
 * Faults in the middle of submits, after which a submit is executed a second time. The database holds the submits at a
 * chosen point until the fault.
 */
import { setTimeout as sleep } from 'node:timers/promises'

import type pg from 'pg'

import type { FaultStack } from './fault-stack.ts'
import { until, type Part } from './part.ts'
import type { FaultScene } from './run-fault.ts'

const submits = 24
/** So many of them have to be held in one worker. The others wait for one of its database connections. */
const heldMin = 6
/** Until the engine has sent its calls again. */
const repeatMs = 1_000
/** An outcome that is unknown for this long counts as "no job", and the task is submitted again. */
const lookupMs = 120_000

/** Waits until enough statements of one worker wait for a lock; returns that worker. */
const untilHeld = async ({ workers, postgres }: FaultStack): Promise<Part> => {
  let held: Part | undefined
  await until('submits are held', async () => {
    const rows = await postgres.query<{ name: string; count: number }>(
      `select application_name as name, count(*)::int as count from pg_stat_activity
        where wait_event_type = 'Lock' group by application_name`,
    )
    held = workers.find(({ name }) => rows.some((row) => row.name === name && row.count >= heldMin))
    return held !== undefined
  })
  if (held === undefined) throw new Error('no submit is held')
  return held
}

/** Pauses both workers at a moment when neither has a transaction open, whose locks would block everyone else. */
const pauseBetweenTransactions = async ({ workers, postgres }: FaultStack) => {
  const names = workers.map(({ name }) => name)
  await until('no paused worker has a transaction open', async () => {
    for (const worker of workers) worker.pause()
    const open = await postgres.query(
      'select from pg_stat_activity where application_name = any($1) and xact_start is not null',
      [names],
    )
    if (open.length === 0) return true
    for (const worker of workers) worker.resume()
    return false
  })
}

/** Creates tasks and holds their submits after they have read the record. Returns the connection that holds them. */
const holdSubmits = async ({ stack, client }: FaultScene): Promise<pg.Client> => {
  const { workers, postgres } = stack
  await pauseBetweenTransactions(stack)
  const before = client.creates.length
  client.burst(submits, 'findable')
  const creates = client.creates.slice(before)
  await until('the tasks are created', () => creates.every(({ isSettled }) => isSettled))
  const holding = await postgres.connect()
  await holding.query('begin; lock table video_tasks in access exclusive mode')
  for (const worker of workers) worker.resume()
  await untilHeld(stack)
  return holding
}

/** The engine repeats every call of a worker when it starts again, while the first execution goes on as well. */
export const killRestateAtSubmit = async (scene: FaultScene): Promise<void> => {
  const { workers, restate } = scene.stack
  const holding = await holdSubmits(scene)
  // Paused, so that both executions continue at the same moment.
  for (const worker of workers) worker.pause()
  await holding.query('rollback')
  await restate.kill()
  await sleep(repeatMs)
  for (const worker of workers) worker.resume()
  await holding.end()
}

/** The worker stands still between the recorded intent and the request, until another one has submitted the task. */
export const pauseWorkerAtSubmit = async (scene: FaultScene): Promise<void> => {
  const { stack } = scene
  const holding = await holdSubmits(scene)
  const locking = await stack.postgres.connect()
  await locking.query(`begin; select from open_tasks where stage = 'starting' for update`)
  await holding.query('rollback')
  const worker = await untilHeld(stack)
  worker.pause()
  await locking.query('rollback')
  await sleep(lookupMs + 15_000)
  worker.resume()
  await Promise.all([holding.end(), locking.end()])
}
