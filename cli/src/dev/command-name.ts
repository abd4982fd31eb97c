/** How a person in another terminal starts this program. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join, sep } from 'node:path'

const isProgram = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** `npx` if the search path has no `kinora`. npm adds folders to it that only its own child processes have. */
export const findCommandName = (searchPath: string): string => {
  const folders = searchPath
    .split(delimiter)
    .filter((folder) => folder !== '' && !folder.split(sep).includes('node_modules'))
  return folders.some((folder) => isProgram(join(folder, 'kinora'))) ? 'kinora' : 'npx kinora'
}
