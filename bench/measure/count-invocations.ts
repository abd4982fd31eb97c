/**
 * Preloaded into a worker: counts the streams that the engine opens, of which each is an attempt of an invocation, by service.
 * The counts are written to the file in COUNT_FILE, with its process id, on SIGUSR2.
 */
import { subscribe } from 'node:diagnostics_channel'
import { renameSync, writeFileSync } from 'node:fs'

const counts: Record<string, number> = {}
subscribe('http2.server.stream.created', (message) => {
  const { headers } = message as { headers: Record<string, string> }
  const service = /^\/invoke\/([^/]+)/.exec(headers[':path'] ?? '')?.[1] ?? 'other'
  counts[service] = (counts[service] ?? 0) + 1
})

const file = process.env['COUNT_FILE']
process.on('SIGUSR2', () => {
  if (file === undefined) return
  const own = `${file}-${process.pid}`
  writeFileSync(`${own}.next`, JSON.stringify(counts))
  renameSync(`${own}.next`, own)
})
