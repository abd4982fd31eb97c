import { context, trace } from '@opentelemetry/api'
import { destination, pino, type DestinationStream, type Logger, type LoggerOptions } from 'pino'

import { describeError } from './describe-error.ts'
import { readableLine } from './readable-log.ts'
import { version } from './version.ts'

export type Log = Logger

export type LogFormat = 'auto' | 'json' | 'pretty'

export interface LogSettings {
  level: string
  /** Written to instead of the standard output, always as JSON. */
  file?: string
  /** `auto` is readable at a terminal, and JSON anywhere else. */
  format?: LogFormat
  /** Whether lines name the current trace and span. */
  isTraced?: boolean
}

/**
 * All processes log JSON lines with `level`, `time`, `role`, `version` and the event as `msg`. No line contains a text of a
 * caller: fields are ids, codes and numbers, and of an error only what `describeError` keeps.
 */
export const logOptions = (level: string, role: string): LoggerOptions => ({
  level,
  base: { role, version },
  serializers: { err: describeError },
  hooks: {
    // Without an event, pino would take the message of the error.
    logMethod(parameters, method) {
      const [first, event] = parameters as [unknown, unknown]
      if (typeof first === 'object' && event === undefined) method.call(this, first as object, 'error')
      else method.apply(this, parameters)
    },
  },
  // A safety net: no code should log prompts or keys.
  redact: { paths: ['*.prompt', '*.authorization', 'req.headers', '*.apiKey'], censor: '[redacted]' },
})

/** The ids of the current trace and span. */
export const currentIds = (): { trace_id?: string; span_id?: string } => {
  const current = trace.getSpanContext(context.active())
  return current === undefined ? {} : { trace_id: current.traceId, span_id: current.spanId }
}

const readableOutput = (): DestinationStream => {
  const output = destination({ dest: 1, sync: true })
  return { write: (line) => output.write(readableLine(line)) }
}

export const createLog = (
  { level, file, format = 'json', isTraced = false }: LogSettings,
  role: string,
): Log => {
  const options = { ...logOptions(level, role), ...(isTraced && { mixin: currentIds }) }
  if (file !== undefined) return pino(options, destination({ dest: file, mode: 0o600, sync: true }))
  const isReadable = format === 'pretty' || (format === 'auto' && process.stdout.isTTY)
  return isReadable ? pino(options, readableOutput()) : pino(options)
}
