import { execFile, fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

import { escapes, openTarget, perl, type EscapeTarget } from '../test/escapes.ts'
import { findSandbox, isSandboxFailure, startSandboxed, type Confined } from './sandbox.ts'

let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-sandbox-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

const endOf = async (child: ChildProcess) => {
  const [output, errors, [code, signal]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    new Promise<[number | null, string | null]>((resolve) => {
      child.once('close', (...ending) => resolve(ending))
    }),
  ])
  return { output, errors, code, signal }
}

const runPerl = async (script: string, given: Partial<Confined> = {}) => {
  const confined = {
    program: perl,
    parameters: ['-e', script],
    mounts: [],
    cpuSecondsMax: 60,
    fileBytesMax: 0,
  }
  return endOf(
    startSandboxed(await findSandbox('bwrap'), { ...confined, ...given }, ['ignore', 'pipe', 'pipe']),
  )
}

test.for(escapes)('a program in the sandbox fails if it $title', async ({ script }) => {
  await using target = await openTarget()
  const { output } = await runPerl(script(target))
  expect(output).not.toContain('escaped')
  expect(target.connections()).toBe(0)
})

test.for(escapes.filter(({ worksOutside }) => worksOutside))(
  'without the sandbox, a program succeeds if it $title',
  async ({ script }) => {
    await using target: EscapeTarget = await openTarget()
    const { stdout } = await promisify(execFile)(perl, ['-e', script(target)])
    expect(stdout).toContain('escaped')
  },
)

test('a program that uses too much processor time is killed', async () => {
  const { code, output } = await runPerl('1 while 1; print "escaped"', { cpuSecondsMax: 1 })
  expect(output).toBe('')
  expect(code).not.toBe(0)
})

test('a program cannot write a larger file than allowed', async () => {
  const script = `open(my $out, '>', '/job/large') or die; $out->autoflush; print $out 'x' x 500; print $out 'x' x 5000; print 'escaped'`
  const confined = { mounts: ['--bind', directory, '/job'], fileBytesMax: 1_000 }
  const { output, code } = await runPerl(script, confined)
  expect(output).toBe('')
  expect(code).not.toBe(0)
})

test('a program cannot open more files than allowed', async () => {
  const script = `my @files; while (@files < 1000 && open(my $file, '<', '/dev/null')) { push @files, $file } print scalar @files`
  expect(Number((await runPerl(script)).output)).toBeLessThan(256)
})

test('a program sees nothing of the environment, and leaves no core dump', async () => {
  const { output } = await runPerl(`print join(',', sort keys %ENV)`)
  expect(output).toBe('MALLOC_ARENA_MAX,PATH,PWD')
})

test('a program runs as nobody, whoever runs the service', async () => {
  const { output } = await runPerl(`print "$< $> ", $( + 0, ' ', $) + 0`)
  expect(output).toBe('65534 65534 65534 65534')
})

// A program with the lowest priority waits for the tests beside it.
const idleLimit = { timeout: 600_000 }

test(
  'a program that uses much processor time gets a low priority, and the service keeps its own',
  idleLimit,
  async () => {
    const confined = { program: perl, mounts: [], cpuSecondsMax: 60, fileBytesMax: 0, isLowPriority: true }
    const sandbox = await findSandbox('bwrap')
    // The kernel may group processes by session. The text is empty in the group of the first session.
    const groupOf = (pid: number | string = 'self') =>
      readFile(`/proc/${pid}/autogroup`, 'utf8').catch(() => undefined)
    const ownBefore = await groupOf()
    const child = startSandboxed(
      sandbox,
      {
        ...confined,
        parameters: ['-e', '$| = 1; print getpriority(0, 0); <STDIN>; 1 while times < 1; <STDIN>'],
      },
      ['pipe', 'pipe', 'pipe'],
    )
    onTestFinished(() => void child.kill('SIGKILL'))
    const [priority] = (await once(child.stdout!, 'data')) as [Buffer]
    const isRoot = process.getuid?.() === 0
    expect(priority.toString()).toBe(ownBefore === undefined ? '4' : '0')
    // The kernel lets only root change groups as often as it likes.
    if (ownBefore !== undefined && isRoot) {
      expect(await groupOf(child.pid)).toMatch(/ nice 2$/m)
      child.stdin?.write('use the processor\n')
      await expect.poll(() => groupOf(child.pid)).toMatch(/ nice 10$/m)
    }
    expect(await groupOf()).toBe(ownBefore)
    child.stdin?.end()
    expect(await endOf(child)).toMatchObject({ code: 0 })
  },
)

test('a missing bubblewrap is reported with the fix', async () => {
  await expect(findSandbox('/nowhere/bwrap')).rejects.toThrow(
    /\/nowhere\/bwrap was not found.*Install bubblewrap.*seccomp\.json.*AppArmor/,
  )
})

test('a bubblewrap that may not create namespaces is reported with its own message', async () => {
  const message = 'bwrap: No permissions to create new namespace'
  const refused = join(directory, 'refused-bwrap')
  await writeFile(refused, `#!/bin/sh\necho '${message}' >&2\nexit 1\n`)
  await chmod(refused, 0o755)
  await expect(findSandbox(refused)).rejects.toMatchObject({ reason: message })
  expect(isSandboxFailure(message)).toBe(true)
  expect(isSandboxFailure('/video: Invalid data found when processing input')).toBe(false)
})

/** The processes whose command line contains this text. */
const findProcesses = async (marker: string) => {
  const lines = await Promise.all(
    (await readdir('/proc')).map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  )
  return lines.filter((line) => line.includes(marker) && !line.includes(service))
}
const service = fileURLToPath(new URL('../test/killed-service.ts', import.meta.url))
const kills = Number(process.env['SANDBOX_KILLS'] ?? 4)

test('no program survives a service that is killed at any moment of its start', async () => {
  for (let kill = 0; kill < kills; kill += 1) {
    // A number of seconds, which is the argument of the program.
    const marker = `1${String(process.pid).padStart(8, '0')}${kill}`
    const child = fork(service, [marker])
    const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    expect(signal).toBe('SIGKILL')
    await expect.poll(() => findProcesses(marker)).toEqual([])
  }
})

test('a program that is killed leaves no process behind', async () => {
  const marker = `2${String(process.pid).padStart(8, '0')}`
  const confined = { program: 'sleep', parameters: [marker], mounts: [], cpuSecondsMax: 60, fileBytesMax: 0 }
  const child = startSandboxed(await findSandbox('bwrap'), confined, ['ignore', 'pipe', 'pipe'])
  await expect
    .poll(async () => (await findProcesses(marker)).some((line) => line.startsWith('sleep')))
    .toBe(true)
  child.kill('SIGKILL')
  expect(await endOf(child)).toMatchObject({ signal: 'SIGKILL' })
  await expect.poll(() => findProcesses(marker)).toEqual([])
})
