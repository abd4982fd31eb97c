/** What commands print: results on stdout, everything else on stderr. */
import { styleText } from 'node:util'

import { removeControls, toJsonLine } from './clean-text.ts'

export type Style = Parameters<typeof styleText>[0]

export const isTerminal = (): boolean => process.stdout.isTTY

/** Styles a text for stdout, if that is a terminal that shows colours. */
export const style = (styles: Style, text: string): string =>
  styleText(styles, text, { stream: process.stdout })

// A reader that has seen enough, such as `head`, closes the pipe. Nothing has failed then.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})
// Both may be the same pipe.
process.stderr.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

export const print = (line: string): void => {
  process.stdout.write(`${removeControls(line, true)}\n`)
}

/** One line of JSON. */
export const printJson = (value: unknown): void => {
  process.stdout.write(`${toJsonLine(value)}\n`)
}

/** A message to the person, which is not part of the result. */
export const tell = (line: string): void => {
  process.stderr.write(`${removeControls(line, true)}\n`)
}
