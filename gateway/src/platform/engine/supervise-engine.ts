/**
 * Every worker registers its URL with the engine, and the workers in turn compare the engine with the database. Timers do
 * this and not a loop of the engine, because an engine that starts empty has no loops.
 */
import type { Log } from '../log.ts'
import type { Postgres } from '../postgres.ts'
import { checkEngine, type CheckDependencies } from './anti-entropy.ts'
import { countFindings } from './invocation-metrics.ts'
import { claimJob } from './tick-store.ts'

export interface SupervisorDependencies extends CheckDependencies {
  postgres: Postgres
  workerUrl: string
  /** The names of the services that this worker serves. */
  services: string[]
  log: Log
}

const everyMs = 10_000
/** So many open tasks are compared at a time; with more, the comparison takes longer and is made less often. */
const tasksPerInterval = 10_000
const untilReachedMs = 500

/** How often the workers compare, together, if so many tasks have runs. */
export const checkIntervalMs = (tasks: number): number =>
  everyMs * Math.max(1, Math.ceil(tasks / tasksPerInterval))

/** Recorded by every worker that reaches the engine. Without it for `heartbeatSecondsMax`, no task progresses. */
export const heartbeat = { loop: 'engine', key: 'heartbeat' } as const
export const heartbeatSecondsMax = 60
const heartbeatEveryMs = 8_000

export const superviseEngine = async (
  dependencies: SupervisorDependencies,
): Promise<{ stop: () => Promise<void> }> => {
  const { postgres, engine, loops, workerUrl, services, log } = dependencies
  let wasReached = false
  let intervalMs = everyMs

  const register = async () => {
    // At the start in any case: the code behind a registered URL may be newer than the registration. Later if a service is
    // missing: during an upgrade, a worker of the previous version may have answered the engine's question what is served.
    if (wasReached && (await engine.isRegistered(workerUrl, services))) return
    await engine.register(workerUrl)
    log.info({ workerUrl }, 'engine.registered')
    for (const { loop, key } of await loops()) engine.wake(loop, key)
    wasReached = true
  }
  const compare = async () => {
    // Shorter than the interval, so that the check of a worker that died is not missed.
    if (!(await claimJob(postgres, 'engine', 'check', intervalMs * 0.8))) return
    const check = await checkEngine(dependencies)
    countFindings(check)
    intervalMs = checkIntervalMs(check.openTasks)
    if (check.repairs > 0) log.warn(check, 'engine.repaired')
  }
  const check = async () => {
    try {
      await register()
      await claimJob(postgres, heartbeat.loop, heartbeat.key, heartbeatEveryMs)
      await compare()
    } catch (error) {
      log.warn({ err: error }, 'engine.unreachable')
    }
  }

  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  let checking = Promise.resolve()
  const again = () => {
    // Often until the engine was reached once, because everything depends on it.
    timer = setTimeout(
      () => {
        checking = check().then(() => {
          if (!isStopped) again()
        })
      },
      wasReached ? everyMs : untilReachedMs,
    )
  }
  await check()
  again()
  return {
    stop: async () => {
      isStopped = true
      clearTimeout(timer)
      await checking
    },
  }
}
