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
 * One folder per job. A folder appears under its final name only with its record inside, so whatever
 * a crash leaves behind is either a whole job or rubbish that the next start clears away.
 */
export async function openJobDirectory(root: string, log: Log) {
  await mkdir(root, { recursive: true })

  // Ids are chosen elsewhere and may hold anything; a hash of them is always a safe name.
  const folderOf = (id: string) =>
    path.join(root, jobPrefix + createHash('sha256').update(id).digest('hex').slice(0, 40))

  return {
    resultPath: (id: string) => path.join(folderOf(id), resultName),

    /** Where the files of a job are. */
    filesOf(record: JobRecord): JobFiles {
      const inFolder = (fileName: string) => path.join(folderOf(record.id), fileName)
      return {
        references: record.references.map(inFolder),
        characters: record.characters.map(inFolder),
        source: record.source === undefined ? undefined : inFolder(record.source),
      }
    },

    /** Takes stock after a start: every whole job, oldest first. */
    async load(): Promise<JobRecord[]> {
      const records: JobRecord[] = []
      for (const name of await readdir(root)) {
        const folder = path.join(root, name)
        if (name.startsWith(incomingPrefix)) await rm(folder, { recursive: true, force: true })
        if (!name.startsWith(jobPrefix)) continue
        try {
          const text = await readFile(path.join(folder, recordName), 'utf8')
          // Records of earlier versions know neither characters nor a source.
          const record = {
            characters: [],
            source: undefined,
            ...(JSON.parse(text) as object),
          } as unknown as JobRecord
          await clearLeftovers(folder)
          if (record.state === 'running') record.state = 'queued'
          records.push(record)
        } catch (error) {
          log('local.job_unreadable', { folder, error: String(error) }, 'warn')
        }
      }
      return records.toSorted((one, other) => one.createdAt.localeCompare(other.createdAt))
    },

    /** A folder to receive an upload in. */
    async beginUpload(): Promise<string> {
      const folder = path.join(root, incomingPrefix + randomUUID())
      await mkdir(folder)
      return folder
    },

    /** Turns an upload into a job, in one step. */
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

    /** A fresh folder for one attempt, so that a dying older attempt can never meddle with a newer one. */
    async beginWork(id: string): Promise<string> {
      const folder = path.join(folderOf(id), workPrefix + randomUUID())
      await mkdir(folder)
      return folder
    },

    /** Puts a finished film in its place and answers its size. */
    async storeResult(id: string, film: string): Promise<number> {
      await rename(film, path.join(folderOf(id), resultName))
      return (await stat(path.join(folderOf(id), resultName))).size
    },

    /** Removes what only the render needed. */
    async tidy(record: JobRecord): Promise<void> {
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
