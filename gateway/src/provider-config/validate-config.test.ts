import { Type } from 'typebox'
import { Settings } from 'typebox/system'
import { expect, test } from 'vitest'

import { formatPath, validateConfig } from './validate-config.ts'

const item = Type.Object(
  { name: Type.String({ minLength: 1 }), order: Type.Integer({ minimum: 1, default: 1 }) },
  { additionalProperties: false },
)
const schema = Type.Object(
  {
    count: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 3 }),
    label: Type.Optional(Type.String({ minLength: 1 })),
    isOn: Type.Boolean({ default: true }),
    frame: Type.Union([Type.Literal('ratio'), Type.Literal('both')], { default: 'both' }),
    items: Type.Optional(Type.Array(item, { minItems: 1 })),
    fixed: Type.Record(Type.String(), Type.Unknown(), { default: {} }),
    key: Type.Optional(Type.String({ minLength: 1, 'x-secret': true })),
  },
  { additionalProperties: false },
)

const problemsOf = (given: unknown, written?: unknown) =>
  validateConfig(schema, given, written).problems.map(({ path, message }) => `${formatPath(path)} ${message}`)

test('numbers may be written as text and texts as numbers; null counts as absent', () => {
  const { values, problems } = validateConfig(schema, {
    ...{ count: '7', label: 4, isOn: null, items: [{ name: 5, order: null }], fixed: { deep: [null] } },
  })
  expect(problems).toEqual([])
  expect(values).toEqual({
    ...{ count: 7, label: '4', isOn: true, frame: 'both', items: [{ name: '5', order: 1 }] },
    fixed: { deep: [null] },
  })
})

test.each([
  [{ count: 0.5 }, 'count must be a whole number of at least 0, not 0.5'],
  [{ count: '0.5' }, 'count must be a whole number of at least 0, not "0.5"'],
  [{ count: 1e300 }, 'count must be a whole number of at least 0, not 1e+300'],
  [{ count: ' ' }, 'count must be a whole number of at least 0, not " "'],
  [{ count: '1e9' }, 'count must be a whole number of at least 0, not "1e9"; write it in decimal digits'],
  [{ count: '0x10' }, 'count must be a whole number of at least 0, not "0x10"; write it in decimal digits'],
  [{ count: 'Infinity' }, 'count must be a whole number of at least 0, not "Infinity"'],
  [{ count: 'many' }, 'count must be a whole number of at least 0, not "many"'],
  [{ isOn: 1 }, 'isOn must be true or false, not 1'],
  [{ isOn: 'true' }, 'isOn must be true or false, not "true"'],
  [{ label: '' }, 'label must be text, not ""'],
  [{ frame: 'none' }, 'frame must be one of ratio, both, not "none"'],
  [{ items: [] }, 'items must list at least one; leave it out for no restriction'],
  [{ items: ['a'] }, 'items[0] must be a mapping with names such as name, order, not "a"'],
  [{ items: [{}] }, 'items[0].name is required: text'],
  [{ items: [{ name: 'a', ordr: 1 }] }, 'items[0].ordr is not a setting; did you mean order?'],
  [{ key: ['secret'] }, 'key must be text'],
  [{ constructor: 1 }, 'constructor is not a setting'],
  [JSON.parse('{"__proto__": 1}'), '__proto__ is not a setting'],
  [{ 'a/b~c': 1 }, 'a/b~c is not a setting'],
  [['a'], ' must be a mapping with names such as count, label, isOn, not ["a"]'],
])('%j is refused', (given, problem) => {
  expect(problemsOf(given)).toEqual([problem])
})

test('all problems are reported, however many', () => {
  const items = Array.from({ length: 30 }, () => ({ name: 'a', order: 0 }))
  expect(problemsOf({ count: -1, items })).toHaveLength(31)
  expect(Settings.Get().maxErrors).toBe(8)
})

test('messages quote the config as it was written, without secrets that were filled in', () => {
  expect(problemsOf({ count: 'a secret' }, { count: '${env:COUNT}' })).toEqual([
    'count must be a whole number of at least 0, not "${env:COUNT}"',
  ])
})

test('only values without problems are returned', () => {
  expect(validateConfig(schema, { count: -1, label: 'a', items: [{}] }).values).toEqual({
    ...{ label: 'a', isOn: true, frame: 'both', fixed: {} },
  })
})
