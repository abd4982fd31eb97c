/** Sends spans to an OpenTelemetry collector. The SDK is loaded only then. */
import { context, trace, TraceFlags, type SpanContext } from '@opentelemetry/api'
import type { Sampler, SpanExporter } from '@opentelemetry/sdk-trace'

import type { Log } from '../log.ts'
import { version } from '../version.ts'
import { useTracing } from './tracing.ts'

export interface TracingSettings {
  /** The URL that spans are posted to, in the format of OTLP. */
  url: string
  role: string
  /** The share of requests whose traces are sampled. */
  ratio: number
}

/** A killed process loses the spans of this time. */
const exportEveryMs = 1_000
/** A collector that does not respond must not delay the end of the process. */
const stopMsMax = 3_000
/** Attributes are ids and names; this bounds what a mistake could add. */
const spanLimits = {
  attributeCountLimit: 32,
  attributeValueLengthLimit: 256,
  linkCountLimit: 1,
  eventCountLimit: 0,
}

const loadSdk = async () => {
  try {
    return await Promise.all([
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/context-async-hooks'),
      import('@opentelemetry/resources'),
    ])
  } catch (error) {
    throw new Error(
      'Traces need the packages of OpenTelemetry, which are optional dependencies. Install them, or remove OTEL_EXPORTER_OTLP_ENDPOINT.',
      { cause: error },
    )
  }
}

/** Logs the first of the exports that fail in a row. */
const logFailures = (exporter: SpanExporter, log: Log): SpanExporter => {
  let hasFailed = false
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const code: number = result.code
        const failed = code !== 0
        if (failed && !hasFailed) log.warn({ err: result.error }, 'traces.not-exported')
        if (!failed && hasFailed) log.info('traces.exported-again')
        hasFailed = failed
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
    ...(exporter.forceFlush && { forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve() }),
  }
}

/** Starts to trace; returns the function that sends the remaining spans and stops. */
export const startTracing = async (
  { url, role, ratio }: TracingSettings,
  log: Log,
): Promise<() => Promise<void>> => {
  const [sdk, { OTLPTraceExporter }, { AsyncLocalStorageContextManager }, resources] = await loadSdk()
  const random = new sdk.RandomIdGenerator()
  let forced: Pick<SpanContext, 'traceId' | 'spanId'> | undefined
  const byRatio = new sdk.TraceIdRatioBasedSampler(ratio)
  const sampler: Sampler = {
    shouldSample: (parentContext, traceId) => {
      const isForced = forced !== undefined
      forced = undefined
      const parent = trace.getSpanContext(parentContext)
      if (isForced) return { decision: sdk.SamplingDecision.RECORD_AND_SAMPLED }
      if (parent === undefined) return byRatio.shouldSample(parentContext, traceId)
      const isSampled = (parent.traceFlags & TraceFlags.SAMPLED) !== 0
      return {
        decision: isSampled ? sdk.SamplingDecision.RECORD_AND_SAMPLED : sdk.SamplingDecision.NOT_RECORD,
      }
    },
  }
  const exporter = logFailures(new OTLPTraceExporter({ url }), log)
  const provider = new sdk.TracerProvider({
    sampler,
    spanLimits,
    // The SDK asks for the id of a span before it asks whether to sample it.
    idGenerator: {
      generateTraceId: () => forced?.traceId ?? random.generateTraceId(),
      generateSpanId: () => forced?.spanId ?? random.generateSpanId(),
    },
    resource: resources
      .resourceFromAttributes({
        'service.namespace': 'kinora',
        'service.name': `kinora-${role}`,
        'service.version': version,
      })
      // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
      .merge(resources.detectResources({ detectors: [resources.envDetector] })),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter, scheduledDelayMillis: exportEveryMs })],
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  useTracing({
    tracer: provider.getTracer('kinora', version),
    forceNext: (ids) => {
      forced = ids
    },
  })
  return async () => {
    useTracing(undefined)
    const limit = Promise.withResolvers<void>()
    const timer = setTimeout(limit.resolve, stopMsMax)
    await Promise.race([
      provider.shutdown().catch((error: unknown) => log.warn({ err: error }, 'traces.not-stopped')),
      limit.promise,
    ])
    clearTimeout(timer)
    context.disable()
  }
}
