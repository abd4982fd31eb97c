/** `npm run bench:config`; in CI a short form, in which only the ratio of a reload to its YAML parser is a limit. */
import { expect, test } from 'vitest'

import { largeConfig, smallConfig } from '../kit/large-config.ts'
import { measureReload, measureRequests } from './config.ts'

const isFull = process.env['BENCH'] === 'full'

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

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

test('requests with a small and a large configuration', async () => {
  const { figures, idle } = await measureRequests(
    isFull
      ? { small: smallConfig, large: largeConfig }
      : { small: smallConfig, large: { models: 100, providers: 4 } },
    isFull
      ? { rounds: Number(process.env['BENCH_ROUNDS'] ?? 10), requests: 100, idleMs: 60_000 }
      : { rounds: 1, requests: 8, idleMs: 0 },
  )
  const rows = Object.entries(figures).map(([name, { small, large }]) => {
    const ratio = median(small.map((value, round) => (large[round] ?? 0) / value))
    return `  ${name.padEnd(20)} ${median(small).toFixed(2)} ${median(large).toFixed(2)} ${ratio.toFixed(3)}`
  })
  console.log(['CPU of the API per request, ms: small, large, median ratio', ...rows].join('\n'))
  if (idle.length > 0) console.log('idle, share of one processor: small, large', JSON.stringify(idle))
  for (const { large } of Object.values(figures)) expect(Math.min(...large)).toBeGreaterThanOrEqual(0)
})
