/**
 * Preloaded into a worker: counts the streams that the engine opens, of which each is an attempt of an invocation. The
 * count is written to the file in COUNT_FILE on SIGUSR2.
 */
import { subscribe } from 'node:diagnostics_channel'
import { renameSync, writeFileSync } from 'node:fs'

let count = 0
subscribe('http2.server.stream.created', () => {
  count += 1
})

const file = process.env['COUNT_FILE']
process.on('SIGUSR2', () => {
  if (file === undefined) return
  writeFileSync(`${file}.next`, String(count))
  renameSync(`${file}.next`, file)
})
