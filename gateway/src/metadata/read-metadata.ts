/** A caller's own data on a task or a request. It is stored and returned, never interpreted and never sent to a provider. */
import { ApiError } from '@kinora/contract/errors'
import {
  metadataEntriesMax,
  metadataKeyCharactersMax,
  metadataValueCharactersMax,
  type Metadata,
} from '@kinora/contract/metadata'

const bytesMax = 16 * 1024

const tooLarge = () => invalid(`must have at most ${bytesMax / 1024} KB.`)

const invalid = (message: string, cause?: unknown) =>
  new ApiError('invalid_parameter', { param: 'metadata', message: `'metadata' ${message}`, cause })

const parsed = (text: string): unknown => {
  if (Buffer.byteLength(text) > bytesMax) throw tooLarge()
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw invalid('must be valid JSON text of an object.', error)
  }
}

const charactersOf = (text: string) => [...text].length
// PostgreSQL cannot store zero bytes or lone surrogates as text.
const isText = (text: string) => !text.includes('\0') && text.isWellFormed()

/** Whether a text can be a key of metadata. */
export const isMetadataKey = (key: string): boolean =>
  key !== '' && charactersOf(key) <= metadataKeyCharactersMax && isText(key)

const assertEntry = (key: string, value: unknown): void => {
  if (!isMetadataKey(key)) {
    throw invalid(`has a key that is not 1 to ${metadataKeyCharactersMax} characters of text.`)
  }
  if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return
  if (typeof value !== 'string') throw invalid('may contain only text, numbers, true and false.')
  if (charactersOf(value) > metadataValueCharactersMax || !isText(value)) {
    throw invalid(`has a value that is not text of at most ${metadataValueCharactersMax} characters.`)
  }
}

/** Reads a JSON object or its text; undefined if none was given. */
export const readMetadata = (value: unknown): Metadata | undefined => {
  if (value === undefined || (typeof value === 'string' && value.trim() === '')) return undefined
  const given = typeof value === 'string' ? parsed(value) : value
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalid('must be a JSON object.')
  }
  const entries = Object.entries(given)
  if (entries.length > metadataEntriesMax)
    throw invalid(`may have at most ${metadataEntriesMax} keys (got ${entries.length}).`)
  for (const [key, each] of entries) assertEntry(key, each)
  if (Buffer.byteLength(JSON.stringify(given)) > bytesMax) throw tooLarge()
  return Object.fromEntries(entries)
}

/** The metadata that a filter of a list asks for, as texts. */
export type MetadataFilter = [key: string, value: string][]

/** Reads the filter out of the query parameter `metadata`, which is JSON text (`read-query.ts`). */
export const readMetadataFilter = (text: string | undefined): MetadataFilter =>
  Object.entries(readMetadata(text) ?? {}).map(([key, value]) => [key, String(value)])
