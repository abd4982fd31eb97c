/** Compares the media files with the database: every file that it refers to must exist with the recorded content. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'

import pLimit from 'p-limit'

import type { Database } from '../platform/postgres.ts'
import { referencedFiles, type ReferencedFile } from './backup-store.ts'
import { ifExists } from './copy-media.ts'
import { hashFile } from './hash-file.ts'

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
  mediaDirectory: string,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (audit: MediaAudit) => void },
): Promise<MediaAudit> => {
  const limited = pLimit(filesAtOnce)
  const audit: MediaAudit = { files: 0, sizeBytes: 0, missing: [], damaged: [], expired: 0 }
  const check = async ({ storageKey, sizeBytes, sha256, isExpired }: ReferencedFile) => {
    if (signal.aborted) return
    const path = join(mediaDirectory, storageKey)
    const found = await ifExists(stat(path))
    if (found === undefined) {
      if (isExpired) audit.expired += 1
      else audit.missing.push(storageKey)
      return
    }
    audit.files += 1
    audit.sizeBytes += found.size
    const isIntact =
      (sizeBytes === null || sizeBytes === found.size) &&
      (sha256 === null || sha256 === (await hashFile(path)))
    if (!isIntact) audit.damaged.push(storageKey)
    onProgress(audit)
  }
  for await (const page of referencedFiles(database)) {
    await Promise.all(page.map((file) => limited(() => check(file))))
    signal.throwIfAborted()
  }
  return audit
}
