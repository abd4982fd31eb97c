import { destination, pino, type Logger, type LoggerOptions } from 'pino'

import { version } from './version.ts'

export type Log = Logger

/** All processes log JSON lines with `level`, `time`, `role`, `version` and the event as `msg`. */
export const createLog = (settings: { level: string; file?: string }, role: string): Log => {
  const options: LoggerOptions = {
    level: settings.level,
    base: { role, version },
    // A safety net: no code should log prompts or keys.
    redact: { paths: ['*.prompt', '*.authorization', 'req.headers', '*.apiKey'], censor: '[redacted]' },
  }
  if (settings.file === undefined) return pino(options)
  return pino(options, destination({ dest: settings.file, mode: 0o600, sync: true }))
}
