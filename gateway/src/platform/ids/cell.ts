/**
 * Every key, and every id that may come back to the service, has the number of the cell that made it: of one installation
 * among several that serve the same API (docs/cells.md). There is one cell so far. What has another number is unknown here.
 */
import { base62, randomText } from '../text/random-text.ts'

const cell = 0

/** In keys and in ids with a model: two base62 characters, so there are at most 3,844 cells. */
export const cellText = `${base62[Math.floor(cell / 62)]}${base62[cell % 62]}`

/** In UUIDs: the 12 bits after the version, `rand_a` in RFC 9562. The ids of events begin with these digits. */
export const cellDigits = cell.toString(16).padStart(3, '0')

/** Base62 text that is random but for the cell at its beginning. */
export const randomTextOfCell = (length: number): string => cellText + randomText(length - cellText.length)
