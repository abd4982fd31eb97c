/** Every column that can hold a text has a class, and content and identifiers have a time at which they are deleted. */
import { readdirSync, readFileSync } from 'node:fs'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../test/kit/database.ts'
import { personalData, storedFiles, type DataClass } from './personal-data.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

const classes: DataClass[] = ['content', 'identifier', 'accounting', 'settings', 'state']

/** The columns of each table that are text, JSON, bytes, or lists of texts. */
const findColumns = async () => {
  const { rows } = await database.postgres.query<{ table: string; columns: string[] }>(
    `select c.relname as table,
            coalesce(array_agg(a.attname::text order by a.attname)
                       filter (where a.atttypid in ('text'::regtype, 'jsonb'::regtype, 'json'::regtype, 'bytea'::regtype,
                                                    'varchar'::regtype, 'text[]'::regtype)), '{}') as columns
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      group by c.relname`,
  )
  return Object.fromEntries(rows.map(({ table, columns }) => [table, columns]))
}

test('every column that can hold a text has one class', async () => {
  const found = await findColumns()
  const classified = Object.fromEntries(
    Object.keys(found).map((table) => [
      table,
      classes.flatMap((each) => personalData[table]?.[each] ?? []).toSorted(),
    ]),
  )
  expect(classified).toEqual(found)
})

test('a table with content or identifiers says when they are deleted', () => {
  const isPersonal = ({ content, identifier }: (typeof personalData)[string]) =>
    content !== undefined || identifier !== undefined
  for (const [table, columns] of Object.entries(personalData))
    expect({ table, isSaid: columns.deleted !== undefined }).toEqual({ table, isSaid: isPersonal(columns) })
})

test('every folder of the media store is described', () => {
  const sources = new URL('..', import.meta.url)
  const folders = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .flatMap((name) => [
      ...readFileSync(new URL(name, sources), 'utf8').matchAll(/[kK]ey(?: =|:) `([a-z]+)\//g),
    ])
    .map(([, folder]) => folder)
  expect(folders.length).toBeGreaterThan(3)
  expect(Object.keys(storedFiles)).toEqual(expect.arrayContaining(folders))
})
