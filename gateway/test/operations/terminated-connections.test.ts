/** Connections that PostgreSQL ends: a fast shutdown, an operator, or the connection limit. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

import { createDatabase } from '../kit/database.ts'

const program = fileURLToPath(new URL('../kit/query-lanes.ts', import.meta.url))

test('a process outlives connections that are terminated while it uses them, and connects again', async () => {
  await using database = await createDatabase()
  const { stdout } = await promisify(execFile)(process.execPath, [program, database.url])
  const counts = JSON.parse(stdout) as Record<string, number>
  expect(counts['terminated']).toBeGreaterThan(0)
  expect(counts['failed']).toBeGreaterThan(0)
  expect(counts['succeeded']).toBeGreaterThan(0)
})
