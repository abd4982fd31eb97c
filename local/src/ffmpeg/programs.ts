import { access, constants } from 'node:fs/promises'
import { join } from 'node:path'

import { searchPath } from './sandbox.ts'

/** Paths of optional system programs; undefined if not installed. */
export interface Programs {
  espeakPath: string | undefined
  pocketsphinxPath: string | undefined
}

const pocketsphinxModel = '/usr/share/pocketsphinx/model/en-us/en-us'

const isUsable = (path: string, mode: number) =>
  access(path, mode).then(
    () => true,
    () => false,
  )

/** The path of a system program, or undefined. */
export async function findProgram(name: string): Promise<string | undefined> {
  for (const folder of searchPath.split(':')) {
    const candidate = join(folder, name)
    if (await isUsable(candidate, constants.X_OK)) return candidate
  }
  return undefined
}

/** PocketSphinx is usable only with its English model. */
export async function findPrograms(): Promise<Programs> {
  const [espeakPath, pocketsphinxPath, hasModel] = await Promise.all([
    findProgram('espeak-ng'),
    findProgram('pocketsphinx_continuous'),
    isUsable(pocketsphinxModel, constants.R_OK),
  ])
  return { espeakPath, pocketsphinxPath: hasModel ? pocketsphinxPath : undefined }
}
