import OpenAI from 'openai'
import { expect, test } from 'vitest'

import { ask } from '../kit/answers.ts'
import { isLongForm } from '../kit/long-form.ts'
import { createOperator } from '../kit/operator.ts'
import { makeVideo, probe } from '../kit/sample-video.ts'
import { wave } from '../kit/sound.ts'
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

test('a model that the code does not know is priced with and without sound, and its margin is known', async () => {
  await using stack = await startStack({ provider: 'local' })
  const operator = await createOperator(stack)
  const settings = {
    ...{ kind: 'video', family: 'B', seconds: [2], sizes: ['320x180'], sound: 'optional' },
    ...{ reference_video: true, reference_audio: true },
    prices: [
      { unit: 'second', micros: 200_000 },
      { unit: 'second', micros: 150_000, sound: false },
      { unit: 'image', micros: 7 },
    ],
    routes: [{ provider: 'local', costs: [{ unit: 'call', micros: 60_000 }] }],
    aliases: { 'sora-9': {} },
  }
  await operator.call('setModelEntry', { id: 'clip-1', body: { settings } })
  const client = new OpenAI({ apiKey: stack.key, baseURL: `${stack.url}/openai/v1` })
  const order = { model: 'sora-9', prompt: 'A whale', ...({ seconds: '2', size: '320x180' } as object) }
  const loud = await client.videos.create(order)
  const silent = await client.videos.create({ ...order, ...({ sound: false } as object) })
  await stack.until('both are completed', async () => (await stack.states())['completed'] === 2)
  for (const [{ id }, soundCodec, micros] of [
    [loud, 'aac', 400_000],
    [silent, undefined, 300_000],
  ] as const) {
    const { body } = await ask(`${stack.url}/v1/videos/${id}`, stack.key)
    expect(await probe(String(body['video_url']))).toMatchObject({ soundCodec, width: 320, height: 180 })
    expect(await operator.call('getAnyReceipt', { id })).toMatchObject({
      ...{ captured_micros: micros, provider: 'local', cost_micros: 60_000, margin_micros: micros - 60_000 },
      lines: [soundCodec === undefined ? { sound: false, total_micros: micros } : { total_micros: micros }],
    })
    const receipt = await ask(`${stack.url}/v1/receipts/${id}`, stack.key)
    expect(receipt.body).not.toHaveProperty('cost_micros')
  }
  expect(await operator.call('getTotalUsage', { query: { group_by: 'provider,model' } })).toMatchObject({
    data: [
      { provider: 'local', model: 'clip-1', cost_micros: 120_000, margin_micros: 580_000, unknown_costs: 0 },
    ],
  })

  const body = new FormData()
  for (const [name, value] of Object.entries({ ...order, model: 'clip-1' })) body.append(name, value)
  body.append(
    'reference_video',
    new Blob([new Uint8Array(await makeVideo(stack.directory, { seconds: 1 }))]),
    'a.mp4',
  )
  body.append('reference_audio', new Blob([new Uint8Array(wave(1))]), 'a.wav')
  const based = await ask(`${stack.url}/v1/videos`, stack.key, { method: 'POST', body })
  await stack.until('it is completed', async () => (await stack.states())['completed'] === 3)
  const { body: made } = await ask(`${stack.url}/v1/videos/${String(based.body['id'])}`, stack.key)
  expect(await probe(String(made['video_url']))).toMatchObject({ soundCodec: 'aac', width: 320, height: 180 })
})
