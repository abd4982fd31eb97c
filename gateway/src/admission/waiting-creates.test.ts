import { expect, test } from 'vitest'

import { createWaitingCreates } from './waiting-creates.ts'

const enterAll = (waiting: ReturnType<typeof createWaitingCreates>, owner: string, count: number) =>
  Array.from({ length: count }, () => waiting.enter(owner))
/** Enters creates until one is refused. */
const fill = (waiting: ReturnType<typeof createWaitingCreates>, owner: string) => {
  let count = 0
  while (waiting.refusalFor(owner) === undefined) {
    waiting.enter(owner)
    count += 1
  }
  return count
}

test('creates over the limit are refused with Retry-After until others have ended', () => {
  const waiting = createWaitingCreates({ waitingMax: 3, waitMs: Infinity }, () => 0)
  const leave = enterAll(waiting, 'one', 3)
  expect(waiting.refusalFor('one')).toMatchObject({
    code: 'service_unavailable',
    headers: { 'retry-after': '2' },
  })
  leave[0]?.()
  expect(waiting.refusalFor('one')).toBeUndefined()
})

test('a create that has ended is counted down once', () => {
  const waiting = createWaitingCreates({ waitingMax: 2, waitMs: Infinity }, () => 0)
  const [leave] = enterAll(waiting, 'one', 2)
  leave?.()
  leave?.()
  waiting.enter('one')
  expect(waiting.refusalFor('one')).toBeDefined()
})

test('queries that wait for a connection count as well', () => {
  let queries = 3
  const waiting = createWaitingCreates({ waitingMax: 4, waitMs: Infinity }, () => queries)
  waiting.enter('one')
  expect(waiting.refusalFor('one')).toBeDefined()
  queries = 2
  expect(waiting.refusalFor('one')).toBeUndefined()
})

test('an account below its equal share is admitted although others have filled the limit', () => {
  const waiting = createWaitingCreates({ waitingMax: 12, waitMs: Infinity }, () => 0)
  enterAll(waiting, 'flood', 6)
  enterAll(waiting, 'another flood', 6)
  expect(waiting.refusalFor('flood')).toBeDefined()
  expect(fill(waiting, 'small')).toBe(4)
  expect(waiting.refusalFor('flood')).toBeDefined()
})

test('never more than twice the limit wait, however many accounts there are', () => {
  const waiting = createWaitingCreates({ waitingMax: 4, waitMs: Infinity }, () => 0)
  let admitted = 0
  for (let account = 0; account < 100; account += 1) admitted += fill(waiting, `account ${account}`)
  expect(admitted).toBe(8)
})

test('without a limit nothing is refused', () => {
  const waiting = createWaitingCreates({ waitingMax: Infinity, waitMs: Infinity }, () => 1_000_000)
  enterAll(waiting, 'one', 1_000)
  expect(waiting.refusalFor('one')).toBeUndefined()
})

test('while creates wait too long, fewer may wait; once none waits, the whole limit applies again', () => {
  let nowMs = 0
  const waiting = createWaitingCreates(
    { waitingMax: 100, waitMs: 50 },
    () => 0,
    () => nowMs,
  )
  /** Lets everything that waits end, each after this time, and refills. Returns how many may wait then. */
  const turn = (waitedMs: number): number => {
    const leaves: (() => void)[] = []
    while (waiting.refusalFor('one') === undefined) leaves.push(waiting.enter('one'))
    nowMs += waitedMs
    const kept = waiting.enter('one')
    for (const leave of leaves) leave()
    let count = 1
    const refilled: (() => void)[] = []
    while (waiting.refusalFor('one') === undefined) {
      refilled.push(waiting.enter('one'))
      count += 1
    }
    for (const leave of [...refilled, kept]) leave()
    return count
  }
  expect(turn(10)).toBe(100)
  expect(turn(200)).toBe(25)
  expect(turn(10)).toBe(100)
  expect(turn(60_000)).toBe(10)
})
