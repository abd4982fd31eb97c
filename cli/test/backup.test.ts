import { execFile } from 'node:child_process'
import {
  cp,
  mkdir,
  mkdtempDisposable,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { findProgram } from '../../gateway/src/backup/postgres-programs.ts'
import { takeBackup } from '../../gateway/src/backup/take-backup.ts'
import { createErasureList } from '../../gateway/src/erasure/erasure-list.ts'
import { Secret } from '../../gateway/src/platform/secret.ts'
import { openStorage, type Storage } from '../../gateway/src/storage/open-storage.ts'
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../../gateway/test/kit/database.ts'
import { acceptedAt, daysAgo, exists, recordingAt } from '../../gateway/test/kit/expired.ts'
import { completeTask, createAccount, createKey } from '../../gateway/test/kit/factories.ts'
import { recordOf, testEnvironment } from '../../gateway/test/kit/start-gateway.ts'

const run = promisify(execFile)
const program = inject('command')

type Failure = { code: number; stdout: string; stderr: string }

const kinora = async (parameters: string[], environment: Partial<Record<string, string>>) => {
  const env = { PATH: process.env['PATH'], ...environment }
  const { stdout } = await run(process.execPath, [program, ...parameters], { env })
  return stdout
}

const failureOf = (running: Promise<unknown>): Promise<Failure> =>
  running.then(
    () => {
      throw new Error('the command succeeded')
    },
    (error: unknown) => error as Failure,
  )

interface Instance extends AsyncDisposable, Storage {
  database: TestDatabase
  directory: string
  environment: Partial<Record<string, string>>
  /** Adds a completed task with a file. */
  complete: (expiresAt?: Date) => Promise<string>
  owner: { accountId: string; keyId: string }
}

const createInstance = async (): Promise<Instance> => {
  const database = await createDatabase()
  const directory = await mkdtempDisposable(join(tmpdir(), 'kinora-backup-'))
  const accountId = await createAccount(database.postgres)
  const { id: keyId } = await createKey(database.postgres, accountId)
  const owner = { accountId, keyId }
  const storage = await openStorage({ MEDIA_DIRECTORY: join(directory.path, 'media') })
  return {
    database,
    ...storage,
    owner,
    directory: directory.path,
    environment: testEnvironment(database.url, directory.path),
    complete: async (expiresAt) => {
      const { id } = await acceptedAt(database.postgres, owner, daysAgo(1))
      const { storageKey } = await completeTask({ database, ...storage }, accountId, id, {
        ...(expiresAt !== undefined && { expiresAt }),
      })
      return storageKey
    },
    [Symbol.asyncDispose]: async () => {
      await database[Symbol.asyncDispose]()
      await directory.remove()
    },
  }
}

/** An empty database and an empty media directory. */
const createTarget = async () => {
  const database = await createEmptyDatabase()
  const directory = await mkdtempDisposable(join(tmpdir(), 'kinora-restore-'))
  return {
    database,
    directory: directory.path,
    environment: testEnvironment(database.url, directory.path),
    [Symbol.asyncDispose]: async () => {
      await database[Symbol.asyncDispose]()
      await directory.remove()
    },
  }
}

const backUp = async (instance: Instance): Promise<{ path: string; stdout: string }> => {
  const parent = join(instance.directory, 'backups')
  const stdout = await kinora(['backup', parent], instance.environment)
  const path = /^(.*) \([\d.]+ s\)$/m.exec(stdout)?.[1] ?? ''
  return { path, stdout }
}

const tablesIn = async ({ postgres }: TestDatabase) => {
  const { rows } = await postgres.query(`select from information_schema.tables where table_schema = 'public'`)
  return rows.length
}

test('a restored backup has the same records and files, and the audits of ledger and media are clean', async () => {
  await using instance = await createInstance()
  await using target = await createTarget()
  const { postgres } = instance.database
  await instance.complete()
  await acceptedAt(postgres, instance.owner, new Date())
  const { recordingKey } = await recordingAt(postgres, instance.owner, new Date())
  const recording = join(instance.directory, 'media', recordingKey)
  await mkdir(join(recording, '..'), { recursive: true })
  await writeFile(recording, 'a recording')
  // A file without a row is not part of the backup.
  await mkdir(join(instance.directory, 'media', 'voices'))
  await writeFile(join(instance.directory, 'media', 'voices', 'sample'), 'a sample')

  const { path, stdout } = await backUp(instance)
  expect(stdout).toMatch(/^database: [\d.]+ KiB, 1 accounts, 3 tasks \(2 open\), 8 ledger entries$/m)
  expect(stdout).toMatch(/^media: 2 files, 1011 bytes; copied: 2 files, 1011 bytes$/m)
  await rm(join(instance.directory, 'media', 'voices'), { recursive: true })

  const { snapshot_at: at } = JSON.parse(await readFile(join(path, 'manifest.json'), 'utf8')) as {
    snapshot_at: string
  }
  const restored = await kinora(['restore', path], target.environment)
  expect(restored).toMatch(/^ledger: consistent \(\d+ invariants, \d+ ms\)$/m)
  expect(restored).toMatch(/^media: 2 files with the recorded content, 1011 bytes$/m)
  expect(restored).toMatch(/^open tasks: 2\. Workers continue them/m)
  expect(restored).toContain(`Everything after ${at} is not in this backup`)
  const storage = await openStorage({ MEDIA_DIRECTORY: join(target.directory, 'media') })
  expect(await recordOf({ ...target, ...storage })).toEqual(await recordOf(instance))
})

test('a repeated backup copies only new files, and shares the others with the backup before it', async () => {
  await using instance = await createInstance()
  const old = await instance.complete()
  const first = await backUp(instance)
  // The name of a backup has the second in which it was made.
  const renamed = join(first.path, '..', '2000-01-01T00-00-00Z')
  await rename(first.path, renamed)
  const added = await instance.complete()
  const second = await backUp(instance)
  expect(second.stdout).toMatch(/^media: 2 files, 2\.0 KiB; copied: 1 files, 1000 bytes$/m)
  const [one, other] = [await stat(join(renamed, 'media', old)), await stat(join(second.path, 'media', old))]
  expect(other.ino).toBe(one.ino)
  // Each backup is complete without the other.
  await rm(renamed, { recursive: true })
  expect(await exists(join(second.path, 'media', old))).toBe(true)
  expect(await exists(join(second.path, 'media', added))).toBe(true)
})

test('an interrupted backup is named, and the next one does not copy its files again', async () => {
  await using instance = await createInstance()
  await instance.complete()
  const { path } = await backUp(instance)
  const interrupted = join(path, '..', '2000-01-01T00-00-00Z')
  await rm(join(path, 'manifest.json'))
  await rename(join(path, 'media'), join(path, 'early'))
  await rename(path, interrupted)
  const { stdout } = await backUp(instance)
  expect(stdout).toContain('media: 1 files, 1000 bytes; copied: 0 files, 0 bytes\n')
  expect(stdout).toContain(`incomplete: ${interrupted}; delete it, unless another backup is running\n`)
})

test('a file that is deleted while the backup is made is in it', async () => {
  await using instance = await createInstance()
  const keys = [await instance.complete(), await instance.complete()]
  let deleted: Promise<unknown> | undefined
  const secret = [new Secret('a secret of a test')]
  const { path, manifest } = await takeBackup(
    {
      postgres: instance.database.postgres,
      databaseUrl: instance.database.url,
      mediaStore: instance.mediaStore,
      secrets: {
        ...{ KEY_HASH_SECRETS: secret, LINK_SECRETS: secret },
        ...{ CREDENTIAL_SECRETS: secret, AUDIT_SECRETS: secret },
      },
      environment: { PATH: process.env['PATH'] },
      signal: new AbortController().signal,
      onProgress: (text) => {
        if (text === 'Copying media: 2 of 2 files')
          deleted = rm(join(instance.directory, 'media'), { recursive: true })
      },
    },
    join(instance.directory, 'backups'),
    '0.0.0',
  )
  await deleted
  expect(manifest.media).toEqual({ files: 2, size_bytes: 2_000, missing: [] })
  for (const key of keys) expect(await exists(join(path, 'media', key))).toBe(true)
  expect((await readdir(path)).toSorted()).toEqual(['database.dump', 'manifest.json', 'media'])
})

test('missing files are reported: expired ones are harmless, others exit with 1, in the backup and in the restore', async () => {
  await using instance = await createInstance()
  await using target = await createTarget()
  const expired = await instance.complete(daysAgo(1))
  await rm(join(instance.directory, 'media', expired))
  await instance.complete()
  const { stdout } = await backUp(instance)
  expect(stdout).toContain('not copied: 1 files that have expired')

  const lost = await instance.complete()
  await rm(join(instance.directory, 'media', lost))
  await rm(join(instance.directory, 'backups'), { recursive: true })
  const failed = await failureOf(backUp(instance))
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining(lost) as string })
  expect(failed.stderr).toContain('1 files that the database needs are not in MEDIA_DIRECTORY')

  const names = await readdir(join(instance.directory, 'backups'))
  const name = names.find((each) => each !== 'erasures') ?? ''
  const path = join(instance.directory, 'backups', name)
  const restore = await failureOf(kinora(['restore', path], target.environment))
  expect(restore.code).toBe(1)
  expect(restore.stdout).toContain('  missing: 1 files that have expired\n')
  expect(restore.stdout).toContain(`  MISSING: 1 files\n  ${lost}\n`)
})

test('a restored file whose content changed in the backup is reported as damaged', async () => {
  await using instance = await createInstance()
  await using target = await createTarget()
  const key = await instance.complete()
  const { path } = await backUp(instance)
  await writeFile(join(path, 'media', key), Buffer.alloc(1_000))
  const restore = await failureOf(kinora(['restore', path], target.environment))
  expect(restore).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(`  DAMAGED: 1 files\n  ${key}\n`) as string,
  })
})

test('a restore repeats the erasures that the backup does not know, and is refused without their list', async () => {
  await using instance = await createInstance()
  await using target = await createTarget()
  const { postgres } = instance.database
  const erased = await instance.complete()
  await acceptedAt(postgres, instance.owner, new Date())
  const other = await createAccount(postgres)
  const { path } = await backUp(instance)

  const { accountId } = instance.owner
  const list = createErasureList(instance.erasureStore)
  await list.add({ accountId, requestedAt: new Date(), operatorKeyId: null })
  const environment = { ...target.environment, ERASURE_LIST: join(instance.directory, 'media') }
  const lists = join(path, '..', 'erasures')
  await rename(lists, `${lists}-elsewhere`)
  const failed = await failureOf(kinora(['restore', path], target.environment))
  expect(failed.stderr).toMatch(/^There is no erasure list, .* add --without-erasures\.\n$/)
  expect(await tablesIn(target.database)).toBe(0)

  const restored = await kinora(['restore', path], environment)
  expect(restored).toContain('erasures: repeated 1 of accounts that were erased after the snapshot\n')
  expect(restored).toMatch(/^ledger: consistent/m)
  expect(restored).toMatch(/^media: 0 files/m)
  expect(await exists(join(target.directory, 'media', erased))).toBe(false)
  const query = async (text: string) => (await target.database.postgres.query(text)).rows
  expect(await query('select id, name from accounts order by name')).toEqual([
    { id: accountId, name: '' },
    { id: other, name: expect.stringContaining(other) as string },
  ])
  expect(await query('select from keys where deleted_at is null')).toEqual([])
  expect(await query('select from video_tasks')).toEqual([])
  expect(await query('select from balances where held_micros <> 0')).toEqual([])
})

test('a backup of an older version is migrated', async () => {
  await using instance = await createInstance()
  await using target = await createTarget()
  await instance.database.postgres.query('drop function ensure_partitions')
  await instance.database.postgres.query(`delete from migrations where name = '0002-partitions.sql'`)
  const { path } = await backUp(instance)
  expect(await kinora(['restore', path], target.environment)).toContain(
    'migrations: applied 0002-partitions.sql\n',
  )
})

test('a restore without a secret that was in use names the setting and its effect', async () => {
  await using instance = await createInstance()
  await using target = await createTarget()
  const { path } = await backUp(instance)
  const environment = { ...target.environment, KEY_HASH_SECRETS: 'another secret for hashing keys in tests' }
  const restore = await failureOf(kinora(['restore', path], environment))
  expect(restore.code).toBe(1)
  expect(restore.stdout).toContain(
    'KEY_HASH_SECRETS: LACKS a secret that was in use at the snapshot. Add it, or API keys that were created under it do not work.\n',
  )
})

describe('a restore writes nothing and explains why', () => {
  let instance: Instance
  let made: string
  beforeAll(async () => {
    instance = await createInstance()
    await instance.complete()
    made = (await backUp(instance)).path
  })
  afterAll(() => instance[Symbol.asyncDispose]())

  const changeManifest = async (path: string, change: (manifest: Record<string, unknown>) => void) => {
    const file = join(path, 'manifest.json')
    const manifest = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>
    change(manifest)
    await writeFile(file, JSON.stringify(manifest))
  }

  test.each<[string, (path: string) => Promise<unknown>, RegExp]>([
    [
      'the manifest is missing',
      (path) => rm(join(path, 'manifest.json')),
      /is not a complete backup: it has no manifest\./,
    ],
    [
      'the manifest is damaged',
      (path) => truncate(join(path, 'manifest.json'), 100),
      /manifest\.json is damaged: it is not JSON\. Use another backup\./,
    ],
    [
      'the dump is truncated',
      (path) => truncate(join(path, 'database.dump'), 1_000),
      /database\.dump has 1000 bytes instead of \d+\. Copy the backup again, or use another one\./,
    ],
    [
      'a byte of the dump has changed',
      async (path) => {
        const bytes = await readFile(join(path, 'database.dump'))
        bytes[bytes.length - 100]! ^= 1
        await writeFile(join(path, 'database.dump'), bytes)
      },
      /database\.dump is damaged: its SHA-256 differs from the manifest\./,
    ],
    [
      'media is missing in the backup',
      (path) => rm(join(path, 'media'), { recursive: true }),
      /media has 0 files with 0 bytes instead of 1 with 1000\./,
    ],
    [
      'the backup has migrations that the program does not have',
      (path) =>
        changeManifest(path, (manifest) => {
          manifest['kinora_version'] = '9.9.9'
          ;(manifest['migrations'] as string[]).push('9999-from-the-future.sql')
        }),
      /is newer than this program: it was made by Kinora 9\.9\.9 and has the migration 9999-from-the-future\.sql\./,
    ],
    [
      'the backup has a newer layout',
      (path) => changeManifest(path, (manifest) => (manifest['layout'] = 2)),
      /was made by a newer version of Kinora \([\d.]+\)\. Restore it with that version\./,
    ],
    [
      'the backup is of a newer PostgreSQL',
      (path) =>
        changeManifest(path, (manifest) => {
          ;(manifest['database'] as Record<string, number>)['server_major'] = 99
        }),
      /The backup is of PostgreSQL 99, and this server is version \d+\./,
    ],
  ])('if %s', async (_what, damage, message) => {
    await using target = await createTarget()
    const path = join(target.directory, 'backup')
    await cp(made, path, { recursive: true })
    await damage(path)
    const failed = await failureOf(kinora(['restore', path], target.environment))
    expect(failed).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(message) as string })
    expect(await tablesIn(target.database)).toBe(0)
    expect(await exists(join(target.directory, 'media'))).toBe(false)
  })

  test('if the database is not empty', async () => {
    const before = await recordOf(instance)
    const failed = await failureOf(kinora(['restore', made], instance.environment))
    const name = basename(new URL(instance.database.url).pathname)
    expect(failed).toMatchObject({
      code: 1,
      stderr: `The database ${name} is not empty. A restore never changes existing data. Create an empty database, such as with \`createdb ${name}_restored\`, and set DATABASE_URL to it.\n`,
    })
    expect(await recordOf(instance)).toEqual(before)
  })

  test('if the directory contains backups and is none', async () => {
    await using target = await createTarget()
    const failed = await failureOf(kinora(['restore', join(made, '..')], target.environment))
    expect(failed.stderr).toContain(`contains 1 complete backup. Name one of them; the newest is ${made}.`)
  })
})

test('a backup of a database that was never migrated is refused', async () => {
  await using target = await createTarget()
  const failed = await failureOf(kinora(['backup', target.directory], target.environment))
  expect(failed.stderr).toBe(
    'DATABASE_URL is not a database of Kinora: it has no migrations. Correct DATABASE_URL.\n',
  )
})

test('a program of PostgreSQL that is too old is refused with the package to install', async () => {
  await expect(findProgram('pg_dump', 99)).rejects.toThrow(
    /^pg_dump is version \d+, but version 99 or later is needed\. Install it with `apt-get install postgresql-client-99`/,
  )
})
