/** The media of a gateway under test, whatever its store. */
import { readdir } from 'node:fs/promises'
import { Readable } from 'node:stream'

import type { Storage } from '../../src/storage/open-storage.ts'
import type { MediaStore } from '../../src/storage/port/media-store.ts'

const folders = ['videos', 'variants', 'references', 'characters', 'recordings', 'voices']

/** The keys in all folders, or in one, in order. */
export const listKeys = async (mediaStore: MediaStore, folder?: string): Promise<string[]> => {
  const keys: string[] = []
  for (const each of folder === undefined ? folders : [folder]) {
    for await (const { key } of mediaStore.list(each)) keys.push(key)
  }
  return keys.toSorted()
}

/** Everything that a request may leave: the keys of objects, and the names of files in the spool. */
export const listFiles = async ({
  mediaStore,
  spool,
}: Pick<Storage, 'mediaStore' | 'spool'>): Promise<string[]> => [
  ...(await listKeys(mediaStore)),
  ...(await readdir(spool.directory)).toSorted(),
]

export const putBytes = async (
  mediaStore: MediaStore,
  key: string,
  bytes: Buffer | string,
): Promise<{ sizeBytes: number; sha256: string }> =>
  mediaStore.put(key, Readable.from([Buffer.from(bytes)]), { sizeBytesMax: Infinity })

export const isStored = async (mediaStore: MediaStore, key: string): Promise<boolean> =>
  (await mediaStore.find(key)) !== undefined
