/**
 * The fields of a body, the same for a form and for JSON: absent, empty and null all read as absent, and
 * a form's `name[part]` reads like the JSON object it stands for.
 */
export interface ReceivedFile {
  /** Where it was spooled; it is removed with the request unless somebody moved it away. */
  path: string
  sizeBytes: number
  sha256: string
  filename: string | undefined
  /** The sender sent more than the file may have; only the first part was kept. */
  isTruncated: boolean
}

export interface Fields {
  source: 'form' | 'json'
  names: () => string[]
  value: (name: string) => unknown
  /** Whether the name was sent at all, with or without a value. */
  isGiven: (name: string) => boolean
  /** Whether JSON says null, which clears what can be cleared and else reads as absent. */
  isNull: (name: string) => boolean
  /** The files that came under this name and were kept. */
  files: (name: string) => ReceivedFile[]
  /** Whether a file came under this name, kept or not. */
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
