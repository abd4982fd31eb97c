import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { supervise, type Supervised } from './supervise.ts'

let directory: string
let supervised: Supervised | undefined
let messages: string[]
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-supervise-'))
  supervised = undefined
  messages = []
})
afterEach(async () => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  await supervised?.stop('SIGKILL')
  await rm(directory, { recursive: true })
})

function shell(script: string): (output: number) => ChildProcess {
  return (output) => spawn('/bin/sh', ['-c', script], { cwd: directory, stdio: ['ignore', output, output] })
}

/** A command that runs until it is killed. */
const runForever = 'exec tail -f /dev/null'

function superviseThing(start: (output: number) => ChildProcess, onMessage = () => {}): Supervised {
  supervised = supervise({
    name: 'thing',
    logDirectory: directory,
    start,
    log: (line) => {
      messages.push(line)
      onMessage()
    },
  })
  return supervised
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

function pidOf(thing: Supervised): number {
  const pid = thing.pid()
  if (pid === undefined) throw new Error('The process is not running.')
  return pid
}

test('restarts a killed process and appends to its log', async () => {
  const thing = superviseThing(shell(`echo started; ${runForever}`))
  await expect.poll(() => readFile(thing.logFile, 'utf8')).toBe('started\n')
  const first = pidOf(thing)
  process.kill(first, 'SIGKILL')
  await expect.poll(() => readFile(thing.logFile, 'utf8')).toBe('started\nstarted\n')
  expect(pidOf(thing)).not.toBe(first)
  expect(messages).toEqual(['thing exited (SIGKILL). Restarting it in 200 ms.'])
})

test('doubles the delay after each early exit', async () => {
  // The performance clock is faked too, so that a slow machine does not make the process look healthy.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  let exited = Promise.withResolvers<void>()
  const start = vi.fn(shell('exit 1'))
  superviseThing(start, () => exited.resolve())
  for (const [index, delayMs] of [200, 400, 800].entries()) {
    await exited.promise
    exited = Promise.withResolvers<void>()
    expect(messages.at(-1)).toBe(`thing exited (exit code 1). Restarting it in ${delayMs} ms.`)
    vi.advanceTimersByTime(delayMs - 1)
    expect(start).toHaveBeenCalledTimes(index + 1)
    vi.advanceTimersByTime(1)
    expect(start).toHaveBeenCalledTimes(index + 2)
  }
})

test('retries a program that cannot be started', async () => {
  superviseThing((output) => spawn('/nonexistent/program', { stdio: ['ignore', output, output] }))
  await expect.poll(() => messages.length).toBeGreaterThanOrEqual(2)
  expect(messages[0]).toContain('ENOENT')
})

test('appends to the log of the previous run, and lastLines contains only the current run', async () => {
  await writeFile(join(directory, 'thing.log'), 'old\n')
  const thing = superviseThing(shell(`echo new; ${runForever}`))
  await expect.poll(() => readFile(thing.logFile, 'utf8')).toBe('old\nnew\n')
  expect(thing.lastLines()).toBe('new')
})

test('rotates a large log at the start and overwrites the previous rotation', async () => {
  const large = 'x'.repeat(11 * 1024 * 1024)
  await writeFile(join(directory, 'thing.log'), large)
  await writeFile(join(directory, 'thing.log.1'), 'older\n')
  const thing = superviseThing(shell(`echo new; ${runForever}`))
  await expect.poll(() => readFile(thing.logFile, 'utf8')).toBe('new\n')
  expect((await readFile(`${thing.logFile}.1`)).length).toBe(large.length)
})

test('rotates a large log while the process runs, which then writes to the truncated log', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const thing = superviseThing(shell(`echo first; mkfifo go; read -r line < go; echo second; ${runForever}`))
  await expect.poll(() => readFile(thing.logFile, 'utf8')).toBe('first\n')
  await writeFile(thing.logFile, 'x'.repeat(11 * 1024 * 1024), { flag: 'a' })
  vi.advanceTimersByTime(60_000)
  await expect.poll(() => existsSync(join(directory, 'go'))).toBe(true)
  await writeFile(join(directory, 'go'), 'go\n')
  await expect.poll(() => readFile(thing.logFile, 'utf8')).toBe('second\n')
})

test('a stopped process is not restarted', async () => {
  const thing = superviseThing(shell(runForever))
  const pid = pidOf(thing)
  await Promise.all([thing.stop(), thing.stop()])
  expect(isAlive(pid)).toBe(false)
  expect(thing.pid()).toBeUndefined()
  expect(messages).toEqual([])
})

test('stop kills a process that does not exit within the grace period', async () => {
  const thing = superviseThing(shell(`trap "" TERM; echo ignoring; ${runForever}`))
  const pid = pidOf(thing)
  await expect.poll(() => readFile(thing.logFile, 'utf8')).toContain('ignoring')
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const stopped = thing.stop('SIGTERM', 5_000)
  vi.advanceTimersByTime(4_999)
  expect(isAlive(pid)).toBe(true)
  vi.advanceTimersByTime(1)
  await stopped
  expect(isAlive(pid)).toBe(false)
})

test('stop cancels a scheduled restart', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const start = vi.fn(shell('exit 1'))
  const exited = Promise.withResolvers<void>()
  const thing = superviseThing(start, () => exited.resolve())
  await exited.promise
  await thing.stop()
  vi.advanceTimersByTime(60_000)
  expect(start).toHaveBeenCalledTimes(1)
})

test('gives up on a process that keeps exiting and reports it once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const onGaveUp = vi.fn()
  const thing = supervise({
    name: 'thing',
    logDirectory: directory,
    start: () => {
      throw new Error('no')
    },
    log: () => {},
    onGaveUp,
  })
  await vi.advanceTimersByTimeAsync(300_000)
  expect(onGaveUp).toHaveBeenCalledTimes(1)
  expect(thing.gaveUp()).toBe(true)
})
