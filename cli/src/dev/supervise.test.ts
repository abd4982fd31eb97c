import { spawn, type ChildProcess } from 'node:child_process'
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

function keep(start: (output: number) => ChildProcess, onMessage = () => {}): Supervised {
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
  if (pid === undefined) throw new Error('it does not run')
  return pid
}

test('starts a killed process again and appends to its log', async () => {
  const thing = keep(shell('echo started; exec sleep 60'))
  await expect.poll(() => readFile(thing.logFile, 'utf8')).toBe('started\n')
  const first = pidOf(thing)
  process.kill(first, 'SIGKILL')
  await expect.poll(() => readFile(thing.logFile, 'utf8')).toBe('started\nstarted\n')
  expect(pidOf(thing)).not.toBe(first)
  expect(messages).toEqual(['thing ended (SIGKILL), starting it again in 200 ms'])
})

test('waits longer after each end in a row', async () => {
  // A machine that is slow to run it takes nothing from how long it lived.
  vi.spyOn(performance, 'now').mockReturnValue(0)
  keep(shell('exit 1'))
  await expect.poll(() => messages.length).toBeGreaterThanOrEqual(3)
  expect(messages.slice(0, 3)).toEqual([
    'thing ended (exit code 1), starting it again in 200 ms',
    'thing ended (exit code 1), starting it again in 400 ms',
    'thing ended (exit code 1), starting it again in 800 ms',
  ])
})

test('retries a program that cannot be started', async () => {
  keep((output) => spawn('/nonexistent/program', { stdio: ['ignore', output, output] }))
  await expect.poll(() => messages.length).toBeGreaterThanOrEqual(2)
  expect(messages[0]).toContain('ENOENT')
})

test('keeps the log of the run before, and tells of its own run alone', async () => {
  await writeFile(join(directory, 'thing.log'), 'old\n')
  const thing = keep(shell('echo new; exec sleep 60'))
  await expect.poll(() => readFile(thing.logFile, 'utf8')).toBe('old\nnew\n')
  expect(thing.lastLines()).toBe('new')
})

test('moves a log that has grown large aside, over the one before', async () => {
  const large = 'x'.repeat(11 * 1024 * 1024)
  await writeFile(join(directory, 'thing.log'), large)
  await writeFile(join(directory, 'thing.log.1'), 'older\n')
  const thing = keep(shell('echo new; exec sleep 60'))
  await expect.poll(() => readFile(thing.logFile, 'utf8')).toBe('new\n')
  expect((await readFile(`${thing.logFile}.1`)).length).toBe(large.length)
})

test('does so while it runs as well, and its process goes on in the emptied log', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const thing = keep(shell('echo first; while [ ! -e go ]; do sleep 0.02; done; echo second; exec sleep 60'))
  await expect.poll(() => readFile(thing.logFile, 'utf8')).toBe('first\n')
  await writeFile(thing.logFile, 'x'.repeat(11 * 1024 * 1024), { flag: 'a' })
  vi.advanceTimersByTime(60_000)
  await writeFile(join(directory, 'go'), '')
  await expect.poll(() => readFile(thing.logFile, 'utf8')).toBe('second\n')
})

test('stop ends the process for good', async () => {
  const thing = keep(shell('exec sleep 60'))
  const pid = pidOf(thing)
  await Promise.all([thing.stop(), thing.stop()])
  expect(isAlive(pid)).toBe(false)
  expect(thing.pid()).toBeUndefined()
  expect(messages).toEqual([])
})

test('stop kills what does not end within the grace', async () => {
  const thing = keep(shell('trap "" TERM; echo deaf; while :; do sleep 0.05; done'))
  const pid = pidOf(thing)
  await expect.poll(() => readFile(thing.logFile, 'utf8')).toContain('deaf')
  await thing.stop('SIGTERM', 100)
  expect(isAlive(pid)).toBe(false)
})

test('stop while waiting for the next start means there is none', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const start = vi.fn(shell('exit 1'))
  const ended = Promise.withResolvers<void>()
  const thing = keep(start, () => ended.resolve())
  await ended.promise
  await thing.stop()
  vi.advanceTimersByTime(60_000)
  expect(start).toHaveBeenCalledTimes(1)
})

test('gives up on a process that only ever ends, and says so once', async () => {
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
