/** Checks the shape of the source tree and its vocabulary, which neither the compiler nor the linter does. */
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'

import { expect, test } from 'vitest'

import { isTest } from './lint/boundaries.mjs'

const root = path.resolve(import.meta.dirname, '..')
const filesInFolderMax = 25
const linesInFileMax = 400

/** Files that may be longer, with the reason. */
const longFiles: Record<string, string> = {
  'gateway/src/config.ts': 'table of settings',
  'local/src/subjects/subject-table.ts': 'table of subjects',
}

/** Terms that were replaced by standard ones; written so that this line does not match itself. */
const replacedTerms = /\b(?:n[e]ws|a[i]ling|p[u]rses?|n[u]dges?)\b/i

const filesOf = (pattern: string): string[] =>
  globSync(pattern, { cwd: root, exclude: ['**/node_modules/**', '.kinora/**', 'coverage/**'] })

const linesOf = async (file: string): Promise<string[]> =>
  (await readFile(path.join(root, file), 'utf8')).trimEnd().split('\n')

test(`no source folder has more than ${filesInFolderMax} files`, () => {
  const files = filesOf('{gateway,local}/src/**/*.*').filter((file) => !isTest(file))
  expect(files.length).toBeGreaterThan(300)
  const folders = Object.entries(Object.groupBy(files, (file) => path.dirname(file)))
  const large = folders.flatMap(([folder, { length } = []]) =>
    length > filesInFolderMax ? `${folder} has ${length} files` : [],
  )
  expect(large).toEqual([])
})

test(`no source file has more than ${linesInFileMax} lines, except tables`, async () => {
  const files = filesOf('{contract,client,sandbox,gateway,local,cli,ai-sdk}/src/**/*.ts').filter(
    (file) => !isTest(file) && !file.includes('/generated/'),
  )
  const long: string[] = []
  for (const file of files) {
    const { length } = await linesOf(file)
    if (length > linesInFileMax && !Object.hasOwn(longFiles, file)) long.push(`${file} has ${length} lines`)
  }
  expect(long).toEqual([])
})

test('source, documents and SQL use the standard terms', async () => {
  const files = filesOf('**/*.{ts,mjs,sql,md,yaml}')
  const found: string[] = []
  for (const file of files) {
    for (const line of await linesOf(file)) {
      if (replacedTerms.test(line)) found.push(`${file}: ${line.trim()}`)
    }
  }
  expect(found).toEqual([])
})
