import { afterAll, beforeAll, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../../test/kit/database.ts'
import { cellDigits } from '../ids/cell.ts'
import { timeOfUuidV7 } from '../ids/uuid.ts'

let database: TestDatabase
beforeAll(async () => (database = await createDatabase()))
afterAll(() => database[Symbol.asyncDispose]())

const select = async (expression: string) => {
  const { rows } = await database.postgres.query<{ value: string | null }>(`select ${expression} as value`)
  return String(rows[0]?.value)
}

test('the ids that the database makes have the cell of the service', async () => {
  const startedMs = Date.now()
  const ids = await Promise.all(Array.from({ length: 20 }, () => select('uuid_v7()::text')))
  expect(new Set(ids).size).toBe(ids.length)
  // The database may run on another machine.
  for (const id of ids) expect(Math.abs((timeOfUuidV7(id) ?? 0) - startedMs)).toBeLessThan(86_400_000)
  const event = new RegExp(`^evt_${cellDigits}[0-9a-f]{29}$`)
  expect(await select(`task_event_id('video_1', 1)`)).toMatch(event)
  expect(await select(`task_event_id('video_1', 2)`)).not.toBe(await select(`task_event_id('video_1', 1)`))
  const [isStored] = (
    await database.postgres.query<{ id: string }>(
      `insert into account_events (account_id, type, object_id, data) values (gen_random_uuid(), 'key.expiring', '', '{}') returning id`,
    )
  ).rows
  expect(isStored?.id).toMatch(event)
})
