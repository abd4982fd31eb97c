import { expect, test } from 'vitest'

import { largeConfig } from '../gateway/test/kit/large-config.ts'
import { measureReload } from './config.ts'

test('a reload of one model takes a fraction of parsing its file', async () => {
  const figures = await measureReload(largeConfig)
  console.log(
    [
      `reload with ${largeConfig.models} models and ${largeConfig.providers} providers, CPU in ms`,
      ...Object.entries(figures).map(([name, value]) => `  ${name.padEnd(20)} ${value.toFixed(0)}`),
    ].join('\n'),
  )
  const parser = figures['YAML parser'] ?? 0
  for (const name of ['one model changed', 'records unchanged', 'one record changed']) {
    expect(figures[name], name).toBeLessThan(parser)
  }
})
