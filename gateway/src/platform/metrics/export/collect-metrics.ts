/**
 * Collects what is recorded, with the SDK of OpenTelemetry. Only `startMetrics` loads this file, so a process without metrics
 * does not load the SDK.
 */
import type { Attributes } from '@opentelemetry/api'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  InstrumentType,
  MeterProvider,
  MetricReader,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics'

import { prometheusNameOf, type MetricRow, type Role } from '../metric-row.ts'
import { metricTable, type MetricName } from '../metric-table.ts'
import {
  prepareCollection,
  readGauge,
  recordWith,
  type CounterName,
  type GaugeName,
  type HistogramName,
} from '../metrics.ts'

/**
 * One reader for both exports, because the SDK keeps what a reader has not collected yet. Gauges are exported as they are now:
 * cumulative ones would repeat the last value of labels that are gone.
 */
class Reader extends MetricReader {
  constructor() {
    super({
      aggregationTemporalitySelector: (type) =>
        type === InstrumentType.OBSERVABLE_GAUGE
          ? AggregationTemporality.DELTA
          : AggregationTemporality.CUMULATIVE,
    })
  }
  protected override async onForceFlush() {}
  protected override async onShutdown() {}
}

const rows = Object.entries<MetricRow>(metricTable) as [MetricName, MetricRow][]

/** Every combination of labels whose values are all in the table; undefined if a label has another source. */
const combinationsOf = ({ labels }: MetricRow): Record<string, string>[] | undefined =>
  Object.entries(labels).reduce<Record<string, string>[] | undefined>(
    (combinations, [key, label]) =>
      typeof label === 'string'
        ? undefined
        : combinations?.flatMap((given) => label.map((value) => ({ ...given, [key]: value }))),
    [{}],
  )

const withPrometheusNames = (collected: ResourceMetrics): ResourceMetrics => ({
  ...collected,
  scopeMetrics: collected.scopeMetrics.map((scope) => ({
    ...scope,
    metrics: scope.metrics.map((metric) => {
      const row = metricTable[metric.descriptor.name as MetricName]
      const name = prometheusNameOf(metric.descriptor.name, row)
      return { ...metric, descriptor: { ...metric.descriptor, name } }
    }),
  })),
})

export interface Collector {
  /** All metrics in the text format of Prometheus. */
  toText: () => Promise<string>
  /** Sends all metrics to the OTLP endpoint. */
  push: () => Promise<void>
  close: () => Promise<void>
}

export const createCollector = (
  role: Role,
  resource: Attributes,
  otlpEndpoint: string | undefined,
): Collector => {
  const reader = new Reader()
  const provider = new MeterProvider({ resource: resourceFromAttributes(resource), readers: [reader] })
  const meter = provider.getMeter('kinora')
  const counters = new Map<string, ReturnType<typeof meter.createCounter>>()
  const histograms = new Map<string, ReturnType<typeof meter.createHistogram>>()
  for (const [name, row] of rows) {
    const { unit, help: description } = row
    if (row.type === 'counter') counters.set(name, meter.createCounter(name, { unit, description }))
    else if (row.type === 'histogram') {
      const advice = { explicitBucketBoundaries: [...row.buckets] }
      histograms.set(name, meter.createHistogram(name, { unit, description, advice }))
    } else {
      meter.createObservableGauge(name, { unit, description }).addCallback((result) => {
        for (const { value, attributes } of readGauge(name as GaugeName)) result.observe(value, attributes)
      })
    }
  }
  recordWith({
    add: (name: CounterName, amount, attributes) => counters.get(name)?.add(amount, attributes),
    record: (name: HistogramName, value, attributes) => histograms.get(name)?.record(value, attributes),
  })
  // A counter that appears with its first fault has no increase that an alert could see.
  for (const [name, row] of rows) {
    if (row.type !== 'counter' || !row.roles.includes(role)) continue
    for (const labels of combinationsOf(row) ?? []) counters.get(name)?.add(0, labels)
  }

  const collect = async () => {
    prepareCollection()
    const { resourceMetrics, errors } = await reader.collect()
    if (errors.length > 0) throw new AggregateError(errors, 'some metrics could not be collected')
    return resourceMetrics
  }
  const serializer = new PrometheusSerializer(undefined, false, undefined, false, true)
  const exporter =
    otlpEndpoint === undefined
      ? undefined
      : new OTLPMetricExporter({ url: `${otlpEndpoint.replace(/\/$/, '')}/v1/metrics` })
  return {
    toText: async () => serializer.serialize(withPrometheusNames(await collect())),
    push: async () => {
      if (exporter === undefined) return
      const metrics = await collect()
      await new Promise<void>((resolve, reject) => {
        exporter.export(metrics, ({ error }) => (error === undefined ? resolve() : reject(error)))
      })
    },
    close: async () => {
      recordWith(undefined)
      await exporter?.shutdown()
      await provider.shutdown()
    },
  }
}
