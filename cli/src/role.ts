/** Runs one role until a signal arrives or its parent process ends. */
import type { Log, LogFormat } from '@kinora/gateway/log'

interface Running {
  close: () => Promise<void>
  /** How many records are in progress that would be forgotten with this process. */
  recording?: () => number
  /** Waits for them, for a limited time. */
  untilRecorded?: () => Promise<void>
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

interface RoleSettings {
  LOG_LEVEL: string
  LOG_FORMAT?: LogFormat
  /** Set if the role is traced. */
  tracesUrl?: string | undefined
  DRAIN_SECONDS: number
  LAME_DUCK_SECONDS?: number
}

/** Starts a role with its own log. Throws an error with a readable message if it cannot start. */
export const runRole = async (
  role: string,
  settings: RoleSettings,
  start: (log: Log) => Promise<Running>,
): Promise<void> => {
  const { createLog } = await import('@kinora/gateway/log')
  const { LOG_LEVEL: level, LOG_FORMAT: format = 'auto', tracesUrl } = settings
  const log = createLog({ level, format, isTraced: tracesUrl !== undefined }, role)
  logProcess(log)
  const stop = waitForStop()
  const running = await start(log)
  process.send?.({ event: 'ready' })
  await stop
  const waitForRecords = async () => {
    const { recording = () => 0, untilRecorded } = running
    if (recording() === 0) return
    log.warn({ records: recording() }, 'process.waits-for-records')
    await untilRecorded?.()
  }
  // Other work that does not finish in time is cut off. The engine resumes it from the database.
  const { DRAIN_SECONDS, LAME_DUCK_SECONDS = 0 } = settings
  const endDrain = () => void waitForRecords().finally(() => process.exit(0))
  setTimeout(endDrain, (LAME_DUCK_SECONDS + DRAIN_SECONDS) * 1000).unref()
  try {
    await running.close()
  } finally {
    await waitForRecords()
  }
  process.exit(0)
}
