import { expect, test } from 'vitest'

import { createDatabase } from '../../../test/kit/database.ts'
import { startProxy } from '../../../test/kit/start-gateway.ts'
import { createLog } from '../log.ts'
import { DatabaseStalled } from '../postgres-errors.ts'
import { connectPostgres } from '../postgres.ts'
import { findTimeoutFixes, hearsNotifications } from './pooler-store.ts'

test('notifications arrive without a pooler, and a role without timeouts is found', async () => {
  await using database = await createDatabase()
  expect(await hearsNotifications(database.postgres)).toBe(true)
  expect(await findTimeoutFixes(database.postgres)).toEqual([
    expect.stringMatching(/^alter role \w+ set statement_timeout = '10s';$/),
    expect.stringMatching(/^alter role \w+ set lock_timeout = '5s';$/),
  ])
  const limited = connectPostgres(
    { url: database.url, connectionsMax: 1, statementTimeoutMs: 1_000, lockTimeoutMs: 1_000 },
    createLog({ level: 'silent' }, 'test'),
  )
  expect(await findTimeoutFixes(limited)).toEqual([])
  await limited.close()
})

test('a pooler that stops responding is noticed, although the server itself responds', async () => {
  await using database = await createDatabase()
  await using pooler = await startProxy(database.url)
  const postgres = connectPostgres(
    { url: pooler.url, directUrl: database.url, connectionsMax: 1, statementTimeoutMs: 100 },
    createLog({ level: 'silent' }, 'test'),
  )
  await postgres.query('select 1')
  pooler.stall()
  const ask = () => postgres.query('select 1').catch((error: unknown) => error)
  await expect.poll(ask).toBeInstanceOf(DatabaseStalled)
  pooler.resume()
  await expect.poll(ask).toHaveProperty('rowCount', 1)
  await postgres.close()
})
