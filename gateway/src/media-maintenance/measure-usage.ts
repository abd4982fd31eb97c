/** Measures the stored media: what the database knows, and what the store lists. */
import type { Database } from '../platform/postgres.ts'
import type { MediaStore } from '../storage/port/media-store.ts'
import { readMediaUsage, type MediaUsage } from './media-usage-store.ts'

/** The folder of each kind. Samples of voices and the erasure list are in no row. */
const folderOfKind: Partial<Record<string, string>> = {
  video: 'videos',
  thumbnail: 'variants',
  spritesheet: 'variants',
  reference: 'references',
  clip: 'characters',
  portrait: 'characters',
  recording: 'recordings',
}
const folders = [...new Set(Object.values(folderOfKind)), 'voices', 'erasures'].map(String)

interface Amount {
  objects: number
  sizeBytes: number
}

interface FolderUsage {
  folder: string
  /** According to the database. */
  recorded: Amount
  /** According to the list of the store. */
  listed: Amount
  /** In the other store, during a migration. */
  otherListed: Amount | undefined
}

export interface StorageUsage {
  rows: MediaUsage[]
  folders: FolderUsage[]
}

const addUp = (amounts: Amount[]): Amount => ({
  objects: amounts.reduce((sum, { objects }) => sum + objects, 0),
  sizeBytes: amounts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
})

/** Lists the stores completely. */
export const measureUsage = async (
  database: Database,
  { current, other }: { current: MediaStore; other: MediaStore | undefined },
  { signal, onProgress }: { signal: AbortSignal; onProgress: (listed: number) => void },
): Promise<StorageUsage> => {
  const rows = await readMediaUsage(database)
  let count = 0
  const list = async (mediaStore: MediaStore, folder: string): Promise<Amount> => {
    const listed = { objects: 0, sizeBytes: 0 }
    for await (const { sizeBytes } of mediaStore.list(folder)) {
      signal.throwIfAborted()
      listed.objects += 1
      listed.sizeBytes += sizeBytes
      count += 1
      onProgress(count)
    }
    return listed
  }
  const measured: FolderUsage[] = []
  for (const folder of folders) {
    const recorded = addUp(rows.filter(({ kind }) => folderOfKind[kind] === folder))
    measured.push({
      ...{ folder, recorded, listed: await list(current, folder) },
      otherListed: other && (await list(other, folder)),
    })
  }
  return { rows, folders: measured }
}
