/** The timeline of a video that a worker, its polls and the engine have made. */
import type { VideoTimeline } from '@kinora/contract/operations/video-timelines'
import { expect, test } from 'vitest'

import { ask } from '../kit/answers.ts'
import { startStack } from '../kit/stack.ts'

test('a video has all steps, the number of its polls and the time of its download', async () => {
  await using stack = await startStack({
    providerSettings: { pollIntervalMsMin: 100, pollIntervalMsMax: 200 },
  })
  const id = await stack.create('A whale vendor:duration=1500ms')
  await stack.until('it has ended', async () => (await stack.states())['completed'] === 1)
  const { body } = await ask(`${stack.url}/v1/videos/${id}/timeline`, stack.key)
  const { steps } = body as unknown as VideoTimeline
  expect(steps.map(({ kind }) => kind)).toEqual([
    ...['accepted', 'hold', 'queue', 'submit', 'generate', 'store', 'settle'],
  ])
  const generate = steps.find(({ kind }) => kind === 'generate')
  expect(generate?.polls).toBeGreaterThan(1)
  expect(generate?.last_poll_at).toBeGreaterThanOrEqual(generate?.started_at ?? Infinity)
  expect(steps.every(({ ended_at: end }) => end !== null)).toBe(true)
})
