/** Values of fields that are described by a JSON schema, as the text that people write, and back. */

export interface SchemaField {
  name: string
  label: string
  description: string
  /** Instead of the description. */
  help?: string
  required: boolean
  secret: boolean
  advanced: boolean
  default: unknown
  example: unknown
  schema: Record<string, unknown>
}

/** How a field is shown. `names` is a list that is written with commas, `json` everything that has no other form. */
export type FieldForm =
  | 'switch'
  | 'choice'
  | 'choices'
  | 'number'
  | 'money'
  | 'text'
  | 'date'
  | 'numbers'
  | 'names'
  | 'json'

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const readTexts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []

const getItems = ({ schema }: SchemaField): Record<string, unknown> =>
  isRecord(schema['items']) ? schema['items'] : {}

/** The allowed values of a choice, or of the items of a list. */
export const getAllowed = (field: SchemaField): string[] =>
  readTexts(field.schema['type'] === 'array' ? getItems(field)['enum'] : field.schema['enum'])

/** Whether an item may be a text, also if it may be something else. */
const hasTextItems = (items: Record<string, unknown>): boolean =>
  items['type'] === 'string' ||
  (Array.isArray(items['anyOf']) &&
    items['anyOf'].some((each) => isRecord(each) && each['type'] === 'string'))

export const getForm = (field: SchemaField): FieldForm => {
  const { type } = field.schema
  if (getAllowed(field).length > 0) return type === 'array' ? 'choices' : 'choice'
  if (type === 'boolean') return 'switch'
  if (type === 'integer' || type === 'number') return field.name.endsWith('_micros') ? 'money' : 'number'
  if (type === 'string') return field.name.endsWith('_date') ? 'date' : 'text'
  const items = getItems(field)
  if (type !== 'array') return 'json'
  return items['type'] === 'integer' ? 'numbers' : hasTextItems(items) ? 'names' : 'json'
}

const micros = 1_000_000

/** The value as text; empty for none. */
export const writeValue = (field: SchemaField, value: unknown): string => {
  if (value === null || value === undefined) return ''
  switch (getForm(field)) {
    case 'money':
      return String(Number(value) / micros)
    case 'choices':
    case 'numbers':
      return Array.isArray(value) ? value.join(', ') : ''
    case 'names':
      return Array.isArray(value) && value.every((each) => typeof each === 'string')
        ? value.join(', ')
        : JSON.stringify(value, null, 1)
    case 'json':
      return JSON.stringify(value, null, 1)
    default:
      return typeof value === 'string' ? value : JSON.stringify(value)
  }
}

export type Problem =
  | { problem: 'required' | 'number' | 'integer' | 'json' }
  | { problem: 'minimum' | 'maximum'; limit: number }
  | { problem: 'demand'; demand: string }

/** `value` is undefined if nothing was written, so that the default applies. */
type ReadValue = { value: unknown } | Problem

const splitList = (text: string): string[] =>
  text
    .split(/[,，\n]/)
    .map((part) => part.trim())
    .filter((part) => part !== '')

const parseJson = (text: string): ReadValue => {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return { problem: 'json' }
  }
}

const readNumber = (text: string, schema: Record<string, unknown>, factor = 1): ReadValue => {
  const value = Number(text)
  if (!Number.isFinite(value)) return { problem: 'number' }
  const scaled = factor === 1 ? value : Math.round(value * factor)
  const { minimum, maximum, type } = schema
  if (type === 'integer' && !Number.isInteger(scaled)) return { problem: 'integer' }
  if (typeof minimum === 'number' && scaled < minimum) return { problem: 'minimum', limit: minimum / factor }
  if (typeof maximum === 'number' && scaled > maximum) return { problem: 'maximum', limit: maximum / factor }
  return { value: scaled }
}

const readText = (text: string, schema: Record<string, unknown>): ReadValue => {
  const { pattern } = schema
  const demand = schema['x-demand']
  if (typeof pattern !== 'string' || new RegExp(pattern).test(text)) return { value: text }
  return { problem: 'demand', demand: typeof demand === 'string' ? demand : pattern }
}

const readItems = (
  texts: string[],
  read: (text: string, schema: Record<string, unknown>) => ReadValue,
  items: Record<string, unknown>,
): ReadValue => {
  const values: unknown[] = []
  for (const text of texts) {
    const item = read(text, items)
    if ('problem' in item) return item
    values.push(item.value)
  }
  return { value: values }
}

/** Reads what was written, as far as the schema says what is valid. The service checks the rest. */
const readValue = (field: SchemaField, written: string): ReadValue => {
  const text = written.trim()
  if (text === '') return field.required ? { problem: 'required' } : { value: undefined }
  const { schema } = field
  switch (getForm(field)) {
    case 'switch':
      return { value: text === 'true' }
    case 'number':
      return readNumber(text, schema)
    case 'money':
      return readNumber(text, schema, micros)
    case 'numbers':
      return readItems(splitList(text), readNumber, getItems(field))
    case 'choices':
      return { value: splitList(text) }
    case 'names':
      return text.startsWith('[') ? parseJson(text) : readItems(splitList(text), readText, getItems(field))
    case 'json':
      return parseJson(text)
    default:
      return readText(text, schema)
  }
}

/** The written values of a form. */
export type Written = Record<string, string>

interface ReadForm {
  values: Record<string, unknown>
  problems: Record<string, Problem>
}

/** Values that are those of the default are left out, so that a later default applies. */
export const readForm = (fields: readonly SchemaField[], written: Written): ReadForm => {
  const form: ReadForm = { values: {}, problems: {} }
  for (const field of fields) {
    const read = readValue(field, written[field.name] ?? '')
    if ('problem' in read) form.problems[field.name] = read
    else if (read.value !== undefined && JSON.stringify(read.value) !== JSON.stringify(field.default))
      form.values[field.name] = read.value
  }
  return form
}
