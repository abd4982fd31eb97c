import { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'
import { queryOfEveryCreate, type Operation } from '@kinora/contract/operation'
import { operations } from '@kinora/contract/operations'
import { AccountChange } from '@kinora/contract/operations/admin/accounts'
import { KeyChange } from '@kinora/contract/operations/admin/keys'
import { SettingsChange } from '@kinora/contract/operations/admin/settings'
import { FamilyAVideoForm, FamilyBVideoForm } from '@kinora/contract/operations/videos'
import fc from 'fast-check'
import { Type, type TObject, type TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { expect, test } from 'vitest'

import { fieldsOf } from './body/fields.ts'
import { readParameters } from './parameters.ts'

const read = (schema: TObject, values: object) =>
  readParameters(schema, fieldsOf('json', new Map(Object.entries(values))))

const plausible = fc.oneof(
  fc.constantFrom<unknown>(
    'vidB-2',
    'a whale',
    '4',
    4,
    25,
    '16x9',
    '480x480',
    true,
    'false',
    '',
    ' ',
    null,
    'anime',
  ),
  fc.jsonValue(),
)
const body = fc.record(
  Object.fromEntries([...Object.keys(FamilyBVideoForm.properties), 'extra'].map((name) => [name, plausible])),
  { requiredKeys: [] },
)

test('for any body, either every value matches the schema or the error names a parameter of it', () => {
  fc.assert(
    fc.property(fc.constantFrom(FamilyAVideoForm, FamilyBVideoForm), body, (schema, values) => {
      try {
        const { values: found, ignored } = read(schema, values)
        for (const [name, value] of Object.entries(found)) {
          const property = (schema.properties as Record<string, TSchema>)[name]
          expect(property !== undefined && Value.Check(property, value)).toBe(true)
        }
        for (const name of ignored) expect(schema.properties).not.toHaveProperty(name)
      } catch (error) {
        expect(error).toBeInstanceOf(ApiError)
        const { code, param } = error as ApiError
        expect(['missing_parameter', 'invalid_parameter']).toContain(code)
        expect(Object.keys(schema.properties)).toContain(param)
      }
    }),
    { numRuns: 2_000 },
  )
})

test('an absent parameter gets its default, or stays absent without one', () => {
  const order = { model: 'vidB-2', prompt: 'a whale', seconds: '4', size: '480x480' }
  expect(read(FamilyBVideoForm, order)).toEqual({
    values: {
      model: 'vidB-2',
      prompt: 'a whale',
      seconds: 4,
      size: '480x480',
      sound: true,
      watermark: true,
      private: false,
    },
    ignored: [],
  })
})

test('an error quotes the received value, shortened, and the allowed values', () => {
  const messageOf = (values: object) => {
    try {
      read(FamilyBVideoForm, { model: 'vidB-2', prompt: 'a whale', seconds: 4, size: '480x480', ...values })
      return ''
    } catch (error) {
      return (error as ApiError).message
    }
  }
  expect(messageOf({ seconds: '9' })).toBe("'seconds' must be one of 4, 8, 10, 12, 15, 25 (got '9').")
  expect(messageOf({ watermark: 'ture' })).toBe("'watermark' must be true or false (got 'ture').")
  expect(messageOf({ style: 'x y'.repeat(1_000) }).length).toBeLessThan(200)
  expect(messageOf({ prompt: 'a'.repeat(32_001) })).toBe(
    "'prompt' must have at most 32000 characters (got 32001).",
  )
})

const allOperations: Operation[] = [...Object.values(operations), ...Object.values(adminOperations)]

/** The schemas of everything that callers may send to an operation. */
const requestSchemasOf = ({ body, parameters = {} }: Operation): object[] => [
  ...(body?.form ?? []),
  ...(body?.json ?? []),
  ...Object.values(parameters).flatMap((schemas) => Object.values(schemas)),
]

/** Every schema with a pattern inside a schema. */
const patternedIn = (schema: unknown): (TSchema & { pattern: string })[] => {
  if (typeof schema !== 'object' || schema === null) return []
  const inner = Object.values(schema).flatMap(patternedIn)
  return 'pattern' in schema && typeof schema.pattern === 'string'
    ? [schema as TSchema & { pattern: string }, ...inner]
    : inner
}

const refusalOf = (schema: TObject, values: object): string => {
  try {
    read(schema, values)
  } catch (error) {
    if (error instanceof ApiError) return error.message
    throw error
  }
  throw new Error('the value was accepted')
}

test('the error for a value that does not match a pattern describes the pattern with an example', () => {
  const patterned = [queryOfEveryCreate, ...allOperations.flatMap(requestSchemasOf)].flatMap(patternedIn)
  expect(patterned.length).toBeGreaterThanOrEqual(5)
  for (const property of patterned) {
    const message = refusalOf(Type.Object({ given: property }), { given: '!' })
    expect(message).not.toContain(property.pattern)
    expect(message).toMatch(/^'given' must be [\w ,.-]+ such as [\w ,.-]+ \(got '!'\)\.$/)
  }
})

test.each([
  [{}, 'a whole number'],
  [{ minimum: 1 }, 'a whole number of at least 1'],
  [{ maximum: 9 }, 'a whole number of at most 9'],
  [{ minimum: 1, maximum: 9 }, 'a whole number from 1 to 9'],
])('an error names only the bounds that are enforced: %j', (bounds, demand) => {
  const schema = Type.Object({ count: Type.Integer(bounds) })
  expect(refusalOf(schema, { count: 1.5 })).toBe(`'count' must be ${demand} (got 1.5).`)
})

const nested = fc.oneof(
  plausible,
  fc.constantFrom<unknown>(
    { create: 5 },
    { create: 0 },
    ['vidB-2'],
    [{ period: 'day', limit_micros: 5 }],
    [{ period: 'day' }],
    1e300,
    -1,
  ),
)

test('lists, objects and nullable values are validated too, and an error names the place', () => {
  const schemas = fc.constantFrom<TObject>(AccountChange, KeyChange, SettingsChange)
  const given = schemas.chain((schema) =>
    fc.tuple(
      fc.constant(schema),
      fc.record(Object.fromEntries(Object.keys(schema.properties).map((name) => [name, nested])), {
        requiredKeys: [],
      }),
    ),
  )
  fc.assert(
    fc.property(given, ([schema, values]) => {
      try {
        expect(Value.Check(schema, read(schema, values).values)).toBe(true)
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        expect(Object.keys(schema.properties)).toContain(error.param?.replace(/[.[].*$/, ''))
      }
    }),
    { numRuns: 2_000 },
  )
})

test('null clears a nullable value and reads as absent elsewhere', () => {
  expect(read(AccountChange, { concurrency: null, name: null, status: 'active' }).values).toEqual({
    concurrency: null,
    status: 'active',
  })
})
