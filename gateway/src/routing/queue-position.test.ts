import fc from 'fast-check'
import { expect, test } from 'vitest'

import { positionIn, type WaitingAccount } from './queue-position.ts'

/** An account whose keys have tasks of one length each. */
const account = (keys: Record<string, { tasks: number; cost: number }>): WaitingAccount => {
  const each = Object.entries(keys).map(
    ([name, { tasks, cost }]) => [name, { tasks, cost, costMax: cost / tasks }] as const,
  )
  const sum = (of: 'tasks' | 'cost') => each.reduce((total, [, key]) => total + key[of], 0)
  const costMax = Math.max(...each.map(([, key]) => key.costMax))
  return { tasks: sum('tasks'), cost: sum('cost'), costMax, keys: new Map(each) }
}
const exactly = (value: number) => ({ min: value, max: value })
const place = (ahead: number, cost = 4) => ({
  ...{ accountId: 'own', keyId: 'key', cost },
  ahead: { tasks: exactly(ahead), cost: exactly(ahead * cost) },
})
const own = (tasks: number) => account({ key: { tasks, cost: 4 * tasks } })

test('alone in the queue, the position is exact', () => {
  expect(positionIn(new Map([['own', own(5)]]), place(3))).toEqual({ min: 3, max: 3 })
  expect(positionIn(new Map(), place(0))).toEqual({ min: 0, max: 0 })
})

test("another account's flood is at most two tasks ahead of a first task", () => {
  const flood = account({ k: { tasks: 10_000, cost: 40_000 } })
  const accounts = new Map([
    ['own', own(1)],
    ['flood', flood],
  ])
  expect(positionIn(accounts, place(0))).toEqual({ min: 0, max: 2 })
  expect(positionIn(accounts, place(10))).toEqual({ min: 10 + 8, max: 10 + 12 })
})

test('short tasks of others are ahead in greater numbers, within the same seconds of video', () => {
  const accounts = new Map([
    ['own', account({ key: { tasks: 2, cost: 50 } })],
    ['short', account({ k: { tasks: 1_000, cost: 4_000 } })],
  ])
  const { min, max } = positionIn(accounts, place(1, 25))
  expect(min).toBe(1)
  expect(max).toBe(1 + Math.ceil((25 + 25 + 4) / 4))
})

test('the keys of an account share its turns', () => {
  const accounts = new Map([
    ['own', account({ key: { tasks: 1, cost: 4 }, other: { tasks: 500, cost: 2_000 } })],
  ])
  expect(positionIn(accounts, place(0))).toEqual({ min: 0, max: 2 })
})

test('a place behind the counted tasks is bounded by the tasks of the key', () => {
  const ahead = { tasks: { min: 200, max: Infinity }, cost: exactly(800) }
  expect(positionIn(new Map([['own', own(900)]]), { ...place(0), ahead })).toEqual({ min: 200, max: 899 })
})

test('property: bounds are whole numbers in order, and never more than all waiting tasks', () => {
  const key = fc.record({ tasks: fc.integer({ min: 1, max: 500 }), each: fc.integer({ min: 1, max: 60 }) })
  const keys = fc.array(key, { minLength: 1, maxLength: 4 })
  const others = fc.array(keys, { maxLength: 6 })
  fc.assert(
    fc.property(others, keys, fc.nat(499), fc.integer({ min: 1, max: 60 }), (given, ours, before, cost) => {
      const named = (list: { tasks: number; each: number }[]) =>
        account(
          Object.fromEntries(
            list.map(({ tasks, each }, index) => [
              index === 0 ? 'key' : `key-${index}`,
              { tasks, cost: tasks * each },
            ]),
          ),
        )
      const accounts = new Map(given.map((each, index) => [`other-${index}`, named(each)]))
      accounts.set('own', named(ours))
      const ahead = Math.min(before, (ours[0]?.tasks ?? 1) - 1)
      const { min, max } = positionIn(accounts, place(ahead, cost))
      const all = [...accounts.values()].reduce((sum, { tasks }) => sum + tasks, 0)
      expect(Number.isInteger(min) && Number.isInteger(max)).toBe(true)
      expect(min).toBeGreaterThanOrEqual(ahead)
      expect(max).toBeGreaterThanOrEqual(min)
      expect(max).toBeLessThan(all)
    }),
  )
})
