import { readFile } from 'node:fs/promises'
import path from 'node:path'

import { expect, it } from 'vitest'

import { lintFixture } from './lint-fixture.ts'
import { wallClockFiles } from './wall-clock.mjs'

const source = path.resolve(import.meta.dirname, '../../gateway/src')

it('the wall clock is read only where the table says so', async () => {
  const text = 'export const read = () => [Date.now(), new Date()]'
  const found = await lintFixture({
    'gateway/src/auth/reads.ts': text,
    'gateway/src/auth/passes.ts': 'export const clock = Date.now',
    'gateway/src/auth/converts.ts': 'export const read = () => [performance.now(), new Date(0)]',
    'gateway/src/auth/reads.test.ts': text,
    'gateway/src/storage/signed-link.ts': text,
    'local/src/reads.ts': text,
  })
  const rules = [...found].map(([file, reports]) => [
    file,
    reports.filter((each) => each.includes('wall-clock')).length,
  ])
  expect(rules).toEqual([
    ['gateway/src/auth/reads.ts', 2],
    ['gateway/src/auth/passes.ts', 1],
    ['gateway/src/auth/converts.ts', 0],
    ['gateway/src/auth/reads.test.ts', 0],
    ['gateway/src/storage/signed-link.ts', 0],
    ['local/src/reads.ts', 0],
  ])
})

it('every file in the table reads the wall clock', async () => {
  for (const file of Object.values(wallClockFiles).flat()) {
    expect(await readFile(path.join(source, file), 'utf8'), file).toMatch(/Date\.now|new Date\(\)/)
  }
})
