/**
 * Validates a provider or model config against its TypeBox schema, from the file or from the admin API. All problems
 * are returned at once, each with its path and a message of ours.
 */
import type { Static, TObject } from 'typebox'
import { Compile } from 'typebox/compile'
import type { TLocalizedValidationError } from 'typebox/error'
import { Settings } from 'typebox/system'
import { Pointer, Value } from 'typebox/value'

import { didYouMean } from '../platform/text/nearest-name.ts'

/** A provider's or model's config before validation. */
export type RawConfig = Record<string, unknown>

export interface Problem {
  /** The path within the config. */
  path: (string | number)[]
  /** Follows the path in a sentence: `must be true or false, not "yes"`. */
  message: string
}

/** The JSON Schema keywords that settings use. */
interface Property {
  type?: string
  anyOf?: { const?: unknown }[]
  enum?: unknown[]
  items?: Property
  properties?: Record<string, Property>
  patternProperties?: Record<string, Property>
  minimum?: number
  maximum?: number
  default?: unknown
  description?: string
  /** Describes the expected text in messages where a pattern would be unreadable. */
  'x-demand'?: string
  /** True for values that no message may show. */
  'x-secret'?: boolean
}

export const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const choicesOf = ({ enum: listed, anyOf }: Property): unknown[] | undefined => {
  if (listed !== undefined) return listed
  return anyOf?.every((each) => 'const' in each) === true ? anyOf.map((each) => each.const) : undefined
}

const describeNumber = (noun: string, { minimum, maximum = Number.MAX_SAFE_INTEGER }: Property): string => {
  if (minimum === undefined) return noun
  return maximum === Number.MAX_SAFE_INTEGER
    ? `${noun} of at least ${minimum}`
    : `${noun} from ${minimum} to ${maximum}`
}

/** Describes the values that a setting accepts; the generated documents use it too. */
export const describeExpected = (property: Property): string => {
  const choices = choicesOf(property)
  if (choices !== undefined) return `one of ${choices.join(', ')}`
  if (property.type === 'boolean') return 'true or false'
  if (property.type === 'integer') return describeNumber('a whole number', property)
  if (property.type === 'number') return describeNumber('a number', property)
  if (property.type === 'array') return 'a list'
  if (property.properties !== undefined) {
    return `a mapping with names such as ${Object.keys(property.properties).slice(0, 3).join(', ')}`
  }
  if (property.type === 'object') return 'a mapping of names'
  return property['x-demand'] ?? 'text'
}

/** A number in text. Other notations, such as 1e9 or 0x10, are likely mistakes. */
const decimalText = /^\s*-?\d+(\.\d+)?\s*$/

/** A hint for text that is a number in another notation. */
const notationHint = ({ type }: Property, given: unknown): string => {
  const isNumber = type === 'integer' || type === 'number'
  const isOtherNotation =
    isNumber && typeof given === 'string' && !decimalText.test(given) && given.trim() !== ''
  return isOtherNotation && Number.isFinite(Number(given)) ? '; write it in decimal digits' : ''
}

const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

/**
 * Copies a config for validation. `null` counts as absent. Numbers may be written as decimal text, because
 * `${env:NAME}` yields text, and texts as numbers, because a model may be called 4. `Value.Convert` is not used: it would accept 0.5 as the
 * integer 0 and 1 as true.
 */
const coerce = (property: Property, given: unknown): unknown => {
  const { type, items, properties, patternProperties } = property
  if ((type === 'integer' || type === 'number') && typeof given === 'string' && decimalText.test(given)) {
    return Number(given)
  }
  if (type === 'string' && typeof given === 'number') return String(given)
  if (items !== undefined && Array.isArray(given)) return given.map((each) => coerce(items, each))
  if (!isMapping(given)) return given
  const [ofEach = {}] = Object.values(patternProperties ?? {})
  const entries = Object.entries(given).filter(([, value]) => properties === undefined || value !== null)
  return Object.fromEntries(
    entries.map(([name, value]) => {
      const known = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : ofEach
      return [name, coerce(known ?? ofEach, value)]
    }),
  )
}

/** TypeBox stops at 8 errors by default. */
const errorsMax = 1_000

const allErrors = (schema: TObject, value: unknown): TLocalizedValidationError[] => {
  const { maxErrors } = Settings.Get()
  Settings.Set({ maxErrors: errorsMax })
  try {
    return Value.Errors(schema, value)
  } finally {
    Settings.Set({ maxErrors })
  }
}

/** Compiled, a check takes a twentieth of the time. */
const checks = new WeakMap<TObject, (value: unknown) => boolean>()

const isValid = (schema: TObject, value: unknown): boolean => {
  let check = checks.get(schema)
  if (check === undefined) {
    const validator = Compile(schema)
    check = (given) => validator.Check(given)
    checks.set(schema, check)
  }
  return check(value)
}

/** Turns a JSON pointer into a path; only steps into arrays are numbers. */
const pathOf = (value: unknown, pointer: string): Problem['path'] => {
  let at = value
  return Pointer.Indices(pointer).map((step) => {
    const isIndex = Array.isArray(at)
    at = isIndex || isMapping(at) ? (at as Record<string, unknown>)[step] : undefined
    return isIndex ? Number(step) : step
  })
}

const problemsFrom = (
  error: TLocalizedValidationError,
  schema: TObject,
  value: unknown,
  written: unknown,
): Problem[] => {
  const path = pathOf(value, error.instancePath)
  const schemaPointer = error.schemaPath.slice(1).replace(/\/anyOf\/.*$/, '')
  const property = Pointer.Get(schema, schemaPointer) as Property
  // Of a value with alternatives only the value itself is reported, not every alternative.
  if (property.anyOf !== undefined && property['x-demand'] !== undefined && error.keyword !== 'anyOf')
    return []
  if (error.keyword === 'required') {
    return error.params.requiredProperties.map((name) => {
      const missing = property.properties?.[name] ?? {}
      return {
        path: [...path, name],
        message: `is required: ${(missing.description ?? describeExpected(missing)).replace(/\.$/, '')}`,
      }
    })
  }
  if (error.keyword === 'additionalProperties') {
    const names = Object.keys(property.properties ?? {})
    return error.params.additionalProperties.map((name) => ({
      path: [...path, name],
      message: `is not a setting${didYouMean(name, names)}`,
    }))
  }
  // `additionalProperties` reports the same names.
  if (error.keyword === 'boolean') return []
  if (error.keyword === 'minItems') {
    const holder = Pointer.Get(schema, schemaPointer.replace(/\/properties\/[^/]*$/, '')) as {
      required?: string[]
    }
    const isRequired = holder.required?.includes(String(path.at(-1))) === true
    return [
      { path, message: `must list at least one${isRequired ? '' : '; leave it out for no restriction'}` },
    ]
  }
  const given = Pointer.Get(written, error.instancePath)
  const expected = `must be ${describeExpected(property)}`
  const not = `, not ${shown(given)}${notationHint(property, given)}`
  return [{ path, message: property['x-secret'] === true ? expected : `${expected}${not}` }]
}

/**
 * Returns the values without problems, with every default filled in, and all problems. The schema is compiled once, so it
 * should be the same object in each call. `written` is the config before
 * `${env:NAME}` and `${file:/path}` were replaced; messages quote only that.
 */
export const validateConfig = <Schema extends TObject>(
  schema: Schema,
  given: unknown,
  written: unknown = given,
): { values: Static<Schema>; problems: Problem[] } => {
  const value = Value.Default(schema, coerce(schema, given ?? {}))
  // Finding errors takes many times as long as finding out that there are none.
  const errors = isValid(schema, value) ? [] : allErrors(schema, value)
  const found = errors.flatMap((error) => problemsFrom(error, schema, value, written))
  // One value can violate several keywords, such as type and minimum.
  const problems = [...new Map(found.map((each) => [formatPath(each.path), each])).values()]
  const wrong = new Set(problems.map(({ path: [name] }) => name))
  const values = isMapping(value)
    ? Object.fromEntries(Object.entries(value).filter(([name]) => !wrong.has(name)))
    : {}
  return { values: values as Static<Schema>, problems }
}

/** Formats a path such as `models.clip-1.routes[0].provider`. */
export const formatPath = (path: Problem['path']): string =>
  path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${step}`))
    .join('')
