import { afterEach, expect, test, vi } from 'vitest'

import { createProviderSlots, type ProviderSlot } from './provider-slots.ts'

const provider = { name: 'acme', concurrency: 8 }
const never = new AbortController().signal
const submitter = (account: string) => ({ accountId: account, keyId: account, addressPrefix: account })

afterEach(() => vi.useRealTimers())

/** Slots whose calls are listed by account when they start; each can be released. */
const startSlots = () => {
  const acquire = createProviderSlots()
  const held: { account: string; slot: ProviderSlot }[] = []
  const refused: unknown[] = []
  const ask = (account: string, signal = never) =>
    acquire(provider, submitter(account), signal).then(
      (slot) => held.push({ account, slot }),
      (error: unknown) => refused.push(error),
    )
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return { ask, held, refused, settle, accounts: () => held.map(({ account }) => account).join('') }
}

test('an account uses at most as many slots as stay free, so that there is one for the next account', async () => {
  const { ask, settle, accounts } = startSlots()
  for (const account of 'aaaaaaaaaa') void ask(account)
  await settle()
  expect(accounts()).toBe('aaaa')
  for (const account of 'bbbb') void ask(account)
  await settle()
  expect(accounts()).toBe('aaaabb')
  void ask('c')
  void ask('d')
  await settle()
  expect(accounts()).toBe('aaaabbcd')
})

test('waiting accounts are served in turn, and a call knows whether another account waits', async () => {
  const { ask, held, settle, accounts } = startSlots()
  for (const account of 'aaaaaabbbcd') void ask(account)
  await settle()
  expect(accounts()).toBe('aaaabbcd')
  const [a, , , , b] = held
  expect([a?.slot.isWanted(), b?.slot.isWanted()]).toEqual([true, true])
  void ask('e')
  void ask('f')
  for (const { slot } of held.slice(0, 2)) slot.release()
  await settle()
  expect(accounts()).toBe('aaaabbcdef')
})

test('a call whose client leaves while it waits is dropped', async () => {
  const { ask, held, refused, settle, accounts } = startSlots()
  const leaving = new AbortController()
  for (const account of 'aaaa') void ask(account)
  void ask('a', leaving.signal)
  await settle()
  leaving.abort()
  await settle()
  expect(refused).toEqual([leaving.signal.reason])
  held[0]?.slot.release()
  await settle()
  expect(accounts()).toBe('aaaa')
})

test('a call that waits too long, and calls beyond the limits, are refused', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { ask, refused, settle } = startSlots()
  for (let count = 0; count < 17; count += 1) void ask('a')
  await settle()
  expect(refused).toMatchObject([{ code: 'rate_limit_exceeded', headers: { 'retry-after': '5' } }])
  await vi.advanceTimersByTimeAsync(14_999)
  expect(refused).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(1)
  await settle()
  expect(refused).toHaveLength(13)
  expect(refused.at(-1)).toMatchObject({ code: 'model_overloaded', headers: { 'retry-after': '5' } })
})
