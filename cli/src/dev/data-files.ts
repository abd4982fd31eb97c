/** The files in the data directory of `kinora dev`. */
import { existsSync } from 'node:fs'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'

const parseFile = <Value>(file: string, text: string): Value => {
  try {
    return JSON.parse(text) as Value
  } catch {
    throw new Error(
      `${file} is not valid JSON. Restore it from a backup, or delete it to generate new values.`,
    )
  }
}

/** Reads a private JSON file, or creates it. Adds members that a file of an older version lacks. */
export const readOrCreate = async <Value extends object>(
  file: string,
  create: () => Value,
): Promise<Value> => {
  const stored = existsSync(file) ? parseFile<Partial<Value>>(file, await readFile(file, 'utf8')) : {}
  const created = create()
  const value = { ...created, ...stored }
  if (Object.keys(created).some((name) => !Object.hasOwn(stored, name))) {
    // Writes to a temporary file first, so that a crash does not lose the old content.
    await writeFile(`${file}.new`, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 })
    await rename(`${file}.new`, file)
  }
  return value
}

/** Whether `dev` has created it: all of its directories have this file. */
const ownFile = 'secrets.json'
/** What an interrupted first start may have left. */
const firstNames = ['logs', 'dev.pid', 'ports.json', 'keys.json', '.gitignore', '.DS_Store', `${ownFile}.new`]

/** Rejects a directory with files of somebody else, because a reset would delete those that have the same names. */
export const assertOwnDirectory = async (directory: string): Promise<void> => {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [] as string[]
    throw error
  })
  const other = names.find((name) => !firstNames.includes(name))
  if (other === undefined || names.includes(ownFile)) return
  throw new Error(
    `${directory} has other files, such as ${other}. Choose a new directory for the data with --data.`,
  )
}

/** What a reset deletes. Keys and secrets stay, so that a key in somebody's settings keeps working. */
const resetNames = ['postgres', 'restate', 'local', 'media', 'videos']

/** Deletes what the service has stored. Leaves everything that `dev` has not created. */
export const resetData = async (directory: string): Promise<void> => {
  for (const name of resetNames) await rm(join(directory, name), { recursive: true, force: true })
}

/** A path as people read it: relative if it is below the current directory. */
export const showPath = (path: string): string => {
  const below = relative(process.cwd(), path)
  return below === '' || below.startsWith('..') ? path : below
}
