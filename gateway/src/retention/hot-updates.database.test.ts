/**
 * Free space in the pages of video tasks keeps updated rows in their pages, so that the updates need no new entries in the
 * indexes. `npm run prove:hot-updates` prints the shares.
 */
import { randomUUID } from 'node:crypto'

import { expect, test } from 'vitest'

import { createDatabase } from '../../test/kit/database.ts'
import { acceptedAt } from '../../test/kit/expired.ts'
import { createAccount, createKey, endTask } from '../../test/kit/factories.ts'
import { uuidV7 } from '../platform/ids/uuid.ts'
import { createLog } from '../platform/log.ts'
import { connectPostgres, type Postgres } from '../platform/postgres.ts'
import { insertStoredFiles } from '../storage/stored-file-store.ts'
import { markProcessing } from '../tasks/task-store.ts'
import { recordSubmitted } from '../videos/lifecycle/submit-store.ts'
import { videoTables } from '../videos/task.ts'

const tasks = Number(process.env['HOT_TASKS'] ?? 2_000)
const inFlight = 10

const partitions = `select inhrelid from pg_inherits where inhparent = 'video_tasks'::regclass`

/** The life of tasks as the workers write it: each ends while the next ones have begun. */
const runTasks = async (postgres: Postgres, owner: { accountId: string; keyId: string }) => {
  const ends: (() => Promise<unknown>)[] = []
  for (let n = 0; n < tasks; n += 1) {
    const video = await acceptedAt(postgres, owner, new Date())
    await recordSubmitted(postgres, [
      { taskId: video.id, provider: 'vendor', upstream: { id: randomUUID() }, firstPollMs: 1_000 },
    ])
    await markProcessing(postgres, videoTables, [video])
    ends.push(async () => {
      const file = { id: uuidV7(), accountId: owner.accountId, taskId: video.id, kind: 'video' as const }
      await insertStoredFiles(postgres, [
        {
          ...{ ...file, storageKey: `videos/${file.id}.mp4`, contentType: 'video/mp4', sizeBytes: 1_000 },
          ...{ sha256: '00', width: 480, height: 480, durationMs: 4_000, expiresAt: new Date() },
        },
      ])
      await endTask(postgres, video.id, { kind: 'completed', mediaId: file.id })
    })
    if (ends.length > inFlight) await ends.shift()?.()
  }
  for (const end of ends) await end()
}

const measureUpdates = async (hasFreeSpace: boolean): Promise<{ updates: number; share: number }> => {
  await using database = await createDatabase()
  // One connection, because each reports its statistics by itself.
  const postgres = connectPostgres(
    { url: database.url, connectionsMax: 1 },
    createLog({ level: 'silent' }, 'test'),
  )
  try {
    if (!hasFreeSpace) {
      const { rows } = await postgres.query<{ name: string }>(
        `select inhrelid::regclass::text as name from (${partitions}) partitions`,
      )
      for (const { name } of rows) await postgres.query(`alter table ${name} set (fillfactor = 100)`)
    }
    const accountId = await createAccount(postgres, { balance: 1_000_000 * tasks })
    await runTasks(postgres, { accountId, keyId: (await createKey(postgres, accountId)).id })
    await postgres.query('select pg_stat_force_next_flush()')
    const { rows } = await postgres.query<{ updates: number; hot: number }>(
      `select sum(n_tup_upd)::bigint as updates, sum(n_tup_hot_upd)::bigint as hot
         from pg_stat_user_tables where relid in (${partitions})`,
    )
    const { updates = 0, hot = 0 } = rows[0] ?? {}
    return { updates, share: hot / updates }
  } finally {
    await postgres.close()
  }
}

test('with free space in their pages, more updates of video tasks need no new entries in the indexes', async () => {
  const before = await measureUpdates(false)
  const after = await measureUpdates(true)
  const percents = [before, after].map(({ share }) => Math.round(share * 100))
  process.stdout.write(`video_tasks: ${percents.join(' → ')} % of ${after.updates} updates\n`)
  expect(after.updates).toBeGreaterThan(tasks)
  expect(after.share).toBeGreaterThan(before.share)
})
