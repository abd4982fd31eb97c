/**
 * Reads an entry of the setup against its schema, whether it comes from the file or over the operators' API. Nothing is
 * thrown: everything that is wrong is told, each with where it stands.
 */
import type { Static, TObject, TSchema } from 'typebox'
import { Value } from 'typebox/value'

import { didYouMean } from './nearest-name.ts'

export interface Problem {
  /** Where it stands, from the entry's own top. */
  path: (string | number)[]
  /** What is wrong, to be read after the place: `must be true or false, not "yes"`. */
  message: string
}

/** What is understood of a setting's JSON schema. */
interface Property {
  type?: string
  anyOf?: { const?: unknown }[]
  enum?: unknown[]
  items?: Property
  properties?: Record<string, Property>
  /** Of a mapping with names of the writer's choice: what each of them has. */
  patternProperties?: Record<string, Property>
  minimum?: number
  maximum?: number
  minItems?: number
  minLength?: number
  pattern?: string
  default?: unknown
  description?: string
  /** What a text must be, in words, where a pattern would not tell. */
  'x-demand'?: string
  /** True where it must not be shown to anybody, not even where it is wrong. */
  'x-secret'?: boolean
}

type Read = { value: unknown } | { problems: Problem[] }

export const isEntry = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Everything that may be written in its place, where that is a list of words. */
const choicesOf = ({ enum: listed, anyOf }: Property): unknown[] | undefined => {
  if (listed !== undefined) return listed
  return anyOf?.every((each) => 'const' in each) === true ? anyOf.map((each) => each.const) : undefined
}

const numberDemand = (noun: string, { minimum, maximum }: Property): string => {
  if (minimum !== undefined && maximum !== undefined) return `${noun} from ${minimum} to ${maximum}`
  return minimum === undefined ? noun : `${noun} of at least ${minimum}`
}

/** What must stand there, in words; the documents use them too. */
export const demandOf = (property: Property): string => {
  const choices = choicesOf(property)
  if (choices !== undefined) return `one of ${choices.join(', ')}`
  if (property.type === 'boolean') return 'true or false'
  if (property.type === 'integer') return numberDemand('a whole number', property)
  if (property.type === 'number') return numberDemand('a number', property)
  if (property.type === 'array') return 'a list'
  if (property.type === 'object') return 'a mapping of names'
  return property['x-demand'] ?? 'text'
}

const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

const refuse = (property: Property, written: unknown): Read => ({
  problems: [
    {
      path: [],
      message:
        property['x-secret'] === true
          ? `must be ${demandOf(property)}`
          : `must be ${demandOf(property)}, not ${shown(written)}`,
    },
  ],
})

const under = (step: string | number, problems: Problem[]): Problem[] =>
  problems.map(({ path, message }) => ({ path: [step, ...path], message }))

const readNumber = (property: Property, given: unknown, written: unknown): Read => {
  const value = typeof given === 'string' && given.trim() !== '' ? Number(given) : given
  const isFitting =
    typeof value === 'number' &&
    (property.type === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value)) &&
    value >= (property.minimum ?? -Infinity) &&
    value <= (property.maximum ?? Infinity)
  return isFitting ? { value } : refuse(property, written)
}

const readText = (property: Property, given: unknown, written: unknown): Read => {
  // A model may well be called 4.
  const value = typeof given === 'number' ? String(given) : given
  const isFitting =
    typeof value === 'string' &&
    value.length >= (property.minLength ?? 1) &&
    (property.pattern === undefined || new RegExp(property.pattern, 'u').test(value))
  return isFitting ? { value } : refuse(property, written)
}

const readList = (property: Property, given: unknown, written: unknown): Read => {
  if (!Array.isArray(given)) return refuse(property, written)
  if (given.length < (property.minItems ?? 0)) {
    return { problems: [{ path: [], message: 'must list at least one; leave it out for no restriction' }] }
  }
  const { items } = property
  if (items === undefined) return { value: given }
  const read = given.map((each: unknown, index) =>
    readProperty(items, each, Array.isArray(written) ? written[index] : each),
  )
  const problems = read.flatMap((each, index) => ('problems' in each ? under(index, each.problems) : []))
  return problems.length > 0
    ? { problems }
    : { value: read.flatMap((each) => ('value' in each ? [each.value] : [])) }
}

const readMapping = (property: Property, given: unknown, written: unknown): Read => {
  if (!isEntry(given)) return refuse(property, written)
  const [ofEach = {}] = Object.values(property.patternProperties ?? {})
  const read = Object.entries(given).map(([name, each]) => ({
    name,
    each: readProperty(ofEach, each, isEntry(written) ? written[name] : each),
  }))
  const problems = read.flatMap(({ name, each }) => ('problems' in each ? under(name, each.problems) : []))
  return problems.length > 0
    ? { problems }
    : {
        value: Object.fromEntries(
          read.flatMap(({ name, each }) => ('value' in each ? [[name, each.value]] : [])),
        ),
      }
}

const readProperty = (property: Property, given: unknown, written: unknown): Read => {
  const choices = choicesOf(property)
  if (choices !== undefined) return choices.includes(given) ? { value: given } : refuse(property, written)
  if (property.type === 'boolean') {
    return typeof given === 'boolean' ? { value: given } : refuse(property, written)
  }
  if (property.type === 'integer' || property.type === 'number') return readNumber(property, given, written)
  if (property.type === 'string') return readText(property, given, written)
  if (property.type === 'array') return readList(property, given, written)
  if (property.type === 'object' && property.properties === undefined) {
    return readMapping(property, given, written)
  }
  if (property.type === 'object') {
    const { values, problems } = readConfigEntry(property as TObject, given, written)
    return problems.length > 0 ? { problems } : { value: values }
  }
  return Value.Check(property as TSchema, given) ? { value: given } : refuse(property, written)
}

/**
 * The entry's values with every default filled in. They can be relied on only where there are no problems. `written` is
 * the entry as somebody wrote it, where secrets have been put into `given` since: it is what messages show.
 */
export const readConfigEntry = <Schema extends TObject>(
  schema: Schema,
  given: unknown,
  written: unknown = given,
): { values: Static<Schema>; problems: Problem[] } => {
  const properties = schema.properties as Record<string, Property>
  const names = Object.keys(properties)
  if (!isEntry(given ?? {})) {
    const message = `must be a mapping with names such as ${names.slice(0, 3).join(', ')}, not ${shown(written)}`
    return { values: {} as Static<Schema>, problems: [{ path: [], message }] }
  }
  const entry = isEntry(given) ? given : {}
  const asWritten = isEntry(written) ? written : {}
  const problems: Problem[] = Object.keys(entry)
    .filter((name) => !Object.hasOwn(properties, name))
    .map((name) => ({ path: [name], message: `is not a setting${didYouMean(name, names)}` }))
  const values: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(properties)) {
    const value = entry[name] ?? undefined
    if (value === undefined) {
      if (property.default !== undefined) values[name] = structuredClone(property.default)
      else if (schema.required?.includes(name)) {
        problems.push({ path: [name], message: `is required: ${property.description ?? demandOf(property)}` })
      }
      continue
    }
    const read = readProperty(property, value, asWritten[name] ?? value)
    if ('problems' in read) problems.push(...under(name, read.problems))
    else values[name] = read.value
  }
  return { values: values as Static<Schema>, problems }
}

/** `models.vidB-2.routes[0].provider` */
export const placeText = (path: (string | number)[]): string =>
  path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${step}`))
    .join('')
