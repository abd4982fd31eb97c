import { expect, test } from 'vitest'

import { createDatabase } from '../../../test/kit/database.ts'
import { createLog } from '../log.ts'
import { connectPostgres } from '../postgres.ts'
import { findLoggingFixes } from './logging-store.ts'

test('the statements keep values out of the log of all new connections', async () => {
  await using database = await createDatabase()
  await database.postgres.transaction(async (within) => {
    await within.query("set local log_error_verbosity = 'default'")
    await within.query('set local log_parameter_max_length = -1')
    const fixes = await findLoggingFixes(within)
    const name = new URL(database.url).pathname.slice(1)
    expect(fixes).toContain(`alter database ${name} set log_error_verbosity = 'terse';`)
    for (const fix of fixes) await within.query(fix)
  })
  const later = connectPostgres(
    { url: database.url, connectionsMax: 1 },
    createLog({ level: 'silent' }, 'test'),
  )
  expect(await findLoggingFixes(later)).toEqual([])
  await later.close()
})
