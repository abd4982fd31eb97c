/** Runs one role until it is told to stop: by a signal, or by the end of the process that started it. */
import type { Log } from '@kinora/gateway/log'

interface Running {
  close: () => Promise<void>
}

const waitForStop = () =>
  new Promise<void>((resolve) => {
    process.once('SIGTERM', () => resolve())
    process.once('SIGINT', () => resolve())
    process.once('disconnect', () => resolve())
  })

/** What Node would print in its own format goes to the log. */
const logProcess = (log: Log): void => {
  process.removeAllListeners('warning')
  process.on('warning', (warning) => log.warn({ err: warning }, 'process.warning'))
  process.on('uncaughtException', (error, origin) => {
    log.fatal({ err: error, origin }, 'process.crashed')
    process.exit(1)
  })
}

/** Starts a role with a log of its own. One that cannot start throws why, in words for people. */
export const runRole = async (
  role: string,
  settings: { LOG_LEVEL: string; DRAIN_SECONDS: number },
  start: (log: Log) => Promise<Running>,
): Promise<void> => {
  const { createLog } = await import('@kinora/gateway/log')
  const log = createLog({ level: settings.LOG_LEVEL }, role)
  logProcess(log)
  const stop = waitForStop()
  const running = await start(log)
  process.send?.({ event: 'ready' })
  await stop
  // What does not finish in time is cut off; the record and the engine take it up again.
  setTimeout(() => process.exit(0), settings.DRAIN_SECONDS * 1000).unref()
  await running.close()
  process.exit(0)
}
