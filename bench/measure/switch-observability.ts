/**
 * Preloaded into a role that runs from source: on SIGUSR2 it switches metrics and traces on or off, as the file in SWITCH_FILE says,
 * and then writes the file of that name with its process id. So one process can be measured with and without them.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

import { context } from '@opentelemetry/api'

import { createLog } from '../../gateway/src/platform/log.ts'
import { startMetrics } from '../../gateway/src/platform/metrics/export/start-metrics.ts'
import { recordWith, type Instruments } from '../../gateway/src/platform/metrics/metrics.ts'
import { startTracing } from '../../gateway/src/platform/tracing/start-tracing.ts'
import { useTracing } from '../../gateway/src/platform/tracing/tracing.ts'

const file = process.env['SWITCH_FILE']
const tracesUrl = process.env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? ''
const role = process.argv.at(-1) === 'worker' ? 'worker' : 'api'
const ratio = 0.1
const log = createLog({ level: 'silent' }, role)

/** Undefined until metrics are first wanted. From then on they are there, but record only when they are wanted. */
let metrics: { url: string; instruments: Instruments | undefined } | undefined

const start = async () => {
  const started = await startMetrics(
    { METRICS_PORT: 0, METRICS_HOST: '127.0.0.1', OTEL_EXPORTER_OTLP_ENDPOINT: undefined, CURRENCY: 'USD' },
    role,
    log,
  )
  while (started.url() === undefined) await new Promise(setImmediate)
  return { url: started.url() ?? '', instruments: recordWith(undefined) }
}

let stopTracing = async (): Promise<void> => undefined

/** Ending the traces sends them. */
const switchTo = async (arm: string): Promise<string> => {
  recordWith(undefined)
  await stopTracing()
  stopTracing = async () => undefined
  // The role itself has begun to trace, so that it has what tracing needs from the start.
  useTracing(undefined)
  context.disable()
  if (arm === 'off') return ''
  metrics ??= await start()
  if (arm === 'traces') stopTracing = await startTracing({ url: tracesUrl, role, ratio }, log)
  recordWith(metrics.instruments)
  return metrics.url
}

if (isMainThread && file !== undefined) {
  let switching = Promise.resolve()
  process.on('SIGUSR2', () => {
    switching = switching.then(async () => {
      const own = `${file}-${process.pid}`
      writeFileSync(`${own}.next`, await switchTo(readFileSync(file, 'utf8')))
      renameSync(`${own}.next`, own)
    })
  })
}
