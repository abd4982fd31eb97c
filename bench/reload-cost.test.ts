import { expect, test } from 'vitest'

import { measureReload } from './config.ts'

/** The figures of docs/proofs.md are of 2,000 models. */
const size = { models: Number(process.env['RELOAD_MODELS'] ?? 500), providers: 50 }

test('a reload of one model takes a fraction of parsing its file', async () => {
  const figures = await measureReload(size)
  console.log(
    [
      `reload with ${size.models} models and ${size.providers} providers, CPU in ms`,
      ...Object.entries(figures).map(([name, value]) => `  ${name.padEnd(20)} ${value.toFixed(0)}`),
    ].join('\n'),
  )
  const parser = figures['YAML parser'] ?? 0
  for (const name of ['one model changed', 'records unchanged', 'one record changed']) {
    expect(figures[name], name).toBeLessThan(parser)
  }
})
