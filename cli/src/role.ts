/** Runs one role until a signal arrives or its parent process ends. */
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

/** Sends Node's warnings and uncaught exceptions to the structured log. */
const logProcess = (log: Log): void => {
  process.removeAllListeners('warning')
  process.on('warning', (warning) => log.warn({ err: warning }, 'process.warning'))
  process.on('uncaughtException', (error, origin) => {
    log.fatal({ err: error, origin }, 'process.crashed')
    process.exit(1)
  })
}

/** Starts a role with its own log. Throws an error with a readable message if it cannot start. */
export const runRole = async (
  role: string,
  settings: { LOG_LEVEL: string; DRAIN_SECONDS: number; LAME_DUCK_SECONDS?: number },
  start: (log: Log) => Promise<Running>,
): Promise<void> => {
  const { createLog } = await import('@kinora/gateway/log')
  const log = createLog({ level: settings.LOG_LEVEL }, role)
  logProcess(log)
  const stop = waitForStop()
  const running = await start(log)
  process.send?.({ event: 'ready' })
  await stop
  // Work that does not finish in time is cut off. The engine resumes it from the database.
  const { DRAIN_SECONDS, LAME_DUCK_SECONDS = 0 } = settings
  setTimeout(() => process.exit(0), (LAME_DUCK_SECONDS + DRAIN_SECONDS) * 1000).unref()
  await running.close()
  process.exit(0)
}
