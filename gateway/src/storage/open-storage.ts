import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'

import { createDiskMediaStore } from './disk-media-store.ts'
import type { MediaStore } from './media-store.ts'
import { createSpool, type Spool } from './spool.ts'

export interface StorageSettings {
  MEDIA_DIRECTORY: string
}

export interface Storage {
  mediaStore: MediaStore
  spool: Spool
}

/** The media store of the configuration, and a spool. Directories are made when something is written. */
export const createStorage = ({ MEDIA_DIRECTORY: directory }: StorageSettings): Storage => {
  // In the same file system as the files, so that they can be renamed.
  const spool = createSpool(join(directory, 'spool'))
  return { spool, mediaStore: createDiskMediaStore(directory, spool) }
}

/** Makes the directory of the spool too, for uploads. */
export const openStorage = async (settings: StorageSettings): Promise<Storage> => {
  const storage = createStorage(settings)
  await mkdir(storage.spool.directory, { recursive: true, mode: 0o700 })
  return storage
}
