/** What commands print: results on stdout, everything else on stderr. */
import { styleText } from 'node:util'

import { escapeControls } from '../frame/safe-text.ts'
import { wrapText } from './columns.ts'

export type Style = Parameters<typeof styleText>[0]

/** A text of the service, such as a prompt or a name, in one line that is safe for the terminal. */
export const cleanText = (text: string): string => escapeControls(text.replaceAll(/\s+/g, ' ').trim())

export const isTerminal = (): boolean => process.stdout.isTTY

/** Styles a text for stdout, if that is a terminal that shows colours. */
export const style = (styles: Style, text: string): string =>
  styleText(styles, text, { stream: process.stdout })

/** Wraps a text that is printed from a column of a terminal on: between words, with its other lines below the first. */
export const wrapFrom = (column: number, text: string): string =>
  isTerminal()
    ? wrapText(text, Math.max(20, process.stdout.columns - column)).join(`\n${' '.repeat(column)}`)
    : text

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
  process.stdout.write(`${escapeControls(line, true)}\n`)
}

/** A text of the service with its lines. Only a terminal gets it changed. */
export const printText = (text: string): void => {
  process.stdout.write(`${isTerminal() ? escapeControls(text) : text}\n`)
}

/** One line of JSON. Its escapes mean the same characters. */
export const printJson = (value: unknown): void => print(escapeControls(JSON.stringify(value)))

/** A message to the person, which is not part of the result. */
export const tell = (line: string): void => {
  process.stderr.write(`${escapeControls(line, true)}\n`)
}
