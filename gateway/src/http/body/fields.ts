/**
 * The fields of a body, equal for a form and for JSON: absent, empty and null all read as absent, and a form's
 * `name[part]` reads like the corresponding JSON object.
 */
export interface ReceivedFile {
  /** Where the file is spooled. It is deleted with the request unless it was moved. */
  path: string
  sizeBytes: number
  sha256: string
  filename: string | undefined
  /** True if the file exceeded its limit and only its beginning is spooled. */
  isTruncated: boolean
}

export interface Fields {
  source: 'form' | 'json'
  /** The names that were sent with a value. */
  names: () => string[]
  /** The names that were sent, with or without a value. */
  namesGiven: () => string[]
  value: (name: string) => unknown
  /** Whether the name was sent at all, with or without a value. */
  isGiven: (name: string) => boolean
  /** Whether the JSON value is null. It clears a value that can be cleared, and otherwise reads as absent. */
  isNull: (name: string) => boolean
  /** The files that were sent and stored under this name. */
  files: (name: string) => ReceivedFile[]
  /** Whether a file was sent under this name, stored or not. */
  hasFile: (name: string) => boolean
  /** Whether a form has more than one value under this name, as text or as file. */
  isRepeated: (name: string) => boolean
}

export const isBlank = (value: unknown) => typeof value === 'string' && value.trim() === ''
const isAbsent = (value: unknown) => value === undefined || value === null || value === ''

export const fieldsOf = (
  source: Fields['source'],
  values: Map<string, unknown>,
  files: Map<string, ReceivedFile[]> = new Map(),
  repeatedTexts: ReadonlySet<string> = new Set(),
): Fields => ({
  source,
  namesGiven: () => [...new Set([...values.keys(), ...files.keys()])],
  names: () =>
    [...new Set([...values.keys(), ...files.keys()])].filter(
      (name) => files.has(name) || !isAbsent(values.get(name)),
    ),
  value: (name) => (isAbsent(values.get(name)) ? undefined : values.get(name)),
  isGiven: (name) => values.has(name) || files.has(name),
  isNull: (name) => values.get(name) === null,
  files: (name) => files.get(name) ?? [],
  hasFile: (name) => files.has(name),
  isRepeated: (name) => {
    const filesCount = files.get(name)?.length ?? 0
    const hasText = !isBlank(values.get(name) ?? '')
    return repeatedTexts.has(name) || filesCount + (hasText ? 1 : 0) > 1
  },
})

export const noFields = fieldsOf('json', new Map())
