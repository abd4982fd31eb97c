import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'

import { createDiskMediaStore } from './disk-media-store.ts'
import type { MediaStore } from './port/media-store.ts'
import { createSpool, type Spool } from './port/spool.ts'
import type { Bucket } from './s3/bucket-url.ts'
import { createS3MediaStore } from './s3/s3-media-store.ts'

export interface StorageSettings {
  MEDIA_DIRECTORY: string
  /** Undefined if media is stored in the directory. */
  MEDIA_STORE?: Bucket | undefined
}

export interface Storage {
  mediaStore: MediaStore
  spool: Spool
}

/** The media store of the configuration, and a spool. Directories are made when something is written. */
export const createStorage = async ({
  MEDIA_DIRECTORY: directory,
  MEDIA_STORE: bucket,
}: StorageSettings): Promise<Storage> => {
  // In the file system of the media, so that files can be renamed.
  const spool = createSpool(join(directory, 'spool'))
  if (bucket === undefined) return { spool, mediaStore: createDiskMediaStore(directory, spool) }
  const { assertUsable, ...mediaStore } = await createS3MediaStore(bucket, spool)
  await assertUsable()
  return { spool, mediaStore }
}

/** Makes the directory of the spool too, for uploads. */
export const openStorage = async (settings: StorageSettings): Promise<Storage> => {
  const storage = await createStorage(settings)
  await mkdir(storage.spool.directory, { recursive: true, mode: 0o700 })
  return storage
}
