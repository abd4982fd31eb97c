import { expect, test } from 'vitest'

import { allEventsIn } from '../kit/event-reader.ts'
import { startStack } from '../kit/stack.ts'

test('the time in which a stopping API still serves requests does not shorten the time to end them', async () => {
  await using stack = await startStack({
    workers: 0,
    environment: { LAME_DUCK_SECONDS: '5', DRAIN_SECONDS: '4' },
  })
  const taskId = await stack.create('A whale')
  const { body } = await fetch(`${stack.url}/v1/videos/${taskId}/events`, {
    headers: { authorization: `Bearer ${stack.key}` },
  })
  const [events] = await Promise.all([allEventsIn(body), stack.api.stop()])
  expect(events.at(-1)).toEqual({ retry: expect.stringMatching(/^\d+$/) })
})
