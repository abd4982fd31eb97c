import { setImmediate as settled } from 'node:timers/promises'

import fc from 'fast-check'
import { expect, test } from 'vitest'

import type { ScopeLimits } from './admission.ts'
import { createFairQueue, type FairQueueLimits } from './fair-queue.ts'
import { noLimits } from './limits.ts'

type Scope = keyof ScopeLimits

class Refused extends Error {
  readonly limit: Scope
  constructor(limit: Scope) {
    super(limit)
    this.limit = limit
  }
}

interface Entry {
  account: number
  key: number
  address: number
  state: 'waiting' | 'running' | 'ended' | 'refused'
  /** How often its work was started, and how often its promise was settled. */
  starts: number
  settles: number
  abort: AbortController
  finish: () => void
}

const unlimited = { inFlight: noLimits }

/** A queue whose work ends when it is told to, and a record of what it did. */
const observed = (limits: FairQueueLimits) => {
  const queue = createFairQueue(limits, (limit) => new Refused(limit))
  const entries: Entry[] = []
  const started: Entry[] = []
  const add = (account: number, key = account, address = account, isLong = false): Entry => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const abort = new AbortController()
    const entry: Entry = {
      ...{ account, key, address, abort, state: 'waiting', starts: 0, settles: 0 },
      finish: resolve,
    }
    entries.push(entry)
    const submitter = { accountId: `${account}`, keyId: `${key}`, addressPrefix: `${address}` }
    const run = queue(
      submitter,
      abort.signal,
      async (signal) => {
        entry.starts += 1
        entry.state = 'running'
        started.push(entry)
        // As a program does that is killed.
        signal.addEventListener('abort', () => resolve())
        await promise
        signal.throwIfAborted()
      },
      { isLong },
    )
    run.then(
      () => {
        entry.settles += 1
        entry.state = 'ended'
      },
      (error: unknown) => {
        entry.settles += 1
        entry.state = error instanceof Refused ? 'refused' : 'ended'
      },
    )
    return entry
  }
  const inState = (state: Entry['state']) => entries.filter((entry) => entry.state === state)
  return { add, entries, started, inState }
}

const of = (account: number) => (entry: Entry) => entry.account === account

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('add' as const), which: fc.nat(4) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('finish' as const), which: fc.nat(50) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('abort' as const), which: fc.nat(50) }) },
  ),
  // By default arrays have at most ten elements, which is too few for an account to be served twice.
  { maxLength: 60, size: 'max' },
)

test('observes its limits, leaves no slot unused, and starts or drops every entry exactly once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 3 }),
      steps,
      async (n, m, todo) => {
        const { add, entries, inState } = observed({ ...unlimited, concurrency: n, runningPerAccount: m })
        const check = async () => {
          await settled()
          const running = inState('running')
          expect(running.length).toBeLessThanOrEqual(n)
          for (const account of [0, 1, 2, 3, 4]) {
            const share = running.filter(of(account)).length
            expect(share).toBeLessThanOrEqual(m)
            if (running.length < n && share < m) expect(inState('waiting').filter(of(account))).toEqual([])
          }
        }
        for (const { kind, which } of todo) {
          if (kind === 'add') add(which)
          else {
            const open =
              kind === 'finish' ? inState('running') : [...inState('running'), ...inState('waiting')]
            const entry = open[which % open.length]
            if (kind === 'finish') entry?.finish()
            else entry?.abort.abort()
          }
          await check()
        }
        while (inState('running').length > 0) {
          for (const entry of inState('running')) entry.finish()
          await check()
        }
        for (const { abort, starts, settles, state } of entries) {
          expect({ settles, state }).toEqual({ settles: 1, state: 'ended' })
          if (abort.signal.aborted) expect(starts).toBeLessThanOrEqual(1)
          else expect(starts).toBe(1)
        }
      },
    ),
  )
})

test('while an account below its limit waits, every other account starts at most one entry', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 3 }),
      steps,
      async (n, m, todo) => {
        const { add, started, inState } = observed({ ...unlimited, concurrency: n, runningPerAccount: m })
        const accounts = [0, 1, 2, 3, 4]
        const startedSince = new Map(accounts.map((account) => [account, new Map<number, number>()]))
        let seen = 0
        for (const { kind, which } of todo) {
          // One change at a time, so that at most one entry starts and its moment is known.
          const eligible = accounts.filter(
            (account) =>
              inState('waiting').some(of(account)) && inState('running').filter(of(account)).length < m,
          )
          if (kind === 'add') add(which)
          else if (kind === 'finish') inState('running')[which % inState('running').length]?.finish()
          else inState('waiting')[which % inState('waiting').length]?.abort.abort()
          await settled()
          const starts = started.slice(seen)
          seen = started.length
          expect(starts.length).toBeLessThanOrEqual(1)
          for (const account of accounts) {
            const since = startedSince.get(account) ?? new Map<number, number>()
            if (!eligible.includes(account)) since.clear()
            for (const start of starts) {
              if (start.account === account) since.clear()
              else if (eligible.includes(account)) {
                since.set(start.account, (since.get(start.account) ?? 0) + 1)
                expect(since.get(start.account)).toBe(1)
              }
            }
          }
        }
      },
    ),
  )
})

test('entries of one account run in their order', async () => {
  const { add, entries, started } = observed({ ...unlimited, concurrency: 3, runningPerAccount: 1 })
  for (let added = 0; added < 5; added += 1) add(0)
  await settled()
  for (const entry of entries) {
    entry.finish()
    await settled()
  }
  expect(started).toEqual(entries)
})

test('long entries leave a place to short ones, start after them, and one of them always runs', async () => {
  const { add, started } = observed({ ...unlimited, concurrency: 2, runningPerAccount: 1 })
  const addLong = (account: number) => add(account, account, account, true)
  const longs = [1, 2, 3].map(addLong)
  await settled()
  // The second place is free, and a short entry starts at once.
  expect(started).toEqual([longs[0]])
  const shorts = [4, 5, 6].map((account) => add(account))
  await settled()
  expect(started).toEqual([longs[0], shorts[0]])
  // The next long entry starts although short ones wait.
  longs[0]?.finish()
  await settled()
  expect(started.at(-1)).toBe(longs[1])
  shorts[0]?.finish()
  await settled()
  expect(started.at(-1)).toBe(shorts[1])
})

type Owner = [account: number, key: number, address: number]

test.each<[Scope, Owner, Owner, Owner | undefined]>([
  ['account', [0, 1, 1], [0, 2, 2], [3, 1, 1]],
  ['key', [1, 0, 1], [2, 0, 2], [1, 3, 1]],
  ['address', [1, 1, 0], [2, 2, 0], [1, 1, 3]],
  ['total', [1, 1, 1], [2, 2, 2], undefined],
])('refuses what exceeds %s, running and waiting, until one has ended', async (limit, one, two, other) => {
  const { add } = observed({ inFlight: { ...noLimits, [limit]: 2 }, concurrency: 1, runningPerAccount: 1 })
  const first = add(...one)
  const second = add(...two)
  const third = add(...one)
  const spare = other && add(...other)
  await settled()
  expect([first.state, second.state, third.state]).toEqual(['running', 'waiting', 'refused'])
  if (spare !== undefined) expect(spare.state).toBe('waiting')
  second.abort.abort()
  await settled()
  const fourth = add(...one)
  await settled()
  expect(fourth.state).toBe('waiting')
})

test('an entry whose signal has already aborted is not admitted', async () => {
  const queue = createFairQueue(
    { ...unlimited, concurrency: 1, runningPerAccount: 1 },
    (limit) => new Refused(limit),
  )
  const submitter = { accountId: 'a', keyId: 'k', addressPrefix: 'p' }
  const reason = new Error('left')
  await expect(queue(submitter, AbortSignal.abort(reason), async () => 1)).rejects.toBe(reason)
  expect(await queue(submitter, new AbortController().signal, async () => 2)).toBe(2)
})
