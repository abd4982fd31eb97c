/** What a backup reads from the database. The command is tested in `cli/test/backup.test.ts`. */
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createDatabase, createEmptyDatabase, type TestDatabase } from '../../test/kit/database.ts'
import { acceptedAt, daysAgo, recordingAt } from '../../test/kit/expired.ts'
import { createAccount, createKey } from '../../test/kit/factories.ts'
import { uuidV7 } from '../platform/ids/uuid.ts'
import { insertStoredFiles } from '../storage/stored-file-store.ts'
import {
  collectStatistics,
  countOpenTasks,
  countRecords,
  countReferencedFiles,
  exportSnapshot,
  findFiles,
  isEmptyDatabase,
  readServer,
  referencedFiles,
  type ReferencedFile,
} from './backup-store.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

test('a snapshot is read by other connections as it was taken', async () => {
  const { postgres } = database
  await postgres.transaction(async (exporting) => {
    const { id, takenAt } = await exportSnapshot(exporting)
    expect(takenAt).toBeInstanceOf(Date)
    const before = await countRecords(exporting)
    await createAccount(postgres)
    await postgres.transaction(async (importing) => {
      await importing.query('set transaction isolation level repeatable read')
      await importing.query(`set transaction snapshot '${id}'`)
      expect(await countRecords(importing)).toEqual(before)
    })
    expect((await countRecords(postgres)).accounts).toBe(before.accounts + 1)
  })
})

test('the files of tasks and recordings are referenced until they expire', async () => {
  const { postgres } = database
  const accountId = await createAccount(postgres)
  const { id: keyId } = await createKey(postgres, accountId)
  const { id: taskId } = await acceptedAt(postgres, { accountId, keyId }, new Date())
  const { recordingKey } = await recordingAt(postgres, { accountId, keyId }, new Date())
  const file = (storageKey: string, expiresAt: Date) => ({
    ...{ id: uuidV7(), accountId, taskId, storageKey, expiresAt },
    ...{ kind: 'reference' as const, contentType: 'image/png', sizeBytes: 3, sha256: 'abcd' },
    ...{ width: null, height: null, durationMs: null },
  })
  await insertStoredFiles(postgres, [file('kept', daysAgo(-1)), file('expired', daysAgo(1))])

  const listed: ReferencedFile[] = []
  for await (const page of referencedFiles(postgres)) listed.push(...page)
  expect(listed).toHaveLength(3)
  expect(listed.toSorted((a, b) => a.storageKey.localeCompare(b.storageKey))).toMatchObject([
    { storageKey: 'expired', sizeBytes: 3, sha256: 'abcd', isExpired: true },
    { storageKey: 'kept', sizeBytes: 3, sha256: 'abcd', isExpired: false },
    { storageKey: recordingKey, sizeBytes: null, sha256: null, isExpired: false },
  ])
  expect(await countReferencedFiles(postgres)).toBe(3)
  expect(await findFiles(postgres, ['kept', 'expired', recordingKey, 'unknown'])).toEqual({
    needed: new Set(['kept', recordingKey]),
    expired: new Set(['expired']),
  })
  expect(await countOpenTasks(postgres)).toMatchObject({ queued: 1, submitting: 0, running: 0 })
})

test('a database without tables is empty, and a migrated one is not', async () => {
  await using empty = await createEmptyDatabase()
  expect(await isEmptyDatabase(empty.postgres)).toBe(true)
  expect(await isEmptyDatabase(database.postgres)).toBe(false)
})

test('the server has a version and a time, and collects statistics', async () => {
  const { postgres } = database
  const { major, now } = await readServer(postgres)
  expect(major).toBeGreaterThanOrEqual(15)
  expect(now).toBeInstanceOf(Date)
  await collectStatistics(postgres)
  const { rows } = await postgres.query<{ rows: number }>(
    `select reltuples as rows from pg_class where oid = 'accounts'::regclass`,
  )
  expect(rows[0]?.rows).toBeGreaterThan(0)
})
