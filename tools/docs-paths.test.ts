import { existsSync, globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'

import { expect, test } from 'vitest'

const root = path.resolve(import.meta.dirname, '..')
/** A path in a document is relative to the root, or to the folder that the page is about. */
const bases = [
  '',
  'gateway/src',
  'gateway/src/transcription-tasks',
  'gateway/src/billing',
  'gateway',
  'local/src',
  'gateway/test',
]

const pages = ['README.md', 'AGENTS.md', 'CONTRIBUTING.md', ...globSync('docs/*.md', { cwd: root })]

test.each(pages)('the source files that %s names exist', async (page) => {
  const text = await readFile(path.join(root, page), 'utf8')
  const named = [...text.matchAll(/`([\w.-]+(?:\/[\w.-]+)+\.(?:ts|mjs|sql))`/g)].map(([, name = '']) => name)
  const missing = named.filter((name) => !bases.some((base) => existsSync(path.join(root, base, name))))
  expect(missing).toEqual([])
})
