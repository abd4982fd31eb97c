/**
 * Gives a test that measures times, and the PostgreSQL and the Redis that it uses, precedence over other programs, so that
 * it measures the service and not the load of the machine. Processes that the test starts inherit it. Without the
 * permission for it nothing changes.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { setPriority } from 'node:os'

import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, beforeAll, inject } from 'vitest'

const raised = -10
/** The load may be in the session of the test, and is raised with it. The servers must not wait for that either. */
const raisedOfOthers = -20
const newSessionsEveryMs = 50

/** The status of a process, if it has this name: a server on another machine has a process id of that machine. */
const statusOf = async (pid: number | string | undefined, name: string): Promise<string | undefined> => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return status.startsWith(`Name:\t${name}`) ? status : undefined
}

/** The parent of a backend, which all further backends inherit from. */
const findPostmaster = async (): Promise<number[]> => {
  const client = new pg.Client({ connectionString: inject('serverUrl') })
  await client.connect()
  try {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const status = await statusOf(rows[0]?.pid, 'postgres')
    return status === undefined ? [] : [Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1])]
  } finally {
    await client.end()
  }
}

const findRedis = async (): Promise<number[]> => {
  const client = new Redis(inject('redisUrl'))
  try {
    const pid = /^process_id:(\d+)/m.exec(await client.info('server'))?.[1]
    return (await statusOf(pid, 'redis-server')) === undefined ? [] : [Number(pid)]
  } finally {
    client.disconnect()
  }
}

const groupOf = (pid: number) => readFile(`/proc/${pid}/autogroup`, 'utf8').catch(() => '')

/** Does nothing where the system refuses: no permission, a process that has ended, or a group whose share is fixed. */
const setGroupPriority = (pid: number, priority: number) =>
  writeFile(`/proc/${pid}/autogroup`, String(priority)).catch(() => {})

const childrenOf = async (pid: number): Promise<number[]> => {
  const list = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return list.split(' ').filter(Boolean).map(Number)
}

const descendantsOf = async (pid: number): Promise<number[]> => {
  const children = await childrenOf(pid)
  return [...children, ...(await Promise.all(children.map(descendantsOf))).flat()]
}

const setPriorities = (pids: number[], priority: number) => {
  for (const pid of pids) {
    try {
      setPriority(pid, priority)
    } catch {}
  }
}

/**
 * Linux may share the processor between sessions first; the priority of a process then counts within its own. Programs of the
 * sandbox and backends of PostgreSQL begin sessions of their own, which do not inherit.
 */
const raiseSessions = async (pids: number[]) => {
  const [own = ''] = (await groupOf(process.pid)).split(' ')
  for (const pid of [...pids, ...(await Promise.all(pids.map(descendantsOf))).flat()]) {
    const [name, , priority] = (await groupOf(pid)).trimEnd().split(' ')
    const wanted = name === own ? raised : raisedOfOthers
    if (Number(priority) !== wanted) await setGroupPriority(pid, wanted)
  }
}

let pids: number[] = []
let timer: NodeJS.Timeout | undefined
beforeAll(async () => {
  pids = [process.pid, ...(await findPostmaster()), ...(await findRedis())]
  setPriorities(pids, raised)
  await raiseSessions(pids)
  timer = setInterval(() => void raiseSessions(pids), newSessionsEveryMs)
})
afterAll(async () => {
  clearInterval(timer)
  setPriorities(pids, 0)
  for (const pid of pids) await setGroupPriority(pid, 0)
})
