/** The runs of tasks, as services of the engine. */
import * as restate from '@restatedev/restate-sdk'

import { measureInvocation } from './invocation-metrics.ts'
import { runKey, type Run } from './run-key.ts'
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

/**
 * A service whose handler executes one run. The run is the idempotency key, so starting a run that goes on has no effect.
 * Nothing is journaled: the engine repeats a run that was interrupted or has thrown from its beginning, and the run reads
 * from the database what was done before.
 */
export const runService = <Input extends object>(
  name: string,
  steps: RunningSteps,
  work: (run: Run, input: Partial<Input>) => Promise<void>,
) =>
  restate.service({
    name,
    options,
    handlers: {
      run: (_ctx: restate.Context, { taskId, run, ...input }: Run & Partial<Input>): Promise<void> =>
        measureInvocation(name, () =>
          steps.run(() => work({ taskId, run }, input as unknown as Partial<Input>)),
        ),
    },
  })

/** Starts a run from a handler. The engine delivers it once the handler's step is done. */
export const sendRun = (ctx: restate.Context, { service, run, input }: RunStart): void => {
  ctx.genericSend({
    service,
    method: 'run',
    parameter: Buffer.from(JSON.stringify({ ...run, ...input })),
    idempotencyKey: runKey(run),
  })
}
