import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { followLog } from './follow-log.ts'

let directory: string

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'kinora-follow-log-'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const follow = (name: string, content?: string) => {
  const file = join(directory, name)
  if (content !== undefined) writeFileSync(file, content)
  const lines: string[] = []
  const log = followLog(file, (line) => lines.push(line))
  return { file, lines, read: log.read }
}

test('lines are passed on when they are complete, and what was there before is not', () => {
  const { file, lines, read } = follow('whole.log', 'old\n')
  read()
  appendFileSync(file, 'one\ntw')
  read()
  expect(lines).toEqual(['one'])
  const whale = Buffer.from('o 🐋\n')
  appendFileSync(file, whale.subarray(0, 4))
  read()
  appendFileSync(file, whale.subarray(4))
  read()
  expect(lines).toEqual(['one', 'two 🐋'])
})

test('a file may appear later, and may be truncated', () => {
  const { file, lines, read } = follow('later.log')
  read()
  writeFileSync(file, 'first line\nsecond line\n')
  read()
  truncateSync(file)
  appendFileSync(file, 'third\n')
  read()
  expect(lines).toEqual(['first line', 'second line', 'third'])
})

test('of a file that grows too fast, complete lines of its end are read', () => {
  const { file, lines, read } = follow('fast.log', '')
  appendFileSync(file, `${'x'.repeat(1023)}\n`.repeat(10 * 1024))
  appendFileSync(file, 'last\n')
  read()
  expect(lines.at(-1)).toBe('last')
  expect(lines.length).toBeLessThan(5_000)
  expect(new Set(lines.slice(0, -1))).toEqual(new Set(['x'.repeat(1023)]))
})
