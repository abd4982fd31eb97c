/** API and worker on machines of their own, which share PostgreSQL, Redis, Restate and a bucket, and no file. */
import { mkdtempDisposable, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { beforeAll, expect, test } from 'vitest'

import { auditMedia } from '../../src/backup/audit-media.ts'
import { takeBackup } from '../../src/backup/take-backup.ts'
import { Secret } from '../../src/platform/secret.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { parseBucketUrl } from '../../src/storage/s3/bucket-url.ts'
import { ask, askJson, pixel } from '../kit/answers.ts'
import { createBucket, useCredentials } from '../kit/buckets.ts'
import { spoken } from '../kit/recording.ts'
import { audioForm } from '../kit/sound.ts'
import { startStack, type Stack } from '../kit/stack.ts'
import { minutes } from '../kit/time-limits.ts'

beforeAll(useCredentials)

/** What a role has in the directory that is its own. */
const filesOf = async (pid: number | undefined, { directory }: Stack) => {
  const entries = await readdir(join(`/proc/${pid}/root`, directory, 'media'), {
    recursive: true,
    withFileTypes: true,
  })
  return entries.map(({ name }) => name)
}

const completed = async (stack: Stack, id: string) => {
  const read = async () => (await ask(`${stack.url}/v1/videos/${id}`, stack.key)).body
  await stack.until(`${id} has ended`, async () => (await read())['progress'] === 100)
  const body = await read()
  expect(body).toMatchObject({ status: 'completed' })
  return Buffer.from(await (await fetch(String(body['video_url']))).arrayBuffer())
}

// A start of all parts.
test(
  'uploads, results, variants, characters, recordings and backups need no shared directory',
  { timeout: minutes(5) },
  async () => {
    const { url: bucketUrl } = await createBucket()
    await using stack = await startStack({ bucketUrl })
    const { url, key } = stack

    // The worker sends the image that the API has received.
    const sourceId = await stack.create('A whale', { input_reference: pixel })
    const video = await completed(stack, sourceId)
    expect(stack.vendor.jobs()[0]).toMatchObject({ referenceBytes: pixel.size })
    const thumbnail = await fetch(`${url}/v1/videos/${sourceId}/content?variant=thumbnail`, {
      headers: { authorization: `Bearer ${key}` },
    })
    expect([thumbnail.status, thumbnail.headers.get('content-type')]).toEqual([200, 'image/jpeg'])

    const { status, body: character } = await askJson(`${url}/vidB/v1/characters`, key, {
      from_task: sourceId,
      timestamps: '0.5,1.5',
    })
    expect(status).toBe(200)
    await completed(stack, await stack.create(`@${String(character['username'])} in golden dunes`))

    // The worker cuts the recording that the API has received.
    const path = `${url}/v1/audio/transcription-tasks`
    const { body: task } = await ask(path, key, {
      method: 'POST',
      body: audioForm(spoken(500, [{ atSeconds: 200, seconds: 2 }]), { model: 'asr-1' }),
    })
    const transcript = async () => await ask(`${path}/${String(task['id'])}/transcript`, key)
    await stack.until('it is transcribed', async () => (await transcript()).status === 200)
    expect(String((await transcript()).body['text'])).toContain('vendor transcript')

    for (const role of [stack.api, ...stack.workers])
      expect(await filesOf(role.pid(), stack)).toEqual(['spool'])
    expect(await readdir(join(stack.directory, 'media'))).toEqual([])

    // From a third machine.
    await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-machines-'))
    const { mediaStore } = await openStorage({
      MEDIA_DIRECTORY: directory.path,
      MEDIA_STORE: parseBucketUrl(bucketUrl),
    })
    const common = {
      environment: { PATH: process.env['PATH'] },
      signal: AbortSignal.timeout(minutes(1)),
      onProgress: () => undefined,
    }
    const secret = [new Secret('a secret of a test')]
    const { manifest } = await takeBackup(
      {
        ...{ ...common, mediaStore, postgres: stack.database.postgres, databaseUrl: stack.database.url },
        secrets: {
          KEY_HASH_SECRETS: secret,
          LINK_SECRETS: secret,
          CREDENTIAL_SECRETS: secret,
          AUDIT_SECRETS: secret,
        },
      },
      join(directory.path, 'backups'),
      '0.0.0',
    )
    expect(manifest.media.missing).toEqual([])
    expect(manifest.media.size_bytes).toBeGreaterThan(2 * video.length)
    expect(await auditMedia(stack.database.postgres, mediaStore, common)).toMatchObject({
      missing: [],
      damaged: [],
    })
    await stack.assertLedger({ completed: 2, failed: 0, captures: 1, releases: 0 })
  },
)
