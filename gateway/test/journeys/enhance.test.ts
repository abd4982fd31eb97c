import { expect, test } from 'vitest'

import { ask, askJson } from '../kit/answers.ts'
import { startStack } from '../kit/stack.ts'

test('a prompt is enhanced once before its job is submitted, however often the run is replayed', async () => {
  await using stack = await startStack({ alwaysReplay: true })
  const prompt = 'A vendor:busy=1 whale leaps at sunset'
  const create = async (more: object) => {
    const order = { model: 'vidA3', prompt, ...more }
    const { body } = await askJson(`${stack.url}/v1/video/create`, stack.key, order)
    return String(body['id'])
  }
  const enhanced = await create({ enhance_prompt: true })
  const plain = await create({})
  await stack.until('both tasks have ended', async () => ((await stack.states())['completed'] ?? 0) === 2)
  const shown = async (id: string) => {
    const { body } = await ask(`${stack.url}/v1/video/query?id=${id}`, stack.key)
    return String(body['enhanced_prompt'])
  }
  expect(await shown(plain)).toBe(prompt)
  expect(await shown(enhanced)).toMatch(/^A vendor:busy=1 whale leaps at sunset\. Warm low sun .+\.$/)
  expect(
    stack.vendor
      .jobs()
      .map((job) => job.prompt)
      .toSorted(),
  ).toEqual([prompt, await shown(enhanced)])
  await stack.assertLedger({ completed: 2, failed: 0 })
})

test('a configured chat model enhances and translates the prompt, and if it fails the prompt stays unchanged', async () => {
  await using stack = await startStack({ isEnhancedByVendor: true })
  const create = async (prompt: string) => {
    const order = { model: 'vidA3', prompt, enhance_prompt: true }
    const answer = await askJson(`${stack.url}/v1/video/create`, stack.key, order)
    expect(answer.headers.get('x-ignored-params')).toBeNull()
    return String(answer.body['id'])
  }
  const translated = await create('日落时的鲸鱼')
  const failed = await create('A vendor:chat-fail whale')
  await stack.until('both tasks have ended', async () => ((await stack.states())['completed'] ?? 0) === 2)
  const shown = async (id: string) => {
    const { body } = await ask(`${stack.url}/v1/video/query?id=${id}`, stack.key)
    return body['enhanced_prompt']
  }
  expect(await shown(translated)).toBe('In English, by the vendor: 日落时的鲸鱼')
  expect(await shown(failed)).toBe('A vendor:chat-fail whale')
})
