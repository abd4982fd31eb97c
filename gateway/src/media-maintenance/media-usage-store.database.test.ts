import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'

import { expect, test } from 'vitest'

import { createDatabase } from '../../test/kit/database.ts'
import { daysAgo, recordingAt } from '../../test/kit/expired.ts'
import { createAccount, createKey } from '../../test/kit/factories.ts'
import { uuidV7 } from '../platform/ids/uuid.ts'
import { createStores } from '../storage/open-storage.ts'
import { insertStoredFiles } from '../storage/stored-file-store.ts'
import { measureUsage } from './measure-usage.ts'

test('usage is counted by account, kind and age, and compared with the list of the store', async () => {
  await using database = await createDatabase()
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-usage-'))
  const { postgres } = database
  const stores = await createStores({ MEDIA_DIRECTORY: directory.path })
  const [accountId, otherId] = [await createAccount(postgres), await createAccount(postgres)]
  const { id: keyId } = await createKey(postgres, accountId)
  const store = async (
    owner: string,
    kind: 'video' | 'clip',
    folder: string,
    { sizeBytes, days }: { sizeBytes: number; days: number },
  ) => {
    const id = uuidV7()
    const storageKey = `${folder}/${id}`
    const stored = await stores.current.put(storageKey, Readable.from([Buffer.alloc(sizeBytes)]), {
      sizeBytesMax: sizeBytes,
    })
    await insertStoredFiles(postgres, [
      {
        ...{ id, accountId: owner, taskId: id, kind, storageKey, ...stored, expiresAt: null },
        ...{ contentType: 'video/mp4', width: null, height: null, durationMs: null },
      },
    ])
    await postgres.query('update media set created_at = $2 where id = $1', [id, daysAgo(days)])
    return id
  }
  await store(accountId, 'video', 'videos', { sizeBytes: 100, days: 0 })
  await store(accountId, 'video', 'videos', { sizeBytes: 20, days: 0 })
  await store(accountId, 'video', 'videos', { sizeBytes: 3, days: 6.9 })
  await store(otherId, 'clip', 'characters', { sizeBytes: 7, days: 31 })
  const removed = await store(otherId, 'video', 'videos', { sizeBytes: 9, days: 8 })
  await postgres.query('update media set removed_at = now() where id = $1', [removed])
  const { recordingKey } = await recordingAt(postgres, { accountId, keyId }, daysAgo(8))
  await stores.current.put(recordingKey, Readable.from([Buffer.alloc(50)]), { sizeBytesMax: 50 })

  const { rows, folders } = await measureUsage(postgres, stores, {
    signal: new AbortController().signal,
    onProgress: () => undefined,
  })
  const own = { accountId, accountName: `account ${accountId}` }
  expect(rows).toHaveLength(4)
  expect(rows).toEqual(
    expect.arrayContaining([
      { ...own, kind: 'video', age: 'under 1 day', objects: 2, sizeBytes: 120 },
      { ...own, kind: 'video', age: '1 to 7 days', objects: 1, sizeBytes: 3 },
      { ...own, kind: 'recording', age: '7 to 30 days', objects: 1, sizeBytes: 0 },
      {
        ...{ accountId: otherId, accountName: `account ${otherId}` },
        ...{ kind: 'clip', age: 'over 30 days', objects: 1, sizeBytes: 7 },
      },
    ]),
  )
  const none = { objects: 0, sizeBytes: 0 }
  const usageOf = (folder: string) => folders.find((each) => each.folder === folder)
  // The store still has the file of a row that is marked as removed.
  expect(usageOf('videos')).toMatchObject({
    recorded: { objects: 3, sizeBytes: 123 },
    listed: { objects: 4, sizeBytes: 132 },
  })
  expect(usageOf('recordings')).toMatchObject({
    recorded: { objects: 1, sizeBytes: 0 },
    listed: { objects: 1, sizeBytes: 50 },
  })
  expect(usageOf('voices')).toMatchObject({ recorded: none, listed: none })
})
