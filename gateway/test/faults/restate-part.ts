import { join } from 'node:path'

import { startRestateServer } from '../../../cli/src/dev/restate-server.ts'
import { until } from './part.ts'

export interface RestatePart extends AsyncDisposable {
  /** Sends SIGKILL; its supervisor starts it again. Returns once it is ready. */
  kill: () => Promise<void>
}

export const startRestatePart = async (
  directory: string,
  ports: { ingress: number; admin: number; node: number },
  logDirectory: string,
): Promise<RestatePart> => {
  const server = await startRestateServer({
    directory: join(directory, 'restate'),
    ports,
    environment: { PATH: process.env['PATH'] },
    logDirectory,
  })
  const isReady = async () => {
    const response = await fetch(`${server.adminUrl}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query: 'SELECT count(1) FROM sys_invocation' }),
      signal: AbortSignal.timeout(5_000),
    })
    await response.body?.cancel()
    return response.ok
  }
  return {
    kill: async () => {
      const pid = server.pid()
      if (pid === undefined) throw new Error('Restate is not running')
      process.kill(pid, 'SIGKILL')
      await until('Restate runs again', async () => server.pid() !== pid && (await isReady()))
    },
    [Symbol.asyncDispose]: () => server.stop(),
  }
}
