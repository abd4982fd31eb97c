/**
 * Gives a test that measures times, and the PostgreSQL that it uses, precedence over other programs, so that it measures
 * the service and not the load of the machine. Processes that the test starts inherit it. Without the permission for it
 * nothing changes.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { setPriority } from 'node:os'

import pg from 'pg'
import { afterAll, beforeAll, inject } from 'vitest'

const raised = -10

/** The parent of a backend, which all further backends inherit from. */
const findPostmaster = async (): Promise<number | undefined> => {
  const client = new pg.Client({ connectionString: inject('serverUrl') })
  await client.connect()
  try {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const status = await readFile(`/proc/${rows[0]?.pid}/status`, 'utf8')
    // A server on another machine has a process id of that machine.
    return /^Name:\s+postgres$/m.test(status) ? Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1]) : undefined
  } finally {
    await client.end()
  }
}

/** Does nothing where the system refuses: no permission, a process that has ended, or a group whose share is fixed. */
const setPriorities = async (pids: number[], priority: number) => {
  for (const pid of pids) {
    try {
      setPriority(pid, priority)
    } catch {}
    // Linux may share the processor between sessions first; the priority of a process then counts within its own.
    await writeFile(`/proc/${pid}/autogroup`, String(priority)).catch(() => {})
  }
}

let pids: number[] = []
beforeAll(async () => {
  const postmaster = await findPostmaster().catch(() => undefined)
  pids = [process.pid, ...(postmaster === undefined ? [] : [postmaster])]
  await setPriorities(pids, raised)
})
afterAll(() => setPriorities(pids, 0))
