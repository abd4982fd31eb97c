/** `npm run bench:config` */
import { expect, test } from 'vitest'

import { largeConfig, smallConfig } from '../gateway/test/kit/large-config.ts'
import { measureRequests } from './config.ts'

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

test('requests with a small and a large configuration', async () => {
  const rounds = Number(process.env['BENCH_ROUNDS'] ?? 10)
  const { figures, idle } = await measureRequests(
    { small: smallConfig, large: largeConfig },
    { rounds, requests: 100, idleMs: 60_000 },
  )
  const rows = Object.entries(figures).map(([name, { small, large }]) => {
    const ratio = median(small.map((value, round) => (large[round] ?? 0) / value))
    return `  ${name.padEnd(20)} ${median(small).toFixed(2)} ${median(large).toFixed(2)} ${ratio.toFixed(3)}`
  })
  console.log(['CPU of the API per request, ms: small, large, median ratio', ...rows].join('\n'))
  console.log('idle, share of one processor: small, large', JSON.stringify(idle))
  for (const { large } of Object.values(figures)) expect(Math.min(...large)).toBeGreaterThanOrEqual(0)
})
