import { expect, test } from 'vitest'

import { ask } from '../kit/answers.ts'
import { isLongForm } from '../kit/long-form.ts'
import { probe } from '../kit/sample-video.ts'
import { startStack } from '../kit/stack.ts'

const allPrompts = [
  'A whale swimming through a calm ocean at sunset',
  'A dragon over snowy mountains',
  'An astronaut near a ringed planet in deep space',
  'A quiet pine forest in the morning mist',
  'Golden dunes in the desert',
  'A neon city at night in the rain',
  'A boat on a lake at dawn',
  'Red cliffs above a stormy sea',
  'A field of flowers in spring',
  'Northern lights over ice',
]
const prompts = isLongForm ? allPrompts : allPrompts.slice(0, 3)

test('renders survive the kill of the worker and of the provider, and each is a playable video', async () => {
  await using stack = await startStack({ provider: 'local' })
  const ids = await Promise.all(prompts.map((prompt) => stack.create(prompt)))
  await stack.until(
    'a first render is completed',
    async () => ((await stack.states())['completed'] ?? 0) >= 1,
  )
  await Promise.all([stack.workers[0]?.kill(), stack.local.kill()])
  await Promise.all([stack.workers[0]?.start(), stack.local.start()])
  const ms = await stack.until(
    'all renders are completed',
    async () => (await stack.states())['completed'] === prompts.length,
  )
  console.log(
    `worker and provider killed and started again: all ${prompts.length} renders completed ${Math.round(ms)} ms later`,
  )
  await stack.assertLedger({ completed: prompts.length, failed: 0 })

  for (const id of ids) {
    const { body } = await ask(`${stack.url}/v1/videos/${id}`, stack.key)
    const { seconds, ...video } = await probe(String(body['video_url']))
    expect(video).toEqual({ codec: 'h264', soundCodec: 'aac', width: 480, height: 480 })
    expect(seconds).toBeCloseTo(4, 1)
  }
})
