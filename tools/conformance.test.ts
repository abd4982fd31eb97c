import { readFile } from 'node:fs/promises'

import { expect, test } from 'vitest'

import { faultsIn, gapsIn, readProject, statementsIn, titlesIn, type Project } from './conformance.ts'

const root = new URL('../', import.meta.url)

test('every statement of the reference has a test that exists, or a decided row of the gaps', async () => {
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

test('titles are read with the groups they are in, without those that do not run', () => {
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
])('%s is a proof', async (proof) => {
  expect(await faultsOf(proof)).toEqual([])
})

test.each([
  ['', 'nothing proves it'],
  ['soon', 'nothing proves it'],
  ['`some.test.ts › at the bottom`', "there is no test 'at the bottom' in gateway/some.test.ts"],
  ['`some.test.ts › a plain one`', "there are 2 of test 'a plain one' in gateway/some.test.ts"],
  ['`some.test.ts › skipped`', "there is no test 'skipped' in gateway/some.test.ts"],
  ['`some.test.ts`', 'some.test.ts is named without a test'],
  ['`other.test.ts › at the top`', 'there is no file other.test.ts'],
  ['`twice.test.ts › at the top`', 'there are 2 of file twice.test.ts'],
  ['[S3](spec-gaps.md)', 'there is no row S3 in docs/spec-gaps.md'],
  ['[S2](spec-gaps.md)', 'the row S2 in docs/spec-gaps.md names no test'],
])('%s is no proof', async (proof, fault) => {
  expect(await faultsOf(proof)).toEqual([`Line 3 (It is so): ${fault}.`])
})

test('a bar inside a cell is told, because it would hide what follows', () => {
  expect(() => statementsIn('| statement | proof |\n|---|---|\n| a | `b | c` |')).toThrow('Line 3')
})
