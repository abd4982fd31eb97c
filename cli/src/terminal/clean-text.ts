/** Texts that somebody else wrote, such as prompts, names and errors of a service, must not drive the terminal. */

const escape = '\u001B'

/** Removes control characters. Colors stay only where `keepsColors` says that they are ours. */
export const removeControls = (text: string, keepsColors = false): string =>
  text.replaceAll(/(\p{Cc})(\[[\d;]*m)?/gu, (found, control: string, color = '') => {
    if (control === '\t' || control === '\n') return found
    return keepsColors && control === escape && color !== '' ? found : color
  })

/** One line of text, for a cell of a table. */
export const cleanText = (text: string): string => removeControls(text).replaceAll(/\s+/g, ' ').trim()

/** JSON escapes only some control characters; a terminal obeys the others too. */
export const toJsonLine = (value: unknown): string =>
  JSON.stringify(value).replaceAll(
    /[\u007F-\u009F]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  )
