/** Preloaded into a role: collects its garbage on SIGUSR2, and then writes its memory to the file in COLLECTED_FILE with its process id. */
import { renameSync, writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options: Record<string, string>) => void
const file = process.env['COLLECTED_FILE']
process.on('SIGUSR2', () => {
  if (file === undefined) return
  // The last resort also gives free memory back to the system.
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  const own = `${file}-${process.pid}`
  writeFileSync(`${own}.next`, JSON.stringify(process.memoryUsage()))
  renameSync(`${own}.next`, own)
})
