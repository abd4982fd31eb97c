/** What is recorded about a call to a provider. */
import { beginCall } from '../../../platform/tracing/tracing.ts'
import { noteExchange } from '../../port/exchange.ts'
import type { Call } from './upstream-call.ts'

interface StartedExchange {
  /** The header that tells the provider its trace. */
  traceHeaders: Record<string, string>
  /** Must be called once, with the part of the response that may be shown. */
  note: (status: number | undefined, answer: string) => void
}

/** Starts the clock of an exchange, and its span. */
export const startExchange = (
  { what, method }: Pick<Call, 'what' | 'method'>,
  path: string,
  sendsTraceparent: boolean,
): StartedExchange => {
  const beganAtMs = performance.now()
  const span = beginCall(what, method)
  return {
    traceHeaders: span !== undefined && sendsTraceparent ? { traceparent: span.traceparent } : {},
    note: (status, answer) => {
      const ms = Math.round(performance.now() - beganAtMs)
      noteExchange({ what, method, path, status, ms, answer })
      span?.end(status)
    },
  }
}
