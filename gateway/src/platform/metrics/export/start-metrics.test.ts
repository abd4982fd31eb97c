import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

const run = promisify(execFile)

/** Prints the packages of the SDK that a process has loaded after this start. */
const program = (settings: object) => `
  import { registerHooks } from 'node:module'
  const loaded = new Set()
  registerHooks({
    load: (url, context, next) => {
      const [name] = /@opentelemetry\\/[\\w-]+/.exec(url) ?? []
      if (name) loaded.add(name)
      return next(url, context)
    },
  })
  const { startMetrics } = await import(${JSON.stringify(new URL('start-metrics.ts', import.meta.url).href)})
  const { isMeasured, count } = await import(${JSON.stringify(new URL('../metrics.ts', import.meta.url).href)})
  const log = { info: () => undefined, warn: () => undefined }
  const metrics = await startMetrics({ METRICS_HOST: '127.0.0.1', ...${JSON.stringify(settings)} }, 'worker', log)
  count('kinora.storage.orphans.removed', {}, 1)
  console.log(JSON.stringify({ isMeasured: isMeasured(), loaded: [...loaded].toSorted() }))
  await metrics.stop()
  process.exit()
`
const startWith = async (settings: object) => {
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program(settings)])
  return JSON.parse(stdout) as { isMeasured: boolean; loaded: string[] }
}

test('a process without a port and without a collector loads no SDK', async () => {
  expect(await startWith({})).toEqual({ isMeasured: false, loaded: [] })
})

test('a process with a port does', async () => {
  const { isMeasured, loaded } = await startWith({ METRICS_PORT: 0 })
  expect(isMeasured).toBe(true)
  expect(loaded).toContain('@opentelemetry/sdk-metrics')
})
