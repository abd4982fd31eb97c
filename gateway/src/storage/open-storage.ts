import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'

import { createDiskMediaStore } from './disk-media-store.ts'
import { createFallbackMediaStore } from './fallback-media-store.ts'
import { measuredMediaStore } from './measured-media-store.ts'
import type { MediaStore } from './port/media-store.ts'
import { createSpool, type Spool } from './port/spool.ts'
import type { Bucket, StorePlace } from './s3/bucket-url.ts'
import { createS3MediaStore } from './s3/s3-media-store.ts'

export interface StorageSettings {
  MEDIA_DIRECTORY: string
  /** Undefined if media is stored in the directory. */
  MEDIA_STORE?: Bucket | undefined
  /** The other store of a migration. */
  MEDIA_STORE_ALSO_READ?: StorePlace | undefined
  /** Where the erasure list is, if it is not in the media store. */
  ERASURE_LIST?: StorePlace | undefined
}

export interface Storage {
  mediaStore: MediaStore
  /** The store of the erasure list. */
  erasureStore: MediaStore
  spool: Spool
}

/** The stores of the configuration, each on its own. */
export interface Stores {
  current: MediaStore
  other: MediaStore | undefined
  /** Undefined if the erasure list is in the media store. */
  erasures: MediaStore | undefined
  spool: Spool
}

/** A store in any directory. Incomplete files are in the directory itself. */
export const createFolderStore = (directory: string): MediaStore =>
  createDiskMediaStore(directory, createSpool(directory))

/** Directories are made when something is written. */
export const createStores = async ({
  MEDIA_DIRECTORY: directory,
  MEDIA_STORE: bucket,
  MEDIA_STORE_ALSO_READ: otherPlace,
  ERASURE_LIST: erasurePlace,
}: StorageSettings): Promise<Stores> => {
  // In the file system of the media, so that files can be renamed.
  const spool = createSpool(join(directory, 'spool'))
  const createStore = async (place: StorePlace, setting: string): Promise<MediaStore> => {
    if (typeof place === 'string') return createDiskMediaStore(place, spool)
    const { assertUsable, ...mediaStore } = await createS3MediaStore(place, spool)
    await assertUsable(setting)
    return mediaStore
  }
  // A directory may be on another file system than the media.
  const openErasurePlace = (place: StorePlace) =>
    typeof place === 'string' ? createFolderStore(place) : createStore(place, 'ERASURE_LIST')
  return {
    spool,
    current: await createStore(bucket ?? directory, 'MEDIA_STORE'),
    other: otherPlace === undefined ? undefined : await createStore(otherPlace, 'MEDIA_STORE_ALSO_READ'),
    erasures: erasurePlace === undefined ? undefined : await openErasurePlace(erasurePlace),
  }
}

/** The media store of the configuration, and a spool. */
export const createStorage = async (settings: StorageSettings): Promise<Storage> => {
  const { current, other, erasures, spool } = await createStores(settings)
  const mediaStore = measuredMediaStore(
    other === undefined ? current : createFallbackMediaStore(current, other),
  )
  return { spool, mediaStore, erasureStore: erasures ?? mediaStore }
}

/** Makes the directory of the spool too, for uploads. */
export const openStorage = async (settings: StorageSettings): Promise<Storage> => {
  const storage = await createStorage(settings)
  await mkdir(storage.spool.directory, { recursive: true, mode: 0o700 })
  return storage
}
