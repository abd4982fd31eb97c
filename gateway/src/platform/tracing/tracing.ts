/**
 * Spans of requests and tasks. Unless `startTracing` has been called, every function only finds that out and runs the work.
 *
 * No attribute contains a text of a caller: attributes are ids, codes, numbers, and names that operators have configured.
 */
import { createHash } from 'node:crypto'

import {
  context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api'

import { formatTraceparent, parseTraceparent } from './traceparent.ts'

export interface Tracing {
  tracer: Tracer
  /** Makes the next span have these ids, and be sampled. */
  forceNext: (ids: Pick<SpanContext, 'traceId' | 'spanId'>) => void
}

let tracing: Tracing | undefined

/** Switches tracing on, or off with undefined. */
export const useTracing = (given: Tracing | undefined): void => {
  tracing = given
}

export const isTracing = (): boolean => tracing !== undefined

const isSampled = (spanContext: SpanContext | undefined): boolean =>
  spanContext !== undefined && (spanContext.traceFlags & TraceFlags.SAMPLED) !== 0

/** The class of an error and not its message, which may quote a caller. */
const errorTypeOf = (error: unknown): string => {
  const { kind } = (error ?? {}) as { kind?: unknown }
  if (typeof kind === 'string') return kind
  return error instanceof Error ? error.constructor.name : 'error'
}

const fail = (span: Span, type: string): void => {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

/** The span of a request to this process. */
export interface RequestSpan {
  /** Runs what belongs to the request. */
  run: (work: () => void) => void
  /** `errorType` is set only for a failure of the service. */
  end: (name: string, attributes: Attributes, errorType: string | undefined) => void
}

/**
 * Begins the trace of a request; undefined if tracing is off. A caller's `traceparent` becomes a link. It chooses neither the
 * id of the trace nor whether the trace is sampled, because callers are strangers.
 */
export const beginRequest = (traceparent: unknown): RequestSpan | undefined => {
  if (tracing === undefined) return undefined
  const link = traceparent === undefined ? undefined : parseTraceparent(traceparent)
  const span = tracing.tracer.startSpan(
    'request',
    { kind: SpanKind.SERVER, ...(link && { links: [{ context: link }] }) },
    ROOT_CONTEXT,
  )
  const own = trace.setSpan(ROOT_CONTEXT, span)
  return {
    run: (work) => context.with(own, work),
    end: (name, attributes, errorType) => {
      if (!span.isRecording()) return
      span.updateName(name)
      span.setAttributes(attributes)
      if (errorType !== undefined) fail(span, errorType)
      span.end()
    },
  }
}

/** Runs work in a span of its own below the current one, if that is sampled. */
export const withSpan = async <Result>(
  name: string,
  attributes: Attributes,
  work: () => Promise<Result>,
): Promise<Result> => {
  if (tracing === undefined || !isSampled(trace.getSpanContext(context.active()))) return work()
  const span = tracing.tracer.startSpan(name, { attributes })
  try {
    return await context.with(trace.setSpan(context.active(), span), work)
  } catch (error) {
    fail(span, errorTypeOf(error))
    throw error
  } finally {
    span.end()
  }
}

interface CallSpan {
  /** The header that makes this span the parent of what the called service does. */
  traceparent: string
  /** The call has failed without a status, or with one of an error. */
  end: (status: number | undefined) => void
}

/** Begins the span of a call to another service. Undefined without a current trace. */
export const beginCall = (what: string, method: string): CallSpan | undefined => {
  if (tracing === undefined) return undefined
  const current = trace.getSpanContext(context.active())
  if (current === undefined) return undefined
  if (!isSampled(current)) return { traceparent: formatTraceparent(current), end: () => undefined }
  const span = tracing.tracer.startSpan(`${method} ${what}`, {
    kind: SpanKind.CLIENT,
    attributes: { 'http.request.method': method },
  })
  return {
    traceparent: formatTraceparent(span.spanContext()),
    end: (status) => {
      if (status !== undefined) span.setAttribute('http.response.status_code', status)
      if (status === undefined || status >= 400)
        fail(span, status === undefined ? 'no_response' : `${status}`)
      span.end()
    },
  }
}

export interface PastSpan {
  name: string
  startMs: number
  endMs: number
  attributes?: Attributes
}

/** Adds a span whose times are known already below the current one, if that is sampled. Times are those of `Date.now()`. */
export const addSpan = ({ name, startMs, endMs, attributes = {} }: PastSpan): void => {
  if (tracing === undefined || !isSampled(trace.getSpanContext(context.active()))) return
  tracing.tracer.startSpan(name, { startTime: startMs, attributes }).end(Math.max(startMs, endMs))
}

/** A task, with the context that its create has stored; null if that was not traced. */
export interface TracedTask {
  taskId: string
  traceContext: string | null
}

/** The context to store with a task that the current request creates. */
export const contextForTask = (): string | null => {
  const current = tracing && trace.getSpanContext(context.active())
  return current === undefined ? null : formatTraceparent(current)
}

/** Every process derives the same id, so that none has to store the id of a span that begins long before it ends. */
const spanIdOf = (taskId: string): string => createHash('sha256').update(taskId).digest('hex').slice(0, 16)

const contextOf = ({ taskId, traceContext }: TracedTask): Context | undefined => {
  const created = parseTraceparent(traceContext)
  return created && trace.setSpanContext(ROOT_CONTEXT, { ...created, spanId: spanIdOf(taskId) })
}

/** Runs work on a task in its trace. */
export const inTask = <Result>(task: TracedTask, work: () => Result): Result => {
  if (tracing === undefined || task.traceContext === null) return work()
  const own = contextOf(task)
  return own === undefined ? work() : context.with(own, work)
}

export interface TaskEnd extends PastSpan {
  /** Why it failed. */
  errorType?: string | undefined
  /** Sampled even if its request was not. */
  isAlwaysSampled: boolean
  /** Spans below it. */
  stages: PastSpan[]
  /** Further spans below it, unless the processes that worked on the task have added them. */
  unsampledStages: PastSpan[]
}

/** Adds the span of a task that has ended, which began with its create. */
export const addTask = (task: TracedTask, end: TaskEnd): void => {
  const created = tracing && parseTraceparent(task.traceContext)
  if (tracing === undefined || created === undefined) return
  const wasSampled = isSampled(created)
  if (!wasSampled && !end.isAlwaysSampled) return
  const ids = { traceId: created.traceId, spanId: spanIdOf(task.taskId) }
  tracing.forceNext(ids)
  const span = tracing.tracer.startSpan(
    end.name,
    { startTime: end.startMs, attributes: { 'kinora.task.id': task.taskId, ...end.attributes } },
    // The span of a request that was not sampled does not exist.
    wasSampled ? trace.setSpanContext(ROOT_CONTEXT, created) : ROOT_CONTEXT,
  )
  context.with(trace.setSpan(ROOT_CONTEXT, span), () => {
    for (const stage of [...end.stages, ...(wasSampled ? [] : end.unsampledStages)]) addSpan(stage)
  })
  if (end.errorType !== undefined) fail(span, end.errorType)
  span.end(Math.max(end.startMs, end.endMs))
}
