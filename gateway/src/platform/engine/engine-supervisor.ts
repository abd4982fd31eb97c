/**
 * Every worker checks every few seconds that its URL is registered with the engine and that each loop has ticked lately,
 * and repairs both. An engine that starts empty is thus restored from the database without a restart of the workers.
 */
import type { Log } from '../log.ts'
import type { Postgres } from '../postgres.ts'
import { silentLoops } from './engine-tick-store.ts'
import type { Engine } from './restate.ts'

export interface SupervisedLoop {
  loop: string
  key: string
}

export interface EngineSupervisorDependencies {
  postgres: Postgres
  engine: Engine
  /** Read at every check, because providers may be added and removed. */
  loops: () => SupervisedLoop[]
  /** Marks every task that the engine was processing as stalled; returns their number. */
  markAllStalled: () => Promise<number>
  workerUrl: string
  log: Log
}

const checkEveryMs = 5_000
// Idle loops tick every fifteen seconds; this is twice that and a margin.
const silenceMs = 40_000

export const superviseEngine = async (
  dependencies: EngineSupervisorDependencies,
): Promise<{ stop: () => Promise<void> }> => {
  const { postgres, engine, loops, markAllStalled, workerUrl, log } = dependencies
  const wakeAll = (which: SupervisedLoop[]) => {
    for (const { loop, key } of which) engine.wake(loop, key)
  }

  const check = async (isFirst: boolean) => {
    if (!(await engine.isRegistered(workerUrl))) {
      await engine.register(workerUrl)
      const stalled = await markAllStalled()
      log.info({ workerUrl, stalled }, 'engine.registered')
      wakeAll(loops())
    } else if (isFirst) {
      // The code behind a registered URL may be newer than the registration.
      await engine.register(workerUrl)
      wakeAll(loops())
    } else {
      wakeAll(await silentLoops(postgres, loops(), silenceMs))
    }
  }

  let isFirst = true
  let isStopped = false
  const checkSafely = async () => {
    try {
      await check(isFirst)
      isFirst = false
    } catch (error) {
      log.warn({ err: error }, 'engine.unreachable')
    }
  }
  let timer: NodeJS.Timeout | undefined
  let checking = Promise.resolve()
  const again = () => {
    // Check often until the engine was reached once, because everything depends on it.
    timer = setTimeout(
      () => {
        checking = checkSafely().then(() => {
          if (!isStopped) again()
        })
      },
      isFirst ? 500 : checkEveryMs,
    )
  }
  await checkSafely()
  again()
  return {
    stop: async () => {
      isStopped = true
      clearTimeout(timer)
      await checking
    },
  }
}
