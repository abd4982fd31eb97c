import { randomBytes } from 'node:crypto'

import pg from 'pg'
import { inject } from 'vitest'

import { createLog } from '../../src/platform/log.ts'
import { connectPostgres, type Postgres } from '../../src/platform/postgres.ts'

export interface TestDatabase extends AsyncDisposable {
  url: string
  postgres: Postgres
}

const onServer = async (text: string) => {
  const client = new pg.Client({ connectionString: inject('serverUrl') })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

/** Creates a database as a clone of the migrated template; disposing drops it. A test file usually shares one. */
export const createDatabase = async (template = inject('template')): Promise<TestDatabase> => {
  const name = `kinora_test_${randomBytes(6).toString('hex')}`
  await onServer(`create database ${name} template ${template}`)
  const url = new URL(`/${name}`, inject('serverUrl')).href
  const postgres = connectPostgres(
    { url, connectionsMax: 4, connectTimeoutMs: 120_000 },
    createLog({ level: 'silent' }, 'test'),
  )
  return {
    url,
    postgres,
    [Symbol.asyncDispose]: async () => {
      await postgres.close()
      await onServer(`drop database if exists ${name} with (force)`)
    },
  }
}

/** Creates a database without any table. */
export const createEmptyDatabase = (): Promise<TestDatabase> => createDatabase('template0')
