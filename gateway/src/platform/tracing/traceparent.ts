/** The header `traceparent` of the W3C recommendation "Trace Context", version 00. */
import { isValidSpanId, isValidTraceId, TraceFlags, type SpanContext } from '@opentelemetry/api'

const shape = /^00-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})$/

/** Undefined unless the text is exactly one valid value: there is no other use for what a stranger sends. */
export const parseTraceparent = (text: unknown): SpanContext | undefined => {
  if (typeof text !== 'string' || text.length !== 55) return undefined
  const [, traceId = '', spanId = '', flags = ''] = shape.exec(text) ?? []
  if (!isValidTraceId(traceId) || !isValidSpanId(spanId)) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true }
}

export const formatTraceparent = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${(traceFlags & TraceFlags.SAMPLED) === 0 ? '00' : '01'}`
