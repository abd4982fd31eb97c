/** The manifest of an archive, with the hashes of its files. Members have snake case like all JSON that Kinora writes for others. */
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { join } from 'node:path'

export interface ArchivedFile {
  table: string
  file: string
  rows: number
  size_bytes: number
  /** Of the compressed file. */
  sha256: string
  /** Of its content. */
  content_sha256: string
}

export interface ArchiveManifest {
  layout: 1
  kinora_version: string
  /** Everything of earlier days is in this archive or in one before it. */
  before: string
  exported_at: string
  files: ArchivedFile[]
}

/** Writes the manifest; returns its SHA-256. */
export const writeManifest = async (directory: string, manifest: ArchiveManifest): Promise<string> => {
  const text = `${JSON.stringify(manifest, undefined, 2)}\n`
  const file = await open(join(directory, 'manifest.json'), 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  return createHash('sha256').update(text).digest('hex')
}
