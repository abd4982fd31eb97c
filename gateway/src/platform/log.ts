import { pino, type Logger } from 'pino'

export type Log = Logger

export const createLog = (settings: { level: string }, role: string): Log =>
  pino({
    level: settings.level,
    base: { role },
    // Prompts and keys never belong in a log; the paths are those a careless line could carry.
    redact: { paths: ['*.prompt', '*.authorization', 'req.headers', '*.apiKey'], censor: '[redacted]' },
  })
