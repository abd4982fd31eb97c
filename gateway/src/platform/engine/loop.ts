/** Endless loops in the engine. */
import { setTimeout as pause } from 'node:timers/promises'

import * as restate from '@restatedev/restate-sdk'

import { createTickLag, measureInvocation } from './invocation-metrics.ts'
import { groupRuns, sendRuns, type RunStart } from './run-service.ts'
import type { RunningSteps } from './running-steps.ts'

// A frozen worker must not hold a loop: the engine gives a tick to another worker after both times, so a tick must end
// before that.
const inactivityMs = 1_000
const abortMs = 5_500
const tickMsMax = 5_000

const options = {
  inactivityTimeout: { milliseconds: inactivityMs },
  abortTimeout: { milliseconds: abortMs },
  retryPolicy: { initialInterval: 100, maxInterval: 10_000, maxAttempts: 1_000_000 },
  journalRetention: { seconds: 0 },
  idempotencyRetention: { seconds: 0 },
}

/** What a tick has found to do for the engine. */
export interface Ticked {
  /** When the next tick is due, in milliseconds from now; without it, the loop waits to be woken. */
  nextMs?: number
  /** Runs to start. */
  starts?: RunStart[]
}

/** Why a loop ticks: as scheduled, or because it was woken. Without a cause, the loop is started anew. */
export interface TickCause {
  schedule?: number
  isWakeUp?: boolean
}

export interface LoopOptions {
  /** So many runs that a tick starts are one call, which one worker executes. */
  runsPerCall?: number
}

interface LoopState {
  /** The number of the tick that is scheduled; those scheduled before have no effect. */
  schedule: number
  delayMs: number
}

const initially: LoopState = { schedule: 0, delayMs: Number.MAX_SAFE_INTEGER }

/** Runs a tick, and fails if it takes too long; the engine then repeats it. */
const runInTime = async (work: () => Promise<Ticked>): Promise<Ticked> => {
  const late = new AbortController()
  const tooLate = pause(tickMsMax, undefined, { signal: late.signal }).then(() => {
    throw new Error(`the tick took longer than ${tickMsMax} ms`)
  })
  tooLate.catch(() => undefined)
  try {
    return await Promise.race([work(), tooLate])
  } finally {
    late.abort()
  }
}

/**
 * An endless loop as a virtual object: each tick does its work in one step, starts the runs that the work returned, and
 * schedules the next tick. The engine runs one tick per key at a time, moves it to another worker after a crash, and
 * delivers everything that a tick sends. Work may run more than once for one tick, so it is given the id of the tick, which
 * no other tick ever has.
 *
 * A wake-up only sends a tick. It waits in the queue of the loop like a tick, and all wake-ups have the same idempotency key,
 * so while one waits, others have no effect. The tick that it sends begins after all of them, and covers them. Wake-ups during
 * a tick therefore cause one further tick, however many they are, none is lost, and no clocks are compared.
 *
 * The engine continues a tick that an upgrade interrupts with the new code, and fails if that gives other commands (`ctx`)
 * than the journal of the tick has. To change their order or number, give the loops new names.
 */
export const loop = (
  name: string,
  steps: RunningSteps,
  work: (key: string, tickId: string) => Promise<Ticked>,
  { runsPerCall = 1 }: LoopOptions = {},
) => {
  const lag = createTickLag(name)
  const object = restate.object({
    name,
    options,
    handlers: {
      tick: async (ctx: restate.ObjectContext, cause?: TickCause): Promise<void> => {
        lag.arrived(ctx.key, cause?.schedule)
        const last = (await ctx.get<LoopState>('loop')) ?? initially
        if (cause?.schedule !== undefined && cause.schedule !== last.schedule) return
        const tickId = ctx.rand.uuidv4()
        const { nextMs = Number.MAX_SAFE_INTEGER, starts = [] } = await ctx.run('tick', () =>
          measureInvocation(name, () => steps.run(() => runInTime(() => work(ctx.key, tickId)))),
        )
        for (const group of groupRuns(starts, runsPerCall)) sendRuns(ctx, group)
        // The scheduled tick was scheduled earlier and not for later, so it is early enough.
        if (cause?.isWakeUp === true && last.delayMs <= nextMs) return
        const schedule = last.schedule + 1
        ctx.set('loop', { schedule, delayMs: nextMs })
        if (nextMs === Number.MAX_SAFE_INTEGER) return
        lag.expected(ctx.key, schedule, nextMs)
        ctx
          .objectSendClient<typeof object>({ name }, ctx.key)
          .tick({ schedule }, restate.rpc.sendOpts({ delay: { milliseconds: nextMs } }))
      },
      wake: async (ctx: restate.ObjectContext): Promise<void> => {
        ctx.objectSendClient<typeof object>({ name }, ctx.key).tick({ isWakeUp: true })
      },
    },
  })
  return object
}
