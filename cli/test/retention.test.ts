import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect, inject, test } from 'vitest'

import { openStorage } from '../../gateway/src/storage/open-storage.ts'
import { createDatabase } from '../../gateway/test/kit/database.ts'
import { acceptedAt, daysAgo } from '../../gateway/test/kit/expired.ts'
import { completeTask, createAccount, createKey } from '../../gateway/test/kit/factories.ts'
import { recordOf, testEnvironment } from '../../gateway/test/kit/start-gateway.ts'

const run = promisify(execFile)
const program = inject('command')

test('retention --dry-run lists expired data without changing it, and retention deletes it', async () => {
  await using database = await createDatabase()
  const directory = await mkdtemp(join(tmpdir(), 'kinora-retention-'))
  const storage = await openStorage({ MEDIA_DIRECTORY: join(directory, 'media') })
  const kinora = async (...parameters: string[]) => {
    const environment = { PATH: process.env['PATH'], ...testEnvironment(database.url, directory) }
    const { stdout } = await run(process.execPath, [program, 'retention', ...parameters], {
      env: environment,
    })
    return stdout.trimEnd().split('\n')
  }
  try {
    const accountId = await createAccount(database.postgres)
    const { id: keyId } = await createKey(database.postgres, accountId)
    for (const days of [100, 1]) {
      const { id } = await acceptedAt(database.postgres, { accountId, keyId }, daysAgo(days))
      await completeTask({ database, ...storage }, accountId, id, {
        bytes: Buffer.alloc(1_048_576),
        expiresAt: daysAgo(days - 7),
      })
    }
    const before = await recordOf({ database, ...storage })

    const preview = await kinora('--dry-run')
    expect(preview).toEqual([
      'expired results: 1 (1.0 MiB)',
      'leftover files of tasks: 0',
      'expired tasks, including those in expired partitions: 1',
      'expired idempotency records: 0',
      'expired partitions: 2',
      expect.stringMatching(/^  video_tasks_default, [0-9-]{10} to [0-9-]{10}, 0\.\d MiB$/),
      expect.stringMatching(/^  task_events_default, /),
      'orphaned files: 0 (0 files have a record)',
      'Nothing was changed.',
    ])
    expect(await recordOf({ database, ...storage })).toEqual(before)

    expect(await kinora()).toEqual([
      'results deleted: 1',
      'leftover files of tasks deleted: 0',
      'tasks deleted one by one: 0',
      'files of deleted tasks deleted later: 0',
      'jobs of deleted tasks deleted at providers: 0',
      'idempotency records deleted: 0',
      'partitions dropped: 2',
      '  task_events_default',
      '  video_tasks_default',
      'orphaned files deleted: 0',
    ])
    const { rows } = await database.postgres.query<Record<string, number>>(
      `select (select count(*) from video_tasks) as tasks,
              (select count(*) from media where removed_at is null) as files,
              (select count(*) from ledger_entries where movement = 'capture') / 2 as captures`,
    )
    expect(rows).toEqual([{ tasks: 1, files: 1, captures: 2 }])
  } finally {
    await rm(directory, { recursive: true })
  }
})
