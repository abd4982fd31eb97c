import { execFile } from 'node:child_process'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect, inject, test } from 'vitest'

import { openStorage } from '../../gateway/src/storage/open-storage.ts'
import { createDatabase } from '../../gateway/test/kit/database.ts'
import { acceptedAt } from '../../gateway/test/kit/expired.ts'
import { completeTask, createAccount, createKey } from '../../gateway/test/kit/factories.ts'
import { testEnvironment } from '../../gateway/test/kit/start-gateway.ts'

const run = promisify(execFile)

test('storage check, usage and orphans print what they find', async () => {
  await using database = await createDatabase()
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-storage-'))
  const accountId = await createAccount(database.postgres)
  const { id: keyId } = await createKey(database.postgres, accountId)
  const { id } = await acceptedAt(database.postgres, { accountId, keyId }, new Date())
  const { mediaStore } = await openStorage({ MEDIA_DIRECTORY: join(directory.path, 'media') })
  await completeTask({ database, mediaStore }, accountId, id, { bytes: Buffer.alloc(2_048) })
  const env = { PATH: process.env['PATH'], ...testEnvironment(database.url, directory.path) }
  const kinora = async (...parameters: string[]) =>
    (await run(process.execPath, [inject('command'), 'storage', ...parameters], { env })).stdout.trimEnd()

  expect((await kinora('check')).split('\n')).toEqual([
    `MEDIA_DIRECTORY: ${join(directory.path, 'media')}`,
    ...['write', 'read', 'range', 'list', 'delete'].map((name) =>
      expect.stringMatching(new RegExp(`^✓ ${name} `)),
    ),
  ])
  const usage = (await kinora('usage')).split('\n')
  expect(usage).toContainEqual(expect.stringMatching(/^videos +1 +2\.0 KiB +1 +2\.0 KiB$/))
  expect(usage).toContainEqual(expect.stringMatching(/^under 1 day +1 +2\.0 KiB$/))
  expect(usage).toContainEqual(expect.stringMatching(new RegExp(`^${accountId} account .* 1  2\\.0 KiB$`)))
  expect(JSON.parse(await kinora('orphans', '--json'))).toEqual({
    ...{ orphans: [], known: 0, young: 1, missing: [], deleted: 0, is_foreign: false, is_whole: true },
  })
})
