import { join } from 'node:path'

import { startRestateServer } from '../../../cli/src/dev/restate-server.ts'
import { until } from './part.ts'

export interface RestatePart extends AsyncDisposable {
  ingressUrl: string
  adminUrl: string
  pid: () => number | undefined
  /** Sends SIGKILL; its supervisor starts it again. Returns once it is ready. */
  kill: () => Promise<void>
  /** Stops it, does something with its data, and starts it again. */
  whileStopped: (work: (dataDirectory: string) => Promise<void>) => Promise<void>
  /** Reads its tables. */
  query: <Row>(sql: string) => Promise<Row[]>
}

export const startRestatePart = async (
  directory: string,
  ports: { ingress: number; admin: number; node: number },
  logDirectory: string,
  changedSettings: Record<string, string> = {},
): Promise<RestatePart> => {
  const ownDirectory = join(directory, 'restate')
  const start = () =>
    startRestateServer({
      directory: ownDirectory,
      ports,
      environment: { PATH: process.env['PATH'] },
      logDirectory,
      changedSettings,
    })
  let server = await start()
  const query = async <Row>(sql: string) => {
    const response = await fetch(`${server.adminUrl}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query: sql }),
      signal: AbortSignal.timeout(5_000),
    })
    if (!response.ok) throw new Error(`Restate answered ${response.status} to a query`)
    return ((await response.json()) as { rows: Row[] }).rows
  }
  const isReady = async () => (await query('SELECT count(1) FROM sys_invocation')).length === 1
  return {
    ingressUrl: server.ingressUrl,
    adminUrl: server.adminUrl,
    pid: () => server.pid(),
    query,
    kill: async () => {
      const pid = server.pid()
      if (pid === undefined) throw new Error('Restate is not running')
      process.kill(pid, 'SIGKILL')
      await until('Restate runs again', async () => server.pid() !== pid && (await isReady()))
    },
    whileStopped: async (work) => {
      await server.stop()
      await work(join(ownDirectory, 'data'))
      server = await start()
      await until('Restate runs again', isReady)
    },
    [Symbol.asyncDispose]: () => server.stop(),
  }
}
