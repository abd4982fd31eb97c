/** The data directory of `dev`: which files survive a restart and which are removed at the end. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { ask } from '../../gateway/test/kit/answers.ts'
import { reserveDevPorts } from '../../gateway/test/kit/reserve-ports.ts'

const program = inject('command')

let directory: string
let port: number

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-dev-data-'))
  port = await reserveDevPorts(directory, inData())
})
afterAll(() => rm(directory, { recursive: true, force: true }))

const inData = (...path: string[]) => join(directory, 'data', ...path)

interface Dev extends AsyncDisposable {
  child: ChildProcess
  url: string
  keys: Record<string, string>
  /** Sends the signals and returns the exit code. */
  end: (...signals: NodeJS.Signals[]) => Promise<number | null>
}

const startDev = async (): Promise<Dev> => {
  const child = spawn(
    process.execPath,
    [program, 'dev', '--json', '--no-models', '--port', String(port), '--data', inData()],
    {
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  let output = ''
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    output += chunk.toString()
    if (output.includes('\n')) break
  }
  const { url, keys } = JSON.parse(output) as { url: string; keys: Record<string, string> }
  const end: Dev['end'] = async (...signals) => {
    const exited = once(child, 'exit')
    for (const signal of signals) child.kill(signal)
    const [code] = (await exited) as [number | null]
    return code
  }
  return {
    child,
    url,
    keys,
    end,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) await end('SIGTERM')
    },
  }
}

const providerAt = (dev: Dev, init?: RequestInit) =>
  ask(`${dev.url}/admin/v1/providers/acme`, dev.keys['admin'], init)

const startsIn = (log: string) =>
  readFileSync(inData('logs', log), 'utf8').match(/"msg":"(api|worker|dev)\.started"/g)?.length

const processesBelow = (pid: number): number[] => {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return children === ''
    ? []
    : children.split(' ').flatMap((id) => [Number(id), ...processesBelow(Number(id))])
}

const readSecrets = () => JSON.parse(readFileSync(inData('secrets.json'), 'utf8')) as Record<string, string>

test('the API key of a provider is encrypted with its own secret, and readable after each restart', async () => {
  let keys: Record<string, string>
  {
    await using dev = await startDev()
    ;({ keys } = dev)
    const body = { kind: 'openai', base_url: 'https://acme.example/v1', api_key: 'sk-acme-0123456789' }
    const set = await providerAt(dev, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(set.body).toMatchObject({ name: 'acme', credential_hint: '…6789', problem: null })
    expect(statSync(inData('secrets.json')).mode & 0o777).toBe(0o600)
    expect(readFileSync(inData('.gitignore'), 'utf8')).toBe('*\n')
    expect(readFileSync(inData('dev.pid'), 'utf8')).toBe(String(dev.child.pid))
    // A terminal and npm both send a signal.
    expect(await dev.end('SIGINT', 'SIGINT')).toBe(0)
    expect(existsSync(inData('dev.pid'))).toBe(false)
  }
  // Simulates a crashed run whose process id was reused by another program.
  await writeFile(inData('dev.pid'), String(process.pid))
  {
    await using dev = await startDev()
    expect((await providerAt(dev)).body).toMatchObject({ credential_hint: '…6789', problem: null })
    expect(dev.keys).toEqual(keys)
    expect([startsIn('api.log'), startsIn('worker.log'), startsIn('dev.log')]).toEqual([2, 2, 2])
    const below = processesBelow(dev.child.pid ?? 0)
    await dev.end('SIGKILL')
    expect(existsSync(inData('dev.pid'))).toBe(true)
    await expect.poll(() => below.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([])
  }
  // It starts after a killed run, and adds secrets that are missing.
  const { credential: _, ...older } = readSecrets()
  await writeFile(inData('secrets.json'), JSON.stringify(older))
  await using dev = await startDev()
  expect(readSecrets()).toMatchObject({ ...older, credential: expect.stringMatching(/^[0-9a-f]{64}$/) })
  expect((await providerAt(dev)).body).toMatchObject({
    problem: expect.stringContaining('CREDENTIAL_SECRETS'),
  })
  expect(await dev.end('SIGTERM')).toBe(0)
  expect(existsSync(inData('dev.pid'))).toBe(false)
})
