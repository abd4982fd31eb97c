import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'

import type { Log } from '../log.ts'
import type { JobFiles, JobRecord } from './job.ts'

const recordName = 'job.json'
const resultName = 'out.mp4'
const jobPrefix = 'job-'
const incomingPrefix = 'incoming-'
const workPrefix = 'work-'

export type JobDirectory = Awaited<ReturnType<typeof openJobDirectory>>

/**
 * One folder per job. A folder gets its final name only after its record was written, so a crash leaves complete jobs
 * and incomplete uploads. The next start removes the uploads.
 */
export async function openJobDirectory(root: string, log: Log) {
  await mkdir(root, { recursive: true, mode: 0o700 })

  // Ids come from the client and may have any characters; their hash is a safe file name.
  const folderOf = (id: string) =>
    path.join(root, jobPrefix + createHash('sha256').update(id).digest('hex').slice(0, 40))

  return {
    resultPath: (id: string) => path.join(folderOf(id), resultName),

    /** The paths of a job's files. */
    filesOf(record: JobRecord): JobFiles {
      const inFolder = (fileName: string) => path.join(folderOf(record.id), fileName)
      return {
        references: record.references.map(inFolder),
        characters: record.characters.map(inFolder),
        source: record.source === undefined ? undefined : inFolder(record.source),
        soundtrack: record.soundtrack === undefined ? undefined : inFolder(record.soundtrack),
      }
    },

    /** All complete jobs, oldest first. Called once, after a start. */
    async load(): Promise<JobRecord[]> {
      const records: JobRecord[] = []
      for (const name of await readdir(root)) {
        const folder = path.join(root, name)
        if (name.startsWith(incomingPrefix)) await rm(folder, { recursive: true, force: true })
        if (!name.startsWith(jobPrefix)) continue
        try {
          const text = await readFile(path.join(folder, recordName), 'utf8')
          // Records of earlier versions have no characters and no source.
          const record = {
            characters: [],
            source: undefined,
            ...(JSON.parse(text) as object),
          } as unknown as JobRecord
          await clearLeftovers(folder)
          if (record.state === 'running') record.state = 'queued'
          records.push(record)
        } catch (error) {
          log('local.job_unreadable', { folder, err: error }, 'warn')
        }
      }
      return records.toSorted((one, other) => one.createdAt.localeCompare(other.createdAt))
    },

    /** Creates a folder for an upload. */
    async beginUpload(): Promise<string> {
      const folder = path.join(root, incomingPrefix + randomUUID())
      await mkdir(folder)
      return folder
    },

    /** Turns an upload into a job, atomically. */
    async admit(uploadFolder: string, record: JobRecord): Promise<void> {
      await writeRecord(uploadFolder, record)
      await rename(uploadFolder, folderOf(record.id))
    },

    async discardUpload(uploadFolder: string): Promise<void> {
      await rm(uploadFolder, { recursive: true, force: true })
    },

    async save(record: JobRecord): Promise<void> {
      await writeRecord(folderOf(record.id), record)
    },

    /** Creates a folder for one attempt, so that an older attempt that is still ending cannot write into a newer one. */
    async beginWork(id: string): Promise<string> {
      const folder = path.join(folderOf(id), workPrefix + randomUUID())
      await mkdir(folder)
      return folder
    },

    /** Moves a finished film to its final path and returns its size. */
    async storeResult(id: string, film: string): Promise<number> {
      await rename(film, path.join(folderOf(id), resultName))
      return (await stat(path.join(folderOf(id), resultName))).size
    },

    /** Removes the files that only the render needed. */
    async removeInputs(record: JobRecord): Promise<void> {
      await clearLeftovers(folderOf(record.id))
      const { references, characters, source } = this.filesOf(record)
      const files = [...references, ...characters, ...(source === undefined ? [] : [source])]
      for (const file of files) await rm(file, { force: true })
    },

    async remove(id: string): Promise<void> {
      await rm(folderOf(id), { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

async function clearLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const leftover = name.startsWith(workPrefix) || name.endsWith('.tmp')
    if (leftover) await rm(path.join(folder, name), { recursive: true, force: true })
  }
}

async function writeRecord(folder: string, record: JobRecord): Promise<void> {
  const temporary = path.join(folder, `${recordName}.${randomUUID()}.tmp`)
  const handle = await open(temporary, 'w')
  try {
    await handle.writeFile(JSON.stringify(record))
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(temporary, path.join(folder, recordName))
}
