/** Does damage of every kind to the record, the files and the vendors, so that the judge can be tested. */
import { rename, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'

import type { Client } from './client.ts'
import { apiKey, type FaultStack } from './fault-stack.ts'
import type { Damage } from './judge.ts'
import { readTasks } from './read-tasks.ts'

/** Text that occurs in a finding of the judge, for each kind of damage that was done. */
export type Expected = Partial<Record<keyof Damage, string[]>>

export const spoil = async (stack: FaultStack, client: Client): Promise<Expected> => {
  const { directory, postgres, vendors } = stack
  const confirmed = new Set(client.creates.flatMap(({ taskId }) => taskId ?? []))
  const followed = client.followed[0]?.taskId ?? ''
  const tasks = (await readTasks(stack, client)).filter(
    ({ id, state }) => state === 'completed' && confirmed.has(id) && id !== followed,
  )
  const [cut, one, other, fileless, forgotten, released] = tasks
  if (!cut || !one || !other || !fileless || !forgotten || !released || followed === '')
    throw new Error(`the judge needs more than ${tasks.length} completed tasks`)
  const pathOf = ({ storageKey }: { storageKey: string | null }) => join(directory, 'media', storageKey ?? '')

  await truncate(pathOf(cut), 1)
  await rename(pathOf(one), `${pathOf(one)}.swapped`)
  await rename(pathOf(other), pathOf(one))
  await rename(`${pathOf(one)}.swapped`, pathOf(other))
  await rm(pathOf(fileless))

  const connection = await postgres.connect()
  // Without the triggers that prevent such changes.
  await connection.query(`set session_replication_role = replica`)
  await connection.query('delete from video_tasks where id = $1', [forgotten.id])
  await connection.query(
    `insert into ledger_entries (day, account_id, wallet, task_id, movement, book, amount_micros)
     select day, account_id, wallet, task_id, 'release', book, amount_micros
       from ledger_entries where task_id = $1 and movement = 'capture'`,
    [released.id],
  )
  await connection.query('update balances set held_micros = held_micros + 1 where account_id = $1', [
    one.accountId,
  ])
  await connection.query(
    `insert into tasks_in_flight (provider, account_id, key_id, model, tasks)
     select 'spoilt', account_id, id, 'spoilt', 1 from keys where account_id = $1`,
    [other.accountId],
  )
  await connection.query('delete from task_events where task_id = $1 and id = 1', [followed])
  await connection.end()
  await fetch(`${vendors.repeatable.url}/v1/videos`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'vidB-2', prompt: cut.prompt, seconds: '4', size: '480x480' }),
  })
  const paying = [...client.audio.requestsOf.keys()]
  for (const accountId of paying) client.audio.requestsOf.set(accountId, 0)

  return {
    lost: [`${fileless.id} has no video`, `${forgotten.id} is not in the record`],
    doubleCharged: [released.id, 'made 0 audio requests'],
    wrongBytes: [cut, one, other].flatMap(({ id }) => [`file of ${id}`, `download of ${id}`]),
    stuck: ['are counted in flight'],
    duplicateJobs: [cut.prompt],
    holdsLeft: [one.accountId],
    brokenStreams: [followed],
  }
}
