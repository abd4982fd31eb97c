/** Where a result is saved. Checked before anything is created, because it costs money. */
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

import { UsageError } from '../frame/usage-error.ts'

/** `-` is stdout. */
export const checkOutput = async (file: string | undefined): Promise<void> => {
  if (file === undefined || file === '-') return
  const directory = dirname(file)
  const isWritable = await access(directory, constants.W_OK).then(
    () => true,
    () => false,
  )
  if (!isWritable) throw new UsageError(`${directory} is not a directory that can be written to.`)
  const found = await stat(file).catch(() => undefined)
  if (found?.isDirectory() === true) throw new UsageError(`${file} is a directory. Name a file.`)
}
