/** Finds and runs pg_dump and pg_restore. */
import { execFile, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

import { hostUrlsOf, splitPassword } from '../platform/hosts/database-url.ts'

const run = promisify(execFile)

export interface PostgresProgram {
  path: string
  major: number
}

/** The version of a program; undefined if it does not exist. */
const majorOf = async (path: string): Promise<number | undefined> => {
  try {
    const { stdout } = await run(path, ['--version'])
    return Number(/\(PostgreSQL\) (\d+)/.exec(stdout)?.[1] ?? 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Finds a program that is not older than `majorMin`. The one of the server's own version is preferred, in the directory
 * where Debian installs it: the output of a newer pg_restore may contain settings that the server does not know.
 */
export const findProgram = async (
  name: 'pg_dump' | 'pg_restore',
  server: number,
  majorMin = server,
): Promise<PostgresProgram> => {
  let found: number | undefined
  for (const path of [`/usr/lib/postgresql/${server}/bin/${name}`, name]) {
    const major = await majorOf(path)
    if (major !== undefined && major >= majorMin) return { path, major }
    found = major ?? found
  }
  const problem =
    found === undefined
      ? `${name} was not found.`
      : `${name} is version ${found}, but version ${majorMin} or later is needed.`
  throw new Error(
    `${problem} Install it with \`apt-get install postgresql-client-${majorMin}\` (from apt.postgresql.org if your Debian release does not have it), or put the directory of the program first in PATH.`,
  )
}

/** The connection for programs of PostgreSQL. The password is not an argument, because other users can see arguments. */
const connectionOf = (databaseUrl: string): { url: string; environment: Record<string, string> } => {
  const { url, password } = splitPassword(databaseUrl)
  return {
    url,
    environment: {
      ...(password !== undefined && { PGPASSWORD: password }),
      // Of several hosts, the primary.
      ...(hostUrlsOf(url).length > 1 && { PGTARGETSESSIONATTRS: 'read-write' }),
    },
  }
}

const linesInError = 10

/** Runs a program on the database. Its error messages become the message of the error. */
export const runProgram = async (
  { path }: PostgresProgram,
  databaseUrl: string,
  parameters: string[],
  options: {
    environment: Partial<Record<string, string>>
    signal: AbortSignal
    onLine?: (line: string) => void
  },
): Promise<void> => {
  const { url, environment } = connectionOf(databaseUrl)
  const child = spawn(path, [...parameters, '--no-password', `--dbname=${url}`], {
    env: { ...options.environment, ...environment, PGAPPNAME: 'kinora-backup' },
    stdio: ['ignore', 'ignore', 'pipe'],
    signal: options.signal,
  })
  const ended = new Promise<string>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve(signal ?? String(code)))
  })
  // A rejection is handled below, after the output was read.
  ended.catch(() => undefined)
  const last: string[] = []
  for await (const line of createInterface(child.stderr)) {
    options.onLine?.(line)
    last.push(line)
    if (last.length > linesInError) last.shift()
  }
  const result = await ended
  options.signal.throwIfAborted()
  if (result !== '0') throw new Error(`${path} failed (${result}):\n${last.join('\n')}`)
}
