/**
 * Reads a parameter set out of a body's fields with the schema that the contract publishes. An error names the
 * parameter, the received value and the allowed ones. Unknown parameters are ignored and reported, so that clients
 * of another dialect are still served.
 */
import { ApiError } from '@kinora/contract/errors'
import type { Static, TObject } from 'typebox'

import type { Fields } from './body/fields.ts'
import { longTextOf } from './body/spooled-text.ts'

/** The part of a property's JSON schema that this reader supports. */
interface Property {
  type?: string
  /** Either one schema or null, for a value that may be cleared. */
  anyOf?: Property[]
  items?: Property
  properties?: Record<string, Property>
  required?: string[]
  minItems?: number
  maxItems?: number
  enum?: unknown[]
  default?: unknown
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  pattern?: string
  format?: string
  /** A description of the pattern with an example. */
  'x-demand'?: string
  'x-image'?: boolean
  'x-read-by-endpoint'?: boolean
  /** A secret, which no error repeats. Applies to texts and lists. */
  writeOnly?: boolean
}

export interface ReadParameters<Schema extends TObject> {
  values: Static<Schema>
  ignored: string[]
}

const quoted = (value: unknown) => {
  if (value === undefined) return 'a file'
  const text = typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

const invalid = (name: string, demand: string, value: unknown, { writeOnly }: Property = {}) =>
  new ApiError('invalid_parameter', {
    param: name,
    message: `'${name}' must be ${demand}${writeOnly === true ? '' : ` (got ${quoted(value)})`}.`,
  })

export const readBoolean = (name: string, value: unknown): boolean => {
  if (typeof value === 'boolean') return value
  if (typeof value === 'string' && /^(true|false)$/i.test(value.trim()))
    return value.trim().toLowerCase() === 'true'
  throw invalid(name, 'true or false', value)
}

/** Names only the bounds that are enforced. */
const rangeDemand = (noun: string, { minimum, maximum }: Property): string => {
  if (minimum === undefined) return maximum === undefined ? noun : `${noun} of at most ${maximum}`
  return maximum === undefined ? `${noun} of at least ${minimum}` : `${noun} from ${minimum} to ${maximum}`
}

const choiceDemand = (choices: unknown[]): string =>
  choices.length === 1 ? String(choices[0]) : `one of ${choices.join(', ')}`

const integerDemand = (property: Property): string => {
  if (property.enum !== undefined) return choiceDemand(property.enum)
  return property.format === 'unix-time'
    ? 'a Unix time in seconds, such as 1798761600 for 2027-01-01'
    : rangeDemand('a whole number', property)
}

const readInteger = (name: string, value: unknown, property: Property): number => {
  const demand = integerDemand(property)
  const isDecimal = typeof value === 'string' && /^\d{1,15}$/.test(value.trim())
  const number = isDecimal ? Number(value) : value
  if (typeof number !== 'number' || !Number.isSafeInteger(number)) throw invalid(name, demand, value)
  if (property.enum !== undefined && !property.enum.includes(number)) throw invalid(name, demand, value)
  if (number < (property.minimum ?? number) || number > (property.maximum ?? number))
    throw invalid(name, demand, value)
  return number
}

const readNumber = (name: string, value: unknown, property: Property): number => {
  const demand = rangeDemand('a number', property)
  const isDecimal = typeof value === 'string' && /^-?\d{1,9}(\.\d{1,9})?$/.test(value.trim())
  const number = isDecimal ? Number(value) : value
  if (typeof number !== 'number' || !Number.isFinite(number)) throw invalid(name, demand, value)
  if (number < (property.minimum ?? number) || number > (property.maximum ?? number))
    throw invalid(name, demand, value)
  return number
}

const patterns = new Map<string, RegExp>()

/** The patterns are those of the contract and of models, so there are few. */
const patternOf = (source: string): RegExp => {
  const known = patterns.get(source)
  if (known !== undefined) return known
  const pattern = new RegExp(source, 'u')
  patterns.set(source, pattern)
  return pattern
}

const readString = (name: string, value: unknown, property: Property): string => {
  if (longTextOf(value) !== undefined) {
    throw new ApiError('invalid_parameter', {
      param: name,
      message:
        property.maxLength === undefined
          ? `'${name}' is too long.`
          : `'${name}' must have at most ${property.maxLength} characters.`,
    })
  }
  if (typeof value !== 'string') throw invalid(name, 'text', value, property)
  // PostgreSQL cannot store a zero byte as text, and a lone surrogate is not valid text.
  if (value.includes('\0') || !value.isWellFormed()) throw invalid(name, 'well-formed text', '…')
  if (property.enum !== undefined && !property.enum.includes(value)) {
    throw invalid(name, choiceDemand(property.enum), value, property)
  }
  const { maxLength = Infinity } = property
  // A text has at most as many characters as UTF-16 code units, which need not be counted.
  if (value.length > maxLength && [...value].length > maxLength) {
    throw new ApiError('invalid_parameter', {
      param: name,
      message: `'${name}' must have at most ${maxLength} characters (got ${[...value].length}).`,
    })
  }
  if (property.pattern !== undefined && !patternOf(property.pattern).test(value)) {
    throw invalid(name, property['x-demand'] ?? 'text of another form', value, property)
  }
  return value
}

const readList = (name: string, value: unknown, property: Property): unknown[] => {
  const { items = {}, minItems = 0, maxItems, writeOnly = false } = property
  if (!Array.isArray(value)) throw invalid(name, 'a list', value, property)
  if (value.length > (maxItems ?? value.length))
    throw invalid(name, `a list of at most ${maxItems}`, value, property)
  if (value.length < minItems) throw invalid(name, `a list of at least ${minItems}`, value, property)
  return value.map((item, index) => readProperty(`${name}[${index}]`, item, { writeOnly, ...items }))
}

const readObject = (name: string, value: unknown, property: Property): Record<string, unknown> => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(name, 'an object', value)
  }
  const { properties = {}, required = [] } = property
  const given = new Map(Object.entries(value).filter(([, member]) => member !== null))
  // Ignored members of an object are not reported, so a misspelt member is refused.
  for (const [member, found] of given) {
    if (!Object.hasOwn(properties, member)) {
      throw invalid(`${name}.${member.slice(0, 60)}`, `one of ${Object.keys(properties).join(', ')}`, found)
    }
  }
  for (const member of required) {
    if (given.has(member)) continue
    const param = `${name}.${member}`
    throw new ApiError('missing_parameter', { param, message: `'${param}' is required.` })
  }
  return Object.fromEntries(
    [...given].map(([member, found]) => [
      member,
      readProperty(`${name}.${member}`, found, properties[member] ?? {}),
    ]),
  )
}

const isNullSchema = ({ type }: Property) => type === 'null'

/** The schema of a property that may be cleared, without null; undefined for any other property. */
const clearable = ({ anyOf }: Property): Property | undefined =>
  anyOf?.some(isNullSchema) === true ? anyOf.find((each) => !isNullSchema(each)) : undefined

const readProperty = (name: string, value: unknown, property: Property): unknown => {
  const cleared = clearable(property)
  if (cleared !== undefined) return readProperty(name, value, cleared)
  if (property.type === 'array') return readList(name, value, property)
  if (property.type === 'object') return readObject(name, value, property)
  if (property.type === 'boolean') return readBoolean(name, value)
  if (property.type === 'integer') return readInteger(name, value, property)
  if (property.type === 'number') return readNumber(name, value, property)
  return readString(name, value, property)
}

export const readParameters = <Schema extends TObject>(
  schema: Schema,
  fields: Fields,
): ReadParameters<Schema> => {
  const required = new Set(schema.required)
  const values: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(schema.properties) as [string, Property][]) {
    const value = fields.value(name)
    const isBlank = typeof value === 'string' && value.trim() === ''
    const isAbsent = (value === undefined || isBlank) && !fields.hasFile(name)
    if (isAbsent && required.has(name)) {
      throw new ApiError('missing_parameter', {
        param: name,
        message: `'${name}' is ${fields.isGiven(name) && !fields.isNull(name) ? 'empty' : 'required'}.`,
      })
    }
    if (isAbsent && fields.isNull(name) && clearable(property) !== undefined) {
      values[name] = null
    } else if (isAbsent) {
      if (property.default !== undefined) values[name] = property.default
    } else if (property['x-image'] !== true && property['x-read-by-endpoint'] !== true) {
      values[name] = readProperty(name, value, property)
    }
  }
  return {
    values: values as Static<Schema>,
    ignored: fields.names().filter((name) => !Object.hasOwn(schema.properties, name)),
  }
}
