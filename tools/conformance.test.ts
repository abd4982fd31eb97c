import { readFile } from 'node:fs/promises'

import { expect, test } from 'vitest'

import { faultsIn, gapsIn, readProject, statementsIn, titlesIn, type Project } from './conformance.ts'

const root = new URL('../', import.meta.url)

test('every statement of the reference names existing tests or rows of the gaps', async () => {
  const page = await readFile(new URL('docs/conformance.md', root), 'utf8')
  expect(statementsIn(page).length).toBeGreaterThan(200)
  expect(await faultsIn(page, await readProject(root))).toEqual([])
})

const source = `
  import { describe, test } from 'vitest'
  test('at the top', () => {})
  describe('200', () => {
    test('a plain one', () => {})
    test.each([1, 2])('takes %i', () => {})
    test.concurrent.each(['a'])("it's %s", () => {})
  })
  describe.each(['x'])('400 %s', (name) => {
    if (name !== '') {
      test('a plain one', () => {})
      test(\`made of \${name}\`, () => {})
    }
    test.skip('skipped', () => {})
    test.todo('to do')
  })
  describe.skip('500', () => { test('left out', () => {}) })
`

test('titles include their groups and exclude tests that do not run', () => {
  expect(titlesIn('some.test.ts', source)).toEqual([
    ['at the top'],
    ['200', 'a plain one'],
    ['200', 'takes %i'],
    ['200', "it's %s"],
    ['400 %s', 'a plain one'],
    ['400 %s', 'made of ${name}'],
  ])
})

const project: Project = {
  files: ['gateway/some.test.ts', 'gateway/a/twice.test.ts', 'gateway/b/twice.test.ts'],
  sourceOf: () => Promise.resolve(source),
  gaps: gapsIn(
    '| S1 | question | answer | `code.ts` | `some.test.ts` |\n| S2 | question | answer | `code.ts` | – |',
  ),
}
const faultsOf = (proof: string) =>
  faultsIn(`| statement | proof |\n|---|---|\n| It is so | ${proof} |`, project)

test.each([
  '`some.test.ts › at the top`',
  '`some.test.ts › takes %i`, `gateway/some.test.ts › 200 › a plain one`',
  '`a/twice.test.ts › at the top`',
  '[S1](spec-gaps.md)',
  '`some.test.ts › at the top`, [S1](spec-gaps.md)',
])('accepts %s', async (proof) => {
  expect(await faultsOf(proof)).toEqual([])
})

test.each([
  ['', 'it names no test and no gap'],
  ['soon', 'it names no test and no gap'],
  ['`some.test.ts › at the bottom`', "test 'at the bottom' in gateway/some.test.ts does not exist"],
  ['`some.test.ts › a plain one`', "test 'a plain one' in gateway/some.test.ts exists 2 times"],
  ['`some.test.ts › skipped`', "test 'skipped' in gateway/some.test.ts does not exist"],
  ['`some.test.ts`', 'some.test.ts has no test title'],
  ['`other.test.ts › at the top`', 'file other.test.ts does not exist'],
  ['`twice.test.ts › at the top`', 'file twice.test.ts exists 2 times'],
  ['[S3](spec-gaps.md)', 'row S3 of docs/spec-gaps.md does not exist'],
  ['[S2](spec-gaps.md)', 'row S2 of docs/spec-gaps.md names no test'],
])('rejects %s', async (proof, fault) => {
  expect(await faultsOf(proof)).toEqual([`Line 3 (It is so): ${fault}.`])
})

test('a bar inside a cell is an error, because it would hide the rest of the cell', () => {
  expect(() => statementsIn('| statement | proof |\n|---|---|\n| a | `b | c` |')).toThrow('Line 3')
})
