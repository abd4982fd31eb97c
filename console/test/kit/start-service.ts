/** Starts a whole service as `kinora dev` runs it, with the built console, on a database of its own. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import pg from 'pg'

import { reserveDevPorts } from '../../../gateway/test/kit/reserve-ports.ts'

export interface RunningService {
  url: string
  /** The development account's key for everything, and the key of an admin. */
  keys: { payg: string; admin: string }
  databaseUrl: string
  directory: string
  /** The process of the API. */
  apiPid: number
  stop: () => Promise<void>
}

interface ServiceOptions {
  /** The bundled command. */
  command: string
  /** A PostgreSQL server in which a database is created. */
  serverUrl: string
  environment?: Record<string, string>
}

const onServer = async (serverUrl: string, text: string) => {
  const client = new pg.Client({ connectionString: serverUrl })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

const readStdout = async (stdout: AsyncIterable<Buffer>): Promise<string> => {
  let output = ''
  for await (const chunk of stdout) {
    output += chunk.toString()
    if (output.includes('\n')) return output
  }
  throw new Error(`The service ended before it was ready. ${output}`)
}

const findChild = (parent: number, role: string): number => {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ')
  const found = children.find((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim().endsWith(` ${role}`),
  )
  if (found === undefined) throw new Error(`No process has the role ${role}.`)
  return Number(found)
}

export const startService = async (options: ServiceOptions): Promise<RunningService> => {
  const { command, serverUrl } = options
  const directory = await mkdtemp(join(tmpdir(), 'kinora-console-'))
  const data = join(directory, 'data')
  const port = await reserveDevPorts(directory, data)
  const name = `kinora_console_${randomBytes(6).toString('hex')}`
  await onServer(serverUrl, `create database ${name}`)
  const databaseUrl = new URL(`/${name}`, serverUrl).href
  const child = spawn(
    process.execPath,
    [command, 'dev', '--json', '--no-models', '--no-open', '--port', String(port), '--data', data],
    {
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        DO_NOT_TRACK: '1',
        DATABASE_URL: databaseUrl,
        DATABASE_STATEMENT_TIMEOUT_MS: '120000',
        // A slow machine must not refuse what a person does.
        OVERLOAD_EVENT_LOOP_DELAY_MS: '0',
        ...options.environment,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      await exit
    }
    await onServer(serverUrl, `drop database if exists ${name} with (force)`)
    await rm(directory, { recursive: true, force: true })
  }
  try {
    const ready = JSON.parse(await readStdout(child.stdout)) as Pick<RunningService, 'url' | 'keys'>
    child.stdout.resume()
    const apiPid = findChild(child.pid ?? 0, 'api')
    return { url: ready.url, keys: ready.keys, databaseUrl, directory, apiPid, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
