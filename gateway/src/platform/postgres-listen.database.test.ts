import { expect, test } from 'vitest'

import { createDatabase } from '../../test/kit/database.ts'

const connectionsThatListen = `from pg_stat_activity where datname = current_database() and application_name = 'kinora, listening'`

test('all listeners share a connection, and all are called after a reconnect', async () => {
  await using database = await createDatabase()
  const { postgres } = database
  const heard: Record<string, (string | undefined)[]> = { first: [], second: [], other: [] }
  const listen = (name: string, channel: string) =>
    postgres.listen(channel, (payload) => heard[name]?.push(payload))
  const listening = [
    await listen('first', 'one_channel'),
    await listen('second', 'one_channel'),
    await listen('other', 'other_channel'),
  ]
  const { rows } = await postgres.query<{ count: number }>(
    `select count(*) as count ${connectionsThatListen}`,
  )
  expect(rows[0]?.count).toBe(1)

  await postgres.notify('one_channel', 'a')
  await postgres.notify('other_channel', 'b')
  await expect.poll(() => heard).toEqual({ first: ['a'], second: ['a'], other: ['b'] })

  await postgres.query(`select pg_terminate_backend(pid) ${connectionsThatListen}`)
  await expect.poll(() => Object.values(heard).map((each) => each.length)).toEqual([2, 2, 2])
  expect(heard['other']).toEqual(['b', undefined])
  await listening[0]?.stop()
  await postgres.notify('one_channel', 'c')
  await expect.poll(() => heard['second']).toEqual(['a', undefined, 'c'])
  expect(heard['first']).toEqual(['a', undefined])
  for (const each of listening) await each.stop()
})
