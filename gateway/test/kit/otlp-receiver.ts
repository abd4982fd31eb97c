/** An OpenTelemetry collector for tests: it receives spans and metrics as OTLP over HTTP in JSON, and keeps them. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

type AttributeValue = string | number | boolean | undefined

export interface ReceivedSpan {
  /** The service that has sent it. */
  service: string
  traceId: string
  spanId: string
  parentSpanId: string | undefined
  name: string
  startMs: number
  endMs: number
  attributes: Record<string, AttributeValue>
  links: { traceId: string; spanId: string }[]
  isError: boolean
}

interface KeyValue {
  key: string
  value: { stringValue?: string; intValue?: number | string; doubleValue?: number; boolValue?: boolean }
}

interface OtlpSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes?: KeyValue[]
  links?: { traceId: string; spanId: string }[]
  status?: { code?: number }
}

interface OtlpTraces {
  resourceSpans: {
    resource: { attributes: KeyValue[] }
    scopeSpans: { spans: OtlpSpan[] }[]
  }[]
}

const attributesOf = (given: KeyValue[] = []): ReceivedSpan['attributes'] =>
  Object.fromEntries(
    given.map(({ key, value: { stringValue, intValue, doubleValue, boolValue } }) => [
      key,
      stringValue ?? (intValue === undefined ? (doubleValue ?? boolValue) : Number(intValue)),
    ]),
  )

const errorStatus = 2
const nanosecondsPerMs = 1e6

const readSpans = ({ resourceSpans }: OtlpTraces): ReceivedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(attributesOf(resource.attributes)['service.name'])
    return scopeSpans
      .flatMap(({ spans }) => spans)
      .map((span) => ({
        service,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId === '' ? undefined : span.parentSpanId,
        name: span.name,
        startMs: Number(span.startTimeUnixNano) / nanosecondsPerMs,
        endMs: Number(span.endTimeUnixNano) / nanosecondsPerMs,
        attributes: attributesOf(span.attributes),
        links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId, spanId })),
        isError: span.status?.code === errorStatus,
      }))
  })

interface OtlpMetrics {
  resourceMetrics: {
    resource: { attributes: KeyValue[] }
    scopeMetrics: { metrics: { name: string }[] }[]
  }[]
}

/** The metrics of one push. */
interface ReceivedMetrics {
  service: string
  names: string[]
}

const readMetrics = ({ resourceMetrics }: OtlpMetrics): ReceivedMetrics[] =>
  resourceMetrics.map(({ resource, scopeMetrics }) => ({
    service: String(attributesOf(resource.attributes)['service.name']),
    names: scopeMetrics.flatMap(({ metrics }) => metrics.map(({ name }) => name)),
  }))

export interface OtlpReceiver extends AsyncDisposable {
  url: string
  spans: () => ReceivedSpan[]
  metrics: () => ReceivedMetrics[]
  /** The spans received, as they were sent. */
  bodies: () => string[]
  clear: () => void
}

export const startOtlpReceiver = async (): Promise<OtlpReceiver> => {
  const spans: ReceivedSpan[] = []
  const metrics: ReceivedMetrics[] = []
  const bodies: string[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      if (request.url === '/v1/traces') {
        bodies.push(body)
        spans.push(...readSpans(JSON.parse(body) as OtlpTraces))
      }
      if (request.url === '/v1/metrics') metrics.push(...readMetrics(JSON.parse(body) as OtlpMetrics))
      response.setHeader('content-type', 'application/json').end('{}')
    })
  })
  await new Promise<void>((resolve) => {
    server.listen({ host: '127.0.0.1', port: 0 }, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    spans: () => spans,
    metrics: () => metrics,
    bodies: () => bodies,
    clear: () => {
      spans.length = 0
      bodies.length = 0
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
