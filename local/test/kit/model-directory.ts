import { mkdirSync, symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'

import { openModelDirectory, type ModelDirectory } from '../../src/models/model-directory.ts'
import type { ModelSetName } from '../../src/models/model-set.ts'

/** The models in `MODEL_DIR` or in the default directory. Throws if one of them is missing. */
export function modelDirectory(...sets: ModelSetName[]): ModelDirectory {
  const folder = process.env['MODEL_DIR'] ?? path.join(homedir(), '.cache', 'kinora', 'models')
  const directory = openModelDirectory(folder)
  const missing = sets.filter((name) => directory.find(name) === undefined)
  if (missing.length > 0) {
    const command = `npm run kinora -- models pull ${missing.join(' ')}`
    throw new Error(`${missing.join(', ')} not found in ${folder}; pull with: ${command}`)
  }
  return directory
}

/** A directory that contains only these sets. */
export function onlySets(directory: ModelDirectory, ...sets: ModelSetName[]): ModelDirectory {
  return { path: directory.path, find: (name) => (sets.includes(name) ? directory.find(name) : undefined) }
}

const recognitionSets = [
  'onnxruntime',
  'silero-vad',
  'moonshine-tiny',
  'whisper-tiny',
  'whisper-base',
] as const

/**
 * Makes a directory without the models that speak, for another process. espeak-ng speaks then: a model takes seconds of the processor
 * for each sentence.
 */
export function linkRecognitionSets(folder: string): string {
  const directory = modelDirectory(...recognitionSets)
  mkdirSync(folder)
  for (const name of recognitionSets) symlinkSync(directory.find(name) ?? '', path.join(folder, name))
  return folder
}
