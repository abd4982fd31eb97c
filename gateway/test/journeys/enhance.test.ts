import { expect, test } from 'vitest'

import { ask, askJson } from '../kit/answers.ts'
import { startStack } from '../kit/stack.ts'

test('without a chat model, a prompt is enhanced by rules before its job is submitted', async () => {
  await using stack = await startStack()
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
