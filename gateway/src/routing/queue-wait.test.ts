import { setImmediate as yieldToEventLoop } from 'node:timers/promises'

import { expect, test } from 'vitest'

import { createLog } from '../platform/log.ts'
import { createQueueWait, tasksAhead, type QueueState } from './queue-wait.ts'

const log = createLog({ level: 'silent' }, 'test')

/** A queue whose state and clock a test changes. */
const setUp = (isPaused = () => false) => {
  let nowMs = 1_000_000
  const state: QueueState = { waiting: [], starts: [] }
  const wait = createQueueWait({ read: async () => structuredClone(state), isPaused, log }, () => nowMs)
  const waitMs = (accountId: string, fallback?: number) =>
    wait.waitMs({ queue: 'acme', model: undefined }, accountId, fallback)
  /** Lets time pass and the state be read once. */
  const pass = async (ms: number) => {
    nowMs += ms
    waitMs('anyone')
    await yieldToEventLoop()
  }
  const fill = (accountId: string, waiting: number, model = 'video-1') => {
    state.waiting = [
      ...state.waiting.filter((row) => row.accountId !== accountId || row.model !== model),
      { queue: 'acme', model, accountId, waiting },
    ]
  }
  let starts = 0
  /** A tick of the dispatcher that starts tasks. */
  const tick = (started: number) => {
    starts += started
    state.starts = [{ queue: 'acme', model: 'video-1', starts, tickedAtMs: nowMs }]
  }
  return { wait, waitMs, pass, fill, tick, state }
}

test('tasks ahead: each account is served as often as the new task’s own account', () => {
  const waiting = new Map([
    ['flood', { tasks: 1_000 }],
    ['medium', { tasks: 10 }],
    ['small', { tasks: 2 }],
  ])
  expect(tasksAhead(waiting, 'flood')).toBe(1_012)
  expect(tasksAhead(waiting, 'medium')).toBe(10 + 11 + 2)
  expect(tasksAhead(waiting, 'small')).toBe(2 + 3 + 3)
  expect(tasksAhead(waiting, 'new')).toBe(3)
})

test('the wait is unknown before the queue was read, and without any rate', async () => {
  const { waitMs, pass, fill } = setUp()
  fill('flood', 1_000)
  expect(waitMs('flood', 1)).toBeUndefined()
  await pass(0)
  expect(waitMs('flood')).toBeUndefined()
  expect(waitMs('flood', 1)).toBe(1_000_000)
})

test('a measured rate takes precedence over the given one', async () => {
  const { waitMs, pass, fill, tick } = setUp()
  fill('flood', 1_000)
  tick(0)
  await pass(1_000)
  for (let second = 0; second < 20; second += 1) {
    tick(2)
    await pass(1_000)
  }
  expect(waitMs('flood', 100)).toBeCloseTo(500_000, -4)
})

test('time in which nothing waited says nothing about the rate', async () => {
  const { waitMs, pass, fill, tick } = setUp()
  for (let second = 0; second < 120; second += 1) {
    tick(second % 10 === 0 ? 1 : 0)
    await pass(1_000)
  }
  fill('burst', 1_000)
  await pass(1_000)
  expect(waitMs('burst')).toBeUndefined()
})

test('a dispatcher that does not run does not lower the rate', async () => {
  const { waitMs, pass, fill, tick } = setUp()
  fill('flood', 1_000)
  tick(0)
  await pass(1_000)
  for (let second = 0; second < 20; second += 1) {
    tick(2)
    await pass(1_000)
  }
  for (let second = 0; second < 600; second += 1) await pass(1_000)
  tick(0)
  await pass(1_000)
  expect(waitMs('flood')).toBeCloseTo(500_000, -4)
})

test('an unhealthy provider does not lower the rate', async () => {
  let isPaused = false
  const { waitMs, pass, fill, tick } = setUp(() => isPaused)
  fill('flood', 1_000)
  tick(0)
  await pass(1_000)
  for (let second = 0; second < 20; second += 1) {
    tick(2)
    await pass(1_000)
  }
  isPaused = true
  for (let second = 0; second < 600; second += 10) {
    tick(0)
    await pass(10_000)
  }
  expect(waitMs('flood')).toBeCloseTo(500_000, -4)
})

test('a provider that becomes slower is noticed', async () => {
  const { waitMs, pass, fill, tick } = setUp()
  fill('flood', 1_000)
  tick(0)
  await pass(1_000)
  for (let second = 0; second < 60; second += 1) {
    tick(2)
    await pass(1_000)
  }
  for (let second = 0; second < 600; second += 1) {
    tick(second % 5 === 0 ? 1 : 0)
    await pass(1_000)
  }
  expect(waitMs('flood')).toBeGreaterThan(4_000_000)
})

test('a state that was not read for long is not used', async () => {
  const { waitMs, pass, fill } = setUp()
  fill('flood', 1_000)
  await pass(0)
  expect(waitMs('flood', 1)).toBe(1_000_000)
  const { wait, ...later } = setUp()
  later.fill('flood', 1_000)
  await later.pass(0)
  await later.pass(3_600_000)
  // This call only triggered the next reading, which is used from now on.
  expect(later.waitMs('flood', 1)).toBe(1_000_000)
  expect(wait.waitMs({ queue: 'other', model: undefined }, 'flood', 1)).toBe(0)
})

test('a model is a queue of its own, and tasks accepted since the last reading count', async () => {
  const { wait, waitMs, pass, fill } = setUp()
  fill('one', 10, 'video-1')
  fill('one', 4, 'video-2')
  await pass(0)
  expect(waitMs('one', 1)).toBe(14_000)
  const ofModel = { queue: 'acme', model: 'video-2' }
  expect(wait.waitMs(ofModel, 'one', 1)).toBe(4_000)
  wait.add('acme', 'video-2', 'one')
  expect(wait.waitMs(ofModel, 'one', 1)).toBe(5_000)
  expect(waitMs('one', 1)).toBe(15_000)
})

test('a refresh reads the queues again only after a second, or if a task has left one', async () => {
  let nowMs = 0
  let readings = 0
  let onRead = () => {}
  const read = async (): Promise<QueueState> => {
    readings += 1
    onRead()
    return { waiting: [], starts: [] }
  }
  const wait = createQueueWait({ read, isPaused: () => false, log }, () => nowMs)
  await Promise.all([wait.refresh(), wait.refresh()])
  await wait.refresh()
  expect(readings).toBe(1)
  wait.invalidate()
  await wait.refresh()
  expect(readings).toBe(2)
  // A reading that began before the change does not count.
  nowMs += 2_000
  onRead = () => {
    onRead = () => {}
    wait.invalidate()
  }
  await wait.refresh()
  await wait.refresh()
  expect(readings).toBe(4)
})

test('the tasks in flight are those of the queue or of a model, older by the time since the reading', async () => {
  let nowMs = 0
  const running = { queue: 'acme', seconds: 4, elapsedMs: 1_000 }
  const state: QueueState = {
    ...{ waiting: [], starts: [] },
    inFlight: [
      { queue: 'acme', model: 'video-1', tasks: 70 },
      { queue: 'acme', model: 'video-2', tasks: 1 },
      { queue: 'other', model: 'video-1', tasks: 5 },
    ],
    running: [
      { ...running, model: 'video-1' },
      { ...running, model: 'video-2' },
    ],
  }
  const wait = createQueueWait({ read: async () => state, isPaused: () => false, log }, () => nowMs)
  await wait.refresh()
  nowMs += 500
  expect(wait.inFlightOf({ queue: 'acme', model: undefined })).toMatchObject({
    tasks: 71,
    running: [{ elapsedMs: 1_500 }, { model: 'video-2' }],
  })
  expect(wait.inFlightOf({ queue: 'acme', model: 'video-2' })).toMatchObject({
    tasks: 1,
    running: [{ model: 'video-2', elapsedMs: 1_500 }],
  })
})
