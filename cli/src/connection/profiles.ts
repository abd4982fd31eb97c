/** The profiles of `kinora login`: services and keys, in a file that only its owner can read. */
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

export interface Service {
  url: string
  key: string
}

interface Profiles {
  /** The profile that is used if none is named. */
  current: string | null
  profiles: Record<string, Service>
}

export const readProfiles = async (file: string): Promise<Profiles> => {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { current: null, profiles: {} }
    throw error
  }
  try {
    const { current = null, profiles = {} } = JSON.parse(text) as Partial<Profiles>
    return { current, profiles }
  } catch {
    throw new Error(`${file} is not valid JSON. Correct it, or delete it and run kinora login.`)
  }
}

export const writeProfiles = async (file: string, profiles: Profiles): Promise<void> => {
  const directory = dirname(file)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  // Another file first, so that a crash leaves the old profiles.
  const written = `${file}.${process.pid}`
  await writeFile(written, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 })
  await chmod(written, 0o600)
  await rename(written, file)
}
