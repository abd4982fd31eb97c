import { setImmediate as nextTurn } from 'node:timers/promises'

import { expect, test } from 'vitest'

import { createByteBudget } from './byte-budget.ts'

const gate = () => {
  let open = () => undefined as void
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

test('never more bytes are under way than the budget has', async () => {
  const budget = createByteBudget(100)
  let bytes = 0
  let bytesMost = 0
  const work = (size: number) =>
    budget.within(size, async () => {
      bytes += size
      bytesMost = Math.max(bytesMost, bytes)
      await nextTurn()
      bytes -= size
    })
  await Promise.all(Array.from({ length: 60 }, (_, index) => work((index % 10) * 10)))
  expect(bytesMost).toBeLessThanOrEqual(100)
  expect(bytes).toBe(0)
})

test('what is larger than the whole budget runs alone, and is not passed over', async () => {
  const budget = createByteBudget(100)
  const order: string[] = []
  const first = gate()
  const running = [
    budget.within(10, () => first.opened),
    budget.within(500, async () => void order.push('large')),
    budget.within(10, async () => void order.push('small')),
  ]
  await nextTurn()
  expect(order).toEqual([])
  first.open()
  await Promise.all(running)
  expect(order).toEqual(['large', 'small'])
})

test('work that fails gives back what it took', async () => {
  const budget = createByteBudget(100)
  await expect(budget.within(100, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  await expect(budget.within(100, async () => 'done')).resolves.toBe('done')
})

test('who waits too long is sent away to come back, and holds up nobody behind', async () => {
  const budget = createByteBudget(100, 10)
  const first = gate()
  const running = budget.within(50, () => first.opened)
  const tooLarge = budget.within(100, async () => 'never')
  await expect(tooLarge).rejects.toMatchObject({
    code: 'service_unavailable',
    headers: { 'retry-after': '2' },
  })
  await expect(budget.within(50, async () => 'fits')).resolves.toBe('fits')
  first.open()
  await running
})
