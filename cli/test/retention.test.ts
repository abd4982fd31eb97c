import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

import { createDatabase } from '../../gateway/test/kit/database.ts'
import { acceptedAt, daysAgo } from '../../gateway/test/kit/expired.ts'
import { completeTask, createAccount, createKey } from '../../gateway/test/kit/factories.ts'
import { recordOf, testEnvironment } from '../../gateway/test/kit/start-gateway.ts'

const run = promisify(execFile)
const program = fileURLToPath(new URL('../src/kinora.ts', import.meta.url))

test('what is past its time is told without being touched, and cleared when that is asked for', async () => {
  await using database = await createDatabase()
  const directory = await mkdtemp(join(tmpdir(), 'kinora-past-'))
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
      await completeTask({ database, directory }, accountId, id, {
        bytes: Buffer.alloc(1_048_576),
        expiresAt: daysAgo(days - 7),
      })
    }
    const before = await recordOf({ database, directory })

    const preview = await kinora('--dry-run')
    expect(preview).toEqual([
      'results past their time: 1 (1.0 MiB)',
      'files that a task left behind: 0',
      'replies no longer kept: 0',
      'partitions past their time: 2',
      expect.stringMatching(/^  video_tasks_default, [0-9-]{10} to [0-9-]{10}, 0\.\d MiB$/),
      expect.stringMatching(/^  task_events_default, /),
      'files without a record: 0 (0 have one), 0 left on their way in',
      'Nothing was changed.',
    ])
    expect(await recordOf({ database, directory })).toEqual(before)

    expect(await kinora()).toEqual([
      'results removed: 1',
      'files removed that a task left behind: 0',
      'replies forgotten: 0',
      'partitions dropped: 2',
      '  task_events_default',
      '  video_tasks_default',
      'files without a record removed: 0',
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
