/** Compares the media files with the database: every file that it refers to must exist with the recorded content. */
import pLimit from 'p-limit'

import type { Database } from '../platform/postgres.ts'
import { MediaNotFound, type MediaStore } from '../storage/port/media-store.ts'
import { referencedFiles, type ReferencedFile } from './backup-store.ts'
import { hashStream } from './hash-stream.ts'

const filesAtOnce = 4

export interface MediaAudit {
  files: number
  sizeBytes: number
  /** Storage keys of files that do not exist, without those that have expired. */
  missing: string[]
  /** Storage keys of files with another size or hash than recorded. */
  damaged: string[]
  /** The number of files that do not exist and have expired. */
  expired: number
}

export const auditMedia = async (
  database: Database,
  mediaStore: MediaStore,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (audit: MediaAudit) => void },
): Promise<MediaAudit> => {
  const limited = pLimit(filesAtOnce)
  const audit: MediaAudit = { files: 0, sizeBytes: 0, missing: [], damaged: [], expired: 0 }
  const check = async ({ storageKey, sizeBytes, sha256 }: ReferencedFile) => {
    const found = await mediaStore.find(storageKey, { signal })
    if (found === undefined) throw new MediaNotFound(storageKey)
    const isIntact =
      (sizeBytes === null || sizeBytes === found.sizeBytes) &&
      (sha256 === null || sha256 === (await hashStream(await mediaStore.open(storageKey, { signal }))))
    audit.files += 1
    audit.sizeBytes += found.sizeBytes
    if (!isIntact) audit.damaged.push(storageKey)
    onProgress(audit)
  }
  const checkOrCount = async (file: ReferencedFile) => {
    if (signal.aborted) return
    try {
      await check(file)
    } catch (error) {
      if (!(error instanceof MediaNotFound)) throw error
      if (file.isExpired) audit.expired += 1
      else audit.missing.push(file.storageKey)
    }
  }
  for await (const page of referencedFiles(database)) {
    await Promise.all(page.map((file) => limited(() => checkOrCount(file))))
    signal.throwIfAborted()
  }
  return audit
}
