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

export const isRole = (command: string | undefined): boolean =>
  command === 'api' || command === 'worker' || command === 'local'

/** Waits for a signal if ON_INVALID_SETTINGS says so. The container stays, so that it is not restarted again and again. */
export const waitIfTold = async (): Promise<void> => {
  const { loadSettings } = await import('@kinora/gateway/config')
  if (loadSettings(['ON_INVALID_SETTINGS']).ON_INVALID_SETTINGS === 'exit') return
  const stop = waitForStop()
  process.stderr.write('Correct them, and start this container again.\n')
  // A listener of a signal does not keep the process alive.
  const timer = setInterval(() => undefined, 60_000)
  await stop
  clearInterval(timer)
}

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
