import { statSync } from 'node:fs'
import { join } from 'node:path'

import { modelSet, type ModelFile, type ModelSet, type ModelSetName } from './model-set.ts'

const rememberMs = 10_000

/** The directory of pulled models. Nothing is cached, because a pull may finish at any moment. */
export interface ModelDirectory {
  path: string
  /** The folder of a set, or undefined if a file is missing. */
  find: (name: ModelSetName) => string | undefined
}

const sizeOf = (path: string): number | undefined => {
  try {
    return statSync(path).size
  } catch {
    return undefined
  }
}

/** The files of a set that are missing or have the wrong size. Only the size is checked, so files may be copied by hand. */
export function missingFiles(directory: string, set: ModelSet): ModelFile[] {
  return set.files.filter(({ name, bytes }) => sizeOf(join(directory, set.name, name)) !== bytes)
}

export function isPresent(directory: string, set: ModelSet): boolean {
  return (
    set.files.length > 0 &&
    set.files.every(({ name, bytes }) => sizeOf(join(directory, set.name, name)) === bytes)
  )
}

export function openModelDirectory(path: string): ModelDirectory {
  const seen = new Map<ModelSetName, number>()
  return {
    path,
    find(name) {
      const now = performance.now()
      if (now - (seen.get(name) ?? -Infinity) > rememberMs) {
        if (!isPresent(path, modelSet(name))) return undefined
        seen.set(name, now)
      }
      return join(path, name)
    },
  }
}
