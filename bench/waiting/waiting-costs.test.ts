/** `npm run bench -- --quick waiting`: waiting clients may not cost more than recorded. */
import { expect, test } from 'vitest'

import { measureWaitingCosts } from './waiting-costs.ts'

/** Raise a figure only for a reason; lower it when the cost is lower. */
const recordedHeapKib = { streams: 17, polls: 21 }
const tolerance = 1.25

test('clients that wait cost no statements of their own, and little memory', async () => {
  const { heap, idle } = await measureWaitingCosts([200, 1_000])
  console.log({ heap, idle })
  for (const { statements, looks } of idle) {
    // One per process every five seconds, for all clients together.
    expect(looks).toBeGreaterThan(0)
    expect(looks).toBeLessThanOrEqual(4)
    expect(statements).toBe(looks)
  }
  for (const kind of ['streams', 'polls'] as const)
    expect(heap[kind], kind).toBeLessThanOrEqual(recordedHeapKib[kind] * tolerance)
})
