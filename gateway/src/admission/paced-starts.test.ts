import { setImmediate } from 'node:timers/promises'

import fc from 'fast-check'
import { expect, test } from 'vitest'

import { createPacedStarts } from './paced-starts.ts'

const createPaced = (runningMax: number) => {
  const start = createPacedStarts(runningMax)
  return (address: string) => new Promise<() => void>((resolve) => start(address, resolve))
}

const turns = async (count: number) => {
  for (let index = 0; index < count; index += 1) await setImmediate()
}

test('the first request of an address starts at once, whatever waits for other addresses', async () => {
  const begin = createPaced(2)
  const begun: string[] = []
  const note = async (address: string) => {
    await begin(address)
    begun.push(address)
  }
  for (let index = 0; index < 10; index += 1) void note('busy')
  void note('other')
  await Promise.resolve()
  await Promise.resolve()
  expect(begun).toEqual(['busy', 'other'])
})

test('one request of a burst starts per tick, and only a limited number runs at once', async () => {
  const begin = createPaced(2)
  const ends: (() => void)[] = []
  for (let index = 0; index < 5; index += 1) void begin('busy').then((end) => ends.push(end))
  await Promise.resolve()
  await Promise.resolve()
  expect(ends).toHaveLength(1)
  await turns(10)
  expect(ends).toHaveLength(2)
  ends[0]?.()
  // To say it again changes nothing.
  ends[0]?.()
  await turns(10)
  expect(ends).toHaveLength(3)
})

test('every request starts, and those of one address start in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ address: fc.nat(3), turns: fc.nat(3) }), { maxLength: 40 }),
      async (given) => {
        const begin = createPaced(3)
        const running = new Map<number, number>()
        const begun = new Map<number, number[]>()
        await Promise.all(
          given.map(async ({ address, turns: taken }, index) => {
            const end = await begin(`${address}`)
            running.set(address, (running.get(address) ?? 0) + 1)
            expect(running.get(address)).toBeLessThanOrEqual(3)
            begun.set(address, [...(begun.get(address) ?? []), index])
            await turns(taken)
            running.set(address, (running.get(address) ?? 0) - 1)
            end()
          }),
        )
        for (const order of begun.values()) expect(order).toEqual(order.toSorted((a, b) => a - b))
        expect([...begun.values()].flat()).toHaveLength(given.length)
      },
    ),
  )
})
