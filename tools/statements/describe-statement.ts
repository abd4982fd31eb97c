/** What PostgreSQL says about the columns of a statement, without executing it. */
import pg from 'pg'

import type { Kind } from './find-calls.ts'

export interface Column {
  name: string
  type: string
  /** Undefined for JSON and others that may be anything. */
  kind: Kind | undefined
  /** The table and the column that may be null; undefined if it may not, or if it is an expression. */
  nullable: string | undefined
}

interface Field {
  name: string
  tableID: number
  columnID: number
  dataTypeID: number
}

interface DatabaseType {
  name: string
  category: string
  element: number
}

/** Prepares a statement under a name and describes it. */
const readFields = (client: pg.Client, name: string, text: string): Promise<Field[]> =>
  new Promise((resolve, reject) => {
    let fields: Field[] = []
    client.query({
      submit: (connection: pg.Connection) => {
        connection.parse({ name, text, types: [] }, true)
        connection.describe({ type: 'S', name }, true)
        connection.sync()
      },
      handleRowDescription: (message: { fields: Field[] }) => {
        fields = message.fields
      },
      handleReadyForQuery: () => resolve(fields),
      handleError: reject,
    } as unknown as pg.Submittable)
  })

interface Plan {
  Alias?: string
  'Join Type'?: string
  'Parent Relationship'?: string
  Output?: string[]
  Plans?: Plan[]
}

const nullableSides: Record<string, string[]> = {
  Left: ['Inner'],
  Right: ['Outer'],
  Full: ['Inner', 'Outer'],
}

/** The aliases of tables that an outer join may leave without a row. */
const findOuterJoined = (plan: Plan, isNullable = false): string[] => [
  // PostgreSQL numbers the partitions of a table.
  ...(isNullable && plan.Alias !== undefined ? [plan.Alias, plan.Alias.replace(/_\d+$/, '')] : []),
  ...(plan.Plans ?? []).flatMap((child) => {
    const side = child['Parent Relationship'] ?? ''
    const isJoined = side === 'Inner' || side === 'Outer' || side === 'Member' || side === 'Subquery'
    const isOptional = nullableSides[plan['Join Type'] ?? '']?.includes(side) === true
    return findOuterJoined(child, isOptional || (isNullable && isJoined))
  }),
]

/** For each column of a prepared statement, whether it is of a table that an outer join may leave without a row. */
const readOuterJoined = async (client: pg.Client, name: string, text: string): Promise<boolean[]> => {
  if (!/\b(left|right|full)( outer)? join\b/i.test(text)) return []
  const parameters = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)))
  const values = parameters === 0 ? '' : `(${Array.from({ length: parameters }, () => 'null').join(', ')})`
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    `explain (verbose, format json) execute ${name}${values}`,
  )
  const plan = rows[0]?.['QUERY PLAN'][0].Plan
  if (plan === undefined) throw new Error('no plan')
  const aliases = new Set(findOuterJoined(plan))
  return (plan.Output ?? []).map((output) => aliases.has(/^"?(\w+)"?\."?\w+"?$/.exec(output)?.[1] ?? ''))
}

// Parsing a sample shows what JavaScript gets. `gateway/src/platform/postgres.ts` sets the parsers when it is loaded.
const samples: Record<string, string> = { B: 't', D: '2000-01-01', N: '1', S: 'a', E: 'a' }

const kindOf = (value: unknown): Kind => {
  if (Array.isArray(value)) return [kindOf(value[0])]
  if (value instanceof Date) return 'Date'
  if (Buffer.isBuffer(value)) return 'Buffer'
  return typeof value as 'string' | 'number' | 'boolean'
}

/** The column, unless the statement has a condition that it is not null. */
const findNullable = (text: string, column: string | undefined): string | undefined => {
  const [, name] = column?.split('.') ?? []
  return new RegExp(String.raw`\b(where|and|on)\s+(\w+\.)?${name} is not null\b`).test(text)
    ? undefined
    : column
}

export const describeStatements = async (client: pg.Client) => {
  const types = new Map<number, DatabaseType>()
  for (const { oid, ...type } of (
    await client.query<DatabaseType & { oid: number }>(
      'select oid::int, typname as name, typcategory as category, typelem::int as element from pg_type',
    )
  ).rows) {
    types.set(oid, type)
  }
  const nullable = new Map<string, string>()
  for (const { key, name } of (
    await client.query<{ key: string; name: string }>(
      `select attrelid::int || '.' || attnum as key, attrelid::regclass || '.' || attname as name
         from pg_attribute where attnum > 0 and not attnotnull`,
    )
  ).rows) {
    nullable.set(key, name)
  }

  const sampleOf = (oid: number): string | undefined => {
    const type = types.get(oid)
    if (type === undefined) return undefined
    if (type.category === 'A') {
      const sample = sampleOf(type.element)
      return sample === undefined ? undefined : `{${sample}}`
    }
    if (type.name === 'bytea') return String.raw`\x00`
    return type.name === 'uuid' ? 'a' : samples[type.category]
  }

  // The values of parameters would remove parts of a plan.
  await client.query('set plan_cache_mode to force_generic_plan')
  let count = 0
  return async (text: string): Promise<Column[]> => {
    const name = `described_${(count += 1)}`
    const fields = await readFields(client, name, text)
    const outerJoined = await readOuterJoined(client, name, text)
    return fields.map((field, index) => {
      const sample = sampleOf(field.dataTypeID)
      return {
        name: field.name,
        type: types.get(field.dataTypeID)?.name ?? 'unknown',
        kind:
          sample === undefined
            ? undefined
            : kindOf((pg.types.getTypeParser(field.dataTypeID, 'text') as (text: string) => unknown)(sample)),
        nullable: outerJoined[index]
          ? 'an outer join'
          : findNullable(text, nullable.get(`${field.tableID}.${field.columnID}`)),
      }
    })
  }
}
