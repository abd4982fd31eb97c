/** Starts a PostgreSQL server of its own with a migrated database, whose processes a test can suspend. Linux only. */
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startEmbeddedPostgres } from '../../../cli/src/dev/embedded-postgres.ts'
import { createLog } from '../../src/platform/log.ts'
import { migrate } from '../../src/platform/migrate.ts'
import { connectPostgres } from '../../src/platform/postgres.ts'
import type { TestDatabase } from './database.ts'
import { reservePorts } from './reserve-ports.ts'

export interface PostgresServer extends TestDatabase {
  /** Suspends all processes of the server: connections stay open, and nothing is answered. */
  suspend: () => void
  resume: () => void
  readLog: () => Promise<string>
}

export const startPostgresServer = async (): Promise<PostgresServer> => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-postgres-'))
  const { postgres: port } = await reservePorts(directory, ['postgres'])
  const server = await startEmbeddedPostgres({
    directory: join(directory, 'data', 'postgres'),
    port,
    environment: { PATH: process.env['PATH'] },
    logDirectory: join(directory, 'logs'),
  })
  const { url } = server
  const postgres = connectPostgres({ url, connectionsMax: 4 }, createLog({ level: 'silent' }, 'test'))
  await migrate(postgres)
  let suspended: number[] = []
  const resume = () => {
    for (const pid of suspended) process.kill(pid, 'SIGCONT')
    suspended = []
  }
  return {
    url,
    postgres,
    suspend: () => {
      const main = server.pid() ?? 0
      // The main process first: it starts the others.
      process.kill(main, 'SIGSTOP')
      const children = readFileSync(`/proc/${main}/task/${main}/children`, 'utf8').trim().split(' ')
      suspended = [main, ...children.map(Number)]
      for (const pid of suspended) process.kill(pid, 'SIGSTOP')
    },
    resume,
    readLog: () => readFile(join(directory, 'logs', 'postgres.log'), 'utf8'),
    [Symbol.asyncDispose]: async () => {
      resume()
      await postgres.close()
      await server.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
