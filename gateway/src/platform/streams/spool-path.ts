/**
 * Paths of files that belong to this process for a moment. Their names begin with a mark of the process, so that it can
 * tell others that it still uses them.
 */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'

const processMark = randomUUID().slice(0, 8)

export const newSpoolPath = (directory: string): string => join(directory, `${processMark}-${randomUUID()}`)

export const isOwnSpoolFile = (name: string): boolean => name.startsWith(`${processMark}-`)
