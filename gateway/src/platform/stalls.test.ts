import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { expect, test, vi } from 'vitest'

import { listenForTest } from '../../test/kit/listen-for-test.ts'
import { watchForStalls } from './stalls.ts'

const caller = fileURLToPath(new URL('../../test/kit/stopped-caller.ts', import.meta.url))

test('a process that was stopped during a call knows it when the call times out', async () => {
  const arrived = Promise.withResolvers<void>()
  await using server = await listenForTest(() => arrived.resolve())
  const child = fork(caller, [server.url], { stdio: 'inherit' })
  const answer = once(child, 'message')
  const exit = once(child, 'exit')
  await arrived.promise
  child.kill('SIGSTOP')
  const isStopped = async () =>
    (await readFile(`/proc/${child.pid}/stat`, 'utf8')).split(') ')[1]?.startsWith('T')
  await expect.poll(isStopped, { interval: 5 }).toBe(true)
  // The length of the stall, which is longer than the timeout of the call.
  await wait(1_500)
  child.kill('SIGCONT')
  expect(await answer).toEqual([{ failure: 'TimeoutError', during: true, after: false }, undefined])
  await exit
})

test('a timer that is a second late means a stall, logged once', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const warn = vi.fn()
  const stalls = watchForStalls({ warn })
  const startedMs = performance.now()
  vi.advanceTimersByTime(60_000)
  expect(stalls.hasStalledSince(startedMs)).toBe(false)
  const now = vi.spyOn(performance, 'now').mockReturnValue(startedMs + 62_000)
  expect(stalls.hasStalledSince(startedMs)).toBe(true)
  expect(stalls.hasStalledSince(startedMs + 62_000)).toBe(false)
  now.mockReturnValue(startedMs + 62_250)
  vi.advanceTimersByTime(250)
  expect(warn.mock.calls).toEqual([[{ stalledMs: 1_750 }, 'process.stalled']])
  stalls.stop()
  vi.useRealTimers()
})
