/** Checks a media store by using it: writes, reads, lists and deletes objects in a folder of its own. */
import { randomBytes, randomUUID } from 'node:crypto'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'

import { createDiskMediaStore } from './disk-media-store.ts'
import type { MediaStore } from './port/media-store.ts'
import { createSpool } from './port/spool.ts'
import { assertSame, StoreProblem, type Explanation } from './port/store-problem.ts'
import type { StorePlace } from './s3/bucket-url.ts'
import { checkBucket } from './s3/check-bucket.ts'
import { assertClock, fetchPresigned } from './s3/check-presigned.ts'
import { explainS3Error } from './s3/explain-error.ts'
import { createS3MediaStore } from './s3/s3-media-store.ts'

export interface StoreCheck {
  name: string
  /** Undefined if it works. */
  problem: Explanation | undefined
  /** Something that works but keeps content after its deletion. */
  warning?: Explanation | undefined
  detail: string
}

const folder = 'check'
const sizeBytes = 65_536
/** More than one part of an upload. */
const largeBytes = 9 * 1_048_576

const diskFixes: Partial<Record<string, string>> = {
  ENOSPC: 'the disk is full: delete files, enlarge it, or lower MEDIA_RETENTION_DAYS',
  EDQUOT: 'the quota of the disk is used up: delete files, or raise it',
  EACCES: 'give the directory to the user of the roles (chown)',
  EPERM: 'give the directory to the user of the roles (chown)',
  EROFS: 'mount the file system for writing',
  ENOENT: 'create the directory, writable for the user of the roles, or correct the setting',
  ENOTDIR: 'correct the setting: a part of the path is a file',
}

const explainDiskError = (error: unknown): Explanation => {
  const { code = '', message } = error as NodeJS.ErrnoException
  return { cause: message, fix: diskFixes[code] ?? 'check the disk and the log of the system' }
}

const bytesOf = async (stream: Readable) => Buffer.concat(await stream.toArray())

interface Step {
  name: string
  /** The permission that S3 asks for. */
  action: string
  detail: string
  run: () => Promise<void>
  /** Whether the next steps need it. */
  isRequired?: true
}

const createSteps = (store: MediaStore): Step[] => {
  const [key, largeKey] = [`${folder}/${randomUUID()}`, `${folder}/${randomUUID()}`]
  const bytes = randomBytes(sizeBytes)
  let serverDate: string | null = null
  const { presign } = store
  return [
    {
      ...{ name: 'write', action: 's3:PutObject', detail: `${sizeBytes} bytes`, isRequired: true },
      run: async () => {
        await store.put(key, Readable.from([bytes]), { sizeBytesMax: sizeBytes })
      },
    },
    {
      ...{ name: 'read', action: 's3:GetObject', detail: 'the same bytes' },
      run: async () => assertSame(await bytesOf(await store.open(key)), bytes, 'a read'),
    },
    {
      ...{ name: 'range', action: 's3:GetObject', detail: 'a part of them' },
      run: async () => {
        const range = { start: 1_000, end: 1_999 }
        assertSame(await bytesOf(await store.open(key, { range })), bytes.subarray(1_000, 2_000), 'a range')
      },
    },
    {
      ...{ name: 'list', action: 's3:ListBucket', detail: 'the written object' },
      run: async () => {
        for await (const each of store.list(folder)) if (each.key === key) return
        throw new StoreProblem(
          'the list does not contain an object that was written before',
          'use a store that lists objects at once',
        )
      },
    },
    ...(presign === undefined
      ? []
      : [
          {
            ...{ name: 'presigned URL', action: 's3:GetObject', detail: 'the same bytes, with our headers' },
            run: async () => {
              serverDate = await fetchPresigned((options) => presign(key, options), bytes)
            },
          },
          {
            ...{ name: 'clock', action: 's3:GetObject', detail: 'the same as that of this machine' },
            run: async () => assertClock(serverDate),
          },
          {
            ...{ name: 'multipart', action: 's3:PutObject', detail: `${largeBytes} bytes in two parts` },
            run: async () => {
              const large = Buffer.alloc(largeBytes, 'kinora')
              await store.put(largeKey, Readable.from([large]), { sizeBytesMax: largeBytes })
              assertSame(await bytesOf(await store.open(largeKey)), large, 'a read')
            },
          },
        ]),
    {
      ...{ name: 'delete', action: 's3:DeleteObject', detail: 'everything that this check wrote' },
      run: async () => {
        await store.remove(key)
        await store.remove(largeKey)
        if ((await store.find(key)) !== undefined) {
          throw new StoreProblem('a deleted object still exists', 'use a store that deletes objects at once')
        }
      },
    },
  ]
}

const explain = (place: StorePlace, error: unknown, action: string): Explanation => {
  if (error instanceof StoreProblem) return error.explanation
  return typeof place === 'string' ? explainDiskError(error) : explainS3Error(place, error, action)
}

const runSteps = async (place: StorePlace, store: MediaStore): Promise<StoreCheck[]> => {
  const checks: StoreCheck[] = []
  for (const { name, action, detail, run, isRequired } of createSteps(store)) {
    try {
      await run()
      checks.push({ name, detail, problem: undefined })
    } catch (error) {
      checks.push({ name, detail, problem: explain(place, error, action) })
      if (isRequired === true) break
    }
  }
  return checks
}

/** Uses a directory without leaving anything in it, because another user than that of the roles may run the check. */
const checkDirectory = async (directory: string): Promise<StoreCheck[]> => {
  try {
    if (!(await stat(directory)).isDirectory()) throw new StoreProblem('it is a file', 'correct the setting')
  } catch (error) {
    return [{ name: 'directory', detail: directory, problem: explain(directory, error, '') }]
  }
  const spool = createSpool(join(directory, folder, 'spool'))
  try {
    return await runSteps(directory, createDiskMediaStore(directory, spool))
  } finally {
    await rm(join(directory, folder), { recursive: true, force: true }).catch(() => undefined)
  }
}

export const checkStore = async (place: StorePlace): Promise<StoreCheck[]> => {
  if (typeof place === 'string') return checkDirectory(place)
  try {
    const checks = await runSteps(place, await createS3MediaStore(place, createSpool('')))
    const isWritable = checks.every(({ name, problem }) => name !== 'write' || problem === undefined)
    if (!isWritable) return checks
    return [...checks, ...(await checkBucket(place)).map((setting) => ({ ...setting, problem: undefined }))]
  } catch (error) {
    return [{ name: 'S3', detail: place.name, problem: explain(place, error, '') }]
  }
}
