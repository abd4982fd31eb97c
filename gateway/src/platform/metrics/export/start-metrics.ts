/** Serves the metrics of a process on a port of its own, and pushes them, if either is configured. */
import { createServer, type Server } from 'node:http'
import { isIP, type AddressInfo } from 'node:net'

import type { Log } from '../../log.ts'
import { version } from '../../version.ts'
import type { Role } from '../metric-row.ts'
import type { Collector } from './collect-metrics.ts'
import { observeProcess } from './process-readings.ts'

export interface MetricsSettings {
  METRICS_PORT: number | undefined
  METRICS_HOST: string
  OTEL_EXPORTER_OTLP_ENDPOINT: string | undefined
  CURRENCY?: string
}

export interface Metrics {
  /** Where they are served; undefined if they are not, or not yet. */
  url: () => string | undefined
  stop: () => Promise<void>
}

const pushEveryMs = 60_000
const listenRetryMs = 5_000

const isLoopback = (host: string) => /^(?:localhost|127\..*|::1|\[::1\])$/.test(host)

/** A name that is neither an address nor localhost could be of a web page that reaches this machine by DNS rebinding. */
const isOwnName = (host: string) => {
  const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  return name === 'localhost' || isIP(name) !== 0
}

/** Longer than the usual interval of scrapes, so that they share a connection. */
const keepAliveTimeout = 75_000

const createMetricsServer = (collector: Collector, host: string, log: Log): Server =>
  createServer({ keepAliveTimeout }, (request, response) => {
    const refuse = (status: number) => response.writeHead(status).end()
    if (isLoopback(host) && !isOwnName(request.headers.host ?? '')) return refuse(421)
    if (request.url?.split('?', 1)[0] !== '/metrics') return refuse(404)
    if (request.method !== 'GET') return refuse(405)
    collector.toText().then(
      (text) => response.setHeader('content-type', 'text/plain; version=0.0.4; charset=utf-8').end(text),
      (error: unknown) => {
        log.warn({ err: error }, 'metrics.not-collected')
        refuse(500)
      },
    )
    return undefined
  })

/** Listens, if necessary once the process that this one replaces has closed the port. A role never fails for its metrics. */
const listenWhenFree = (server: Server, host: string, port: number, log: Log): (() => void) => {
  let retry: NodeJS.Timeout | undefined
  let hasWarned = false
  const listen = () => server.listen({ host: host.replace(/^\[(.*)\]$/, '$1'), port })
  server.on('error', (error) => {
    if (!hasWarned) log.warn({ err: error, host, port }, 'metrics.not-served')
    hasWarned = true
    retry = setTimeout(listen, listenRetryMs).unref()
  })
  server.on('listening', () => log.info({ url: urlOf(server) }, 'metrics.served'))
  listen()
  return () => clearTimeout(retry)
}

const urlOf = (server: Server): string | undefined => {
  const bound = server.address() as AddressInfo | null
  if (bound === null) return undefined
  return `http://${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}/metrics`
}

const startPush = (collector: Collector, log: Log): (() => Promise<void>) => {
  let hasWarned = false
  const push = async () => {
    try {
      await collector.push()
      hasWarned = false
    } catch (error) {
      if (!hasWarned) log.warn({ err: error }, 'metrics.not-pushed')
      hasWarned = true
    }
  }
  const timer = setInterval(() => void push(), pushEveryMs)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await push()
  }
}

/** Does nothing, and loads nothing, unless metrics are configured. */
export const startMetrics = async (settings: MetricsSettings, role: Role, log: Log): Promise<Metrics> => {
  const { METRICS_PORT: port, METRICS_HOST: host, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = settings
  if (port === undefined && endpoint === undefined)
    return { url: () => undefined, stop: async () => undefined }
  const { createCollector } = await import('./collect-metrics.ts')
  const resource = {
    'service.name': `kinora-${role}`,
    'service.namespace': 'kinora',
    'service.version': version,
    ...(settings.CURRENCY !== undefined && { 'kinora.currency': settings.CURRENCY }),
  }
  const collector = createCollector(role, resource, endpoint)
  const stopObserving = observeProcess()
  const server = port === undefined ? undefined : createMetricsServer(collector, host, log)
  const stopListening = server && port !== undefined ? listenWhenFree(server, host, port, log) : undefined
  const stopPushing = endpoint === undefined ? undefined : startPush(collector, log)
  return {
    url: () => (server === undefined ? undefined : urlOf(server)),
    stop: async () => {
      stopListening?.()
      server?.close()
      server?.closeAllConnections()
      await stopPushing?.()
      stopObserving()
      await collector.close()
    },
  }
}
