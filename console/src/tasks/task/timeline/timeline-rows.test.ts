import { expect, test } from 'vitest'

import { buildWaterfall, chooseTicks } from './timeline-rows.ts'

type Step = Parameters<typeof buildWaterfall>[0][number]

const step = (
  kind: Step['kind'],
  offsetMs: number,
  durationMs: number | null,
  rest: Partial<Step> = {},
): Step => ({
  ...{ kind, started_at: 0, ended_at: durationMs === null ? null : 0, attempt: null, detail: null },
  ...{ offset_ms: offsetMs, duration_ms: durationMs, outcome: durationMs === null ? null : 'done' },
  ...{ provider: null, currency: 'USD' },
  ...(rest as object),
})

test('the axis ends with the last step, and a refund days later is marked as late', () => {
  const steps = [
    step('accepted', 0, 0),
    step('queue', 0, 3_000),
    step('generate', 3_000, 37_000, { polls: 3 }),
    step('webhook', 40_000, 800, { outcome: 'delivered', delivery_id: 'one' }),
    step('refund', 300_000_000, 0),
  ]
  const { rows, spanMs, waitingMs } = buildWaterfall(steps, true, 400_000_000)
  expect(spanMs).toBe(40_800)
  expect(waitingMs).toBe(3_000)
  expect(rows.map(({ isLate }) => isLate)).toEqual([false, false, false, false, true])
  expect(rows[2]?.bars[0]?.ticks).toEqual([12_250, 21_500, 30_750])
})

test('the bar of a running step grows, and the axis only by half at a time', () => {
  const steps = [step('queue', 0, 1_000), step('generate', 1_000, null)]
  const spans = [7_000, 8_000, 9_500].map((elapsed) => {
    const { rows, spanMs } = buildWaterfall(steps, false, elapsed)
    expect(rows[1]?.bars[0]).toMatchObject({ startMs: 1_000, endMs: elapsed, isRunning: true })
    return spanMs
  })
  expect(spans).toEqual([9_000, 9_000, 13_500])
})

test('a failed attempt and the wait after it are told apart', () => {
  const steps = [
    step('submit', 0, 900, { outcome: 'busy', attempt: 1 }),
    step('queue', 900, 2_000),
    step('submit', 2_900, 500, { outcome: 'accepted', attempt: 2 }),
  ]
  const { rows } = buildWaterfall(steps, true, 5_000)
  expect(rows.map(({ bars }) => bars[0]?.holder)).toEqual(['failed', 'wait', 'provider'])
})

test('many deliveries share a row for each type of event', () => {
  const deliveries = Array.from({ length: 9 }, (_, index) =>
    step('webhook', 1_000 + index, 5, {
      outcome: 'delivered',
      event_type: 'video.progress',
      delivery_id: `${index}`,
    }),
  )
  const { rows } = buildWaterfall([step('generate', 0, 2_000), ...deliveries], true, 2_000)
  expect(rows).toHaveLength(2)
  expect(rows[1]?.bars).toHaveLength(9)
})

test('an axis has at most six ticks, at round times', () => {
  expect(chooseTicks(48_000)).toEqual([0, 10_000, 20_000, 30_000, 40_000])
  expect(chooseTicks(243_000)).toEqual([0, 60_000, 120_000, 180_000, 240_000])
  for (const span of [3, 40, 999, 7_777, 86_400_001, 5e9])
    expect(chooseTicks(span).length).toBeLessThanOrEqual(6)
})
