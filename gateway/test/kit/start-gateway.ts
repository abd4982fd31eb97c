/** The API in this process, on a database of its own, listening on a port of the system's choice. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { inject } from 'vitest'

import { loadConfig, type Environment } from '../../src/config.ts'
import { createLog } from '../../src/platform/log.ts'
import { wireApi } from '../../src/wiring.ts'
import { createDatabase, type TestDatabase } from './database.ts'
import { keySecret, linkSecret } from './factories.ts'

export interface TestGateway extends AsyncDisposable {
  url: string
  database: TestDatabase
  directory: string
}

export const testEnvironment = (databaseUrl: string, directory: string): Environment => ({
  DATABASE_URL: databaseUrl,
  KEY_HASH_SECRETS: keySecret,
  LINK_SECRETS: linkSecret,
  MEDIA_DIRECTORY: join(directory, 'media'),
  // Nothing listens there: the engine is away unless a test starts one.
  RESTATE_INGRESS_URL: 'http://127.0.0.1:9',
  RESTATE_ADMIN_URL: 'http://127.0.0.1:9',
  LIMIT_ADDRESS_PER_3_MINUTES: '0',
  LOG_LEVEL: 'silent',
})

export const startGateway = async (
  given: Environment = {},
  shared?: { database: TestDatabase; directory: string },
): Promise<TestGateway> => {
  const database = shared?.database ?? (await createDatabase())
  const directory = shared?.directory ?? (await mkdtemp(join(tmpdir(), 'kinora-test-')))
  const config = loadConfig({
    ...testEnvironment(database.url, directory),
    REDIS_URL: inject('redisUrl'),
    ...given,
  })
  const { app, close } = await wireApi(config, createLog({ level: config.LOG_LEVEL }, 'api'))
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    url,
    database,
    directory,
    [Symbol.asyncDispose]: async () => {
      await close()
      if (shared !== undefined) return
      await database[Symbol.asyncDispose]()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
