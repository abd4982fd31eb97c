/** Text that somebody else wrote could drive the terminal, or show itself in another order than it is. */

/** Control characters but tabs and line feeds, and the controls of writing direction. */
const unsafe = /[\p{Cc}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069](?<![\t\n])/gu

const escapeCharacter = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

const withColors = new RegExp(`(\\u001B\\[[\\d;]*m)|${unsafe.source}`, 'gu')

/** Shows unsafe characters as escapes, as JSON writes them. Colours stay only where `keepsColors` says that they are ours. */
export const escapeControls = (text: string, keepsColors = false): string =>
  keepsColors
    ? text.replaceAll(withColors, (found, color?: string) => color ?? escapeCharacter(found))
    : text.replaceAll(unsafe, escapeCharacter)
