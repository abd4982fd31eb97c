/** An argument that is a text, or `-` for all of stdin. */
import { text } from 'node:stream/consumers'

import { UsageError } from '../frame/usage-error.ts'

export const readText = async (argument: string): Promise<string> => {
  if (argument !== '-') return argument
  if (process.stdin.isTTY) process.stderr.write('Write the text, and end it with Ctrl-D.\n')
  const given = (await text(process.stdin)).trim()
  if (given === '') throw new UsageError('stdin is empty.')
  return given
}
