import { AsyncLocalStorage } from 'node:async_hooks'

const deadline = new AsyncLocalStorage<number>()

/**
 * Lets no request body of `work` be sent from this time of `performance.now()` on. A timeout is not enough: in a process
 * that stood still, a connection may become ready before the late timer fires.
 */
export const sendUntil = <Result>(deadlineMs: number, work: () => Promise<Result>): Promise<Result> =>
  deadline.run(deadlineMs, work)

/** The deadline of the surrounding `sendUntil`, so that adapters need not pass it along. */
export const sendDeadlineMs = (): number | undefined => deadline.getStore()
