/** The runs of tasks, as services of the engine. */
import * as restate from '@restatedev/restate-sdk'

import { executeTogether } from './execute-together.ts'
import { measureInvocation } from './invocation-metrics.ts'
import { keyOfRuns, type Run } from './run-key.ts'
import type { RunningSteps } from './running-steps.ts'

/** A run to start: the service that executes it, and what the service is told besides. */
export interface RunStart {
  service: string
  run: Run
  input?: object
}

// The engine gives a run that takes longer than both times to another worker. They cover the longest run, which copies a
// large video, with a margin. Retries never end, because a run that the engine pauses would be a task that never ends.
const options = {
  inactivityTimeout: { minutes: 1 },
  abortTimeout: { minutes: 15 },
  retryPolicy: { initialInterval: 100, maxInterval: 10_000, maxAttempts: 1_000_000 },
  // The engine need not remember a run that has ended: if it is started again, it reads its task's row and ends.
  journalRetention: { seconds: 0 },
  idempotencyRetention: { seconds: 0 },
}

/** What a call of a run service contains: a run, or several that were started together. */
export type RunCall<Input extends object> = Run & { others?: Run[] } & Partial<Input>

/** Starts a run by itself, as a call of its own. */
export type StartAlone = (run: Run, input: object) => Promise<void>

/**
 * A service whose handler executes one run, or several that were started together. The runs are the idempotency key, so starting
 * a run that goes on has no effect. Nothing is journaled: the engine repeats what was interrupted or has thrown from its
 * beginning, and a run reads from the database what was done before.
 *
 * Of several runs, one that throws is started by itself with `startAlone`, so that its repetition waits for none of the others.
 */
export const runService = <Input extends object>(
  name: string,
  steps: RunningSteps,
  work: (run: Run, input: Partial<Input>) => Promise<void>,
  startAlone?: StartAlone,
) => {
  const runAll = async ({ taskId, run, others = [], ...rest }: RunCall<Input>): Promise<void> => {
    const input = rest as unknown as Partial<Input>
    const execute = (each: Run) => measureInvocation(name, () => steps.run(() => work(each, input)))
    if (others.length === 0) return execute({ taskId, run })
    await executeTogether([{ taskId, run }, ...others], execute, {
      startAlone: startAlone && ((each) => startAlone(each, input)),
      stopping: steps.stopping,
    })
  }
  return restate.service({
    name,
    options,
    handlers: { run: (_ctx: restate.Context, call: RunCall<Input>): Promise<void> => runAll(call) },
  })
}

/** Divides runs into groups that one call can contain, of the same service and with the same input. */
export const groupRuns = (starts: RunStart[], sizeMax: number): RunStart[][] =>
  [...Map.groupBy(starts, ({ service, input }) => JSON.stringify([service, input])).values()].flatMap(
    (same) =>
      Array.from({ length: Math.ceil(same.length / sizeMax) }, (_, index) =>
        same.slice(index * sizeMax, (index + 1) * sizeMax),
      ),
  )

/** Starts a group of runs from a handler, in one call. The engine delivers it once the handler's step is done. */
export const sendRuns = (ctx: restate.Context, group: RunStart[]): void => {
  const [first, ...others] = group
  if (first === undefined) return
  ctx.genericSend({
    service: first.service,
    method: 'run',
    parameter: Buffer.from(
      JSON.stringify({
        ...first.run,
        ...first.input,
        ...(others.length > 0 && { others: others.map(({ run }) => run) }),
      }),
    ),
    idempotencyKey: keyOfRuns(group.map(({ run }) => run)),
  })
}
