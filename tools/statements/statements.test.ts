/** Checks the SQL of gateway/src with the statements that the tests before have recorded. */
import { readdirSync, readFileSync } from 'node:fs'

import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../gateway/test/kit/database.ts'
import { compareRow } from './compare-row.ts'
import { describeStatements } from './describe-statement.ts'
import { findCalls, type Call, type Calls } from './find-calls.ts'

let found: Calls
let database: TestDatabase
/** The texts that each call has executed; a call in a loop or with conditions has several. */
const executed = new Map<Call, Set<string>>()

beforeAll(async () => {
  database = await createDatabase()
  found = findCalls()
  const callsByPlace = new Map(found.calls.map((call) => [call.place, call]))
  const callsByText = Map.groupBy(found.calls, ({ text }) => text)
  for (const call of found.calls) executed.set(call, new Set())
  const directory = inject('statements')
  for (const file of readdirSync(directory)) {
    for (const line of readFileSync(`${directory}/${file}`, 'utf8').trimEnd().split('\n')) {
      const { text, callers } = JSON.parse(line) as { text: string; callers: string[] }
      const caller = callers.map((place) => callsByPlace.get(place)).find((call) => call !== undefined)
      // A text is recorded once, even if several calls execute it.
      for (const call of [caller, ...(callsByText.get(text) ?? [])])
        if (call !== undefined) executed.get(call)?.add(text)
    }
  }
})
afterAll(async () => {
  found[Symbol.dispose]()
  await database[Symbol.asyncDispose]()
})

test('statements are in the source, and were recorded; run `npm run test:operations` for all of them', () => {
  expect(found.calls).not.toEqual([])
  expect(readdirSync(inject('statements'))).not.toEqual([])
})

test('a test of operations executes every statement', () => {
  const findings = [...executed]
    .filter(([, texts]) => texts.size === 0)
    .map(([{ place }]) => `${place} no test of operations executes this statement: add one, or delete it`)
  expect(findings).toEqual([])
})

test('row types agree with the columns that PostgreSQL describes', async () => {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    const describeStatement = await describeStatements(client)
    const findings = new Set<string>()
    for (const [{ place, row }, texts] of executed) {
      if (row === undefined) continue
      for (const text of texts) {
        const columns = await describeStatement(text).catch((error: Error) => error.message)
        const differences = typeof columns === 'string' ? [columns] : compareRow(row, columns)
        for (const difference of differences) findings.add(`${place} ${difference}`)
      }
    }
    expect([...findings]).toEqual([])
  } finally {
    await client.end()
  }
})
