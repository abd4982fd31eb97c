import { existsSync, globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'

import { expect, test } from 'vitest'

const root = path.resolve(import.meta.dirname, '..')
/** A path in a document is relative to the root, or to the folder that the page is about. */
const bases = [
  ...['', 'gateway', 'gateway/src', 'gateway/src/billing', 'gateway/src/transcription-tasks'],
  ...['gateway/test', 'local/src'],
]

const pages = [
  'README.md',
  'AGENTS.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...globSync('docs/**/*.md', { cwd: root }),
]
const read = (file: string) => readFile(path.join(root, file), 'utf8')

/** The anchor that a heading has on the usual Git hosts. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')

test.each(pages)('the source files that %s names exist', async (page) => {
  const named = [...(await read(page)).matchAll(/`([\w.-]+(?:\/[\w.-]+)+\.(?:ts|mjs|sql))`/g)]
  const missing = named
    .map(([, name = '']) => name)
    .filter((name) => !bases.some((base) => existsSync(path.join(root, base, name))))
  expect(missing).toEqual([])
})

test.each(pages)('the links of %s lead to files and headings', async (page) => {
  const broken: string[] = []
  for (const [, target = ''] of (await read(page)).matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue
    const [file = '', anchor] = target.split('#')
    const linked = file === '' ? page : path.join(path.dirname(page), file)
    const isThere = existsSync(path.join(root, linked))
    const anchors = isThere && anchor !== undefined ? (await read(linked)).matchAll(/^#+ (.+)$/gm) : []
    const hasAnchor = anchor === undefined || [...anchors].some(([, text = '']) => anchorOf(text) === anchor)
    if (!isThere || !hasAnchor) broken.push(target)
  }
  expect(broken).toEqual([])
})

test('the documents that source files name exist', async () => {
  const missing: string[] = []
  for (const file of globSync('{contract,sandbox,gateway,local,cli,dev,tools}/**/*.{ts,mjs,sql}', {
    cwd: root,
  })) {
    if (file.includes('node_modules')) continue
    for (const [name] of (await read(file)).matchAll(/\bdocs\/[\w/-]+\.md\b/g)) {
      if (!existsSync(path.join(root, name))) missing.push(`${file}: ${name}`)
    }
  }
  expect(missing).toEqual([])
})
