/**
 * Folders for the files of one request. The provider has them in a directory of its own, which its start empties: a process
 * that was killed has left its folders behind.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

export interface WorkSettings {
  /** Where the folders are; in that of the system for temporary files by default. */
  workDirectory?: string
}

export const makeWorkFolder = ({ workDirectory = tmpdir() }: WorkSettings, name: string): Promise<string> =>
  mkdtemp(path.join(workDirectory, `kinora-${name}-`))

/** Creates the directory, or removes what is in it. No other process may use it. */
export async function emptyWorkDirectory(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true })
  await mkdir(directory, { recursive: true, mode: 0o700 })
}
