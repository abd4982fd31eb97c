import type { Log } from '../log.ts'
import type { Postgres } from '../postgres.ts'
/**
 * What every worker does every few seconds so that the engine needs no care: it sees that its address is
 * registered and that each loop has turned lately, and repairs both. An engine that starts empty is thus
 * filled again from the record, with no restart of ours.
 */
import { silentLoops } from './engine-tick-store.ts'
import type { Engine } from './restate.ts'

export interface SupervisedLoop {
  loop: string
  key: string
}

export interface EngineSupervisorDependencies {
  postgres: Postgres
  engine: Engine
  /** Asked at every look: providers come and go. */
  loops: () => SupervisedLoop[]
  /** Makes everything the engine was carrying count as lost; answers how much that was. */
  markAllStalled: () => Promise<number>
  workerUrl: string
  log: Log
}

const lookEveryMs = 5_000
// Idle loops turn every fifteen seconds; twice that and a margin is silence.
const silenceMs = 40_000

export const superviseEngine = async (
  dependencies: EngineSupervisorDependencies,
): Promise<{ stop: () => Promise<void> }> => {
  const { postgres, engine, loops, markAllStalled, workerUrl, log } = dependencies
  const wakeAll = (which: SupervisedLoop[]) => {
    for (const { loop, key } of which) engine.wake(loop, key)
  }

  const look = async (isFirst: boolean) => {
    if (!(await engine.isRegistered(workerUrl))) {
      await engine.register(workerUrl)
      const lost = await markAllStalled()
      log.info({ workerUrl, lost }, 'engine.registered')
      wakeAll(loops())
    } else if (isFirst) {
      // The code behind a known address may be newer than what the engine was told of it.
      await engine.register(workerUrl)
      wakeAll(loops())
    } else {
      wakeAll(await silentLoops(postgres, loops(), silenceMs))
    }
  }

  let isFirst = true
  let isStopped = false
  const lookSafely = async () => {
    try {
      await look(isFirst)
      isFirst = false
    } catch (error) {
      log.warn({ err: error }, 'engine.out-of-reach')
    }
  }
  let timer: NodeJS.Timeout | undefined
  let looking = Promise.resolve()
  const again = () => {
    // Until the engine was reached once, look often: everything waits for it.
    timer = setTimeout(
      () => {
        looking = lookSafely().then(() => {
          if (!isStopped) again()
        })
      },
      isFirst ? 500 : lookEveryMs,
    )
  }
  await lookSafely()
  again()
  return {
    stop: async () => {
      isStopped = true
      clearTimeout(timer)
      await looking
    },
  }
}
