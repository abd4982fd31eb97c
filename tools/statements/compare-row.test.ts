import { expect, test } from 'vitest'

import { compareRow } from './compare-row.ts'
import type { Column } from './describe-statement.ts'
import type { Kind, Property } from './find-calls.ts'

const property = (name: string, kind: Kind, rest: Partial<Property> = {}): Property => ({
  ...{ name, declared: String(kind), isOptional: false, isNullable: false },
  mayBe: (other) => String(other) === String(kind),
  ...rest,
})
const column = (name: string, rest: Partial<Column> = {}): Column => ({
  ...{ name, type: 'text', kind: 'string', nullable: undefined },
  ...rest,
})
const compare = (properties: Property[], columns: Column[]) =>
  compareRow({ properties, isWhole: true }, columns)

test('a row type that agrees with its statement has no findings', () => {
  expect(compare([property('id', 'string')], [column('id')])).toEqual([])
})

test('a misspelled column is reported on both sides', () => {
  expect(compare([property('taskId', 'string')], [column('taskid')])).toEqual([
    'the row type has taskId, but the statement returns taskid: rename one of them',
    'the statement returns taskid, which the row type lacks: declare it, or do not select it',
  ])
})

test('a wrong type is reported with the type that pg reads', () => {
  const count = column('count', { type: 'int8', kind: 'number' })
  expect(compare([property('count', 'string')], [count])).toEqual([
    'count is int8, which is read as number: do not declare it as string',
  ])
})

test('a nullable column must be declared as one', () => {
  const provider = column('provider', { nullable: 'video_tasks.provider' })
  expect(compare([property('provider', 'string')], [provider])).toEqual([
    'provider may be null (video_tasks.provider): declare string | null, or add "and … is not null"',
  ])
  expect(compare([property('provider', 'string', { isNullable: true })], [provider])).toEqual([])
})

test('an optional property may be missing, and a type parameter may have further properties', () => {
  expect(compare([property('id', 'string', { isOptional: true })], [])).toEqual([])
  expect(compareRow({ properties: [], isWhole: false }, [column('id')])).toEqual([])
})
