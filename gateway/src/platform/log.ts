import { destination, pino, type Logger, type LoggerOptions } from 'pino'

export type Log = Logger

/** The one format of every process: JSON lines with `level`, `time`, `role` and, as `msg`, the event. */
export const createLog = (settings: { level: string; file?: string }, role: string): Log => {
  const options: LoggerOptions = {
    level: settings.level,
    base: { role },
    // Prompts and keys never belong in a log; the paths are those a careless line could carry.
    redact: { paths: ['*.prompt', '*.authorization', 'req.headers', '*.apiKey'], censor: '[redacted]' },
  }
  if (settings.file === undefined) return pino(options)
  return pino(options, destination({ dest: settings.file, mode: 0o600, sync: true }))
}
