import { readdir, readFile } from 'node:fs/promises'

import { expect, test } from 'vitest'

import { snippetPages, snippetsIn, untestedBlocks, withSnippets } from './snippets.ts'

const root = new URL('../', import.meta.url)
const read = (file: string) => readFile(new URL(file, root), 'utf8')

test('a code block shows the text of its snippet', () => {
  const page = 'Text\n\n<!-- snippet: a.sh -->\n```sh\nold\n```\n\n```sh\nother\n```\n'
  expect(withSnippets(page, (name) => `run ${name}\n`)).toBe(
    'Text\n\n<!-- snippet: a.sh -->\n```sh\nrun a.sh\n```\n\n```sh\nother\n```\n',
  )
  expect(untestedBlocks(page)).toEqual(['```sh\nother\n```'])
})

test('every shell, JavaScript and Python example of these pages is a snippet, and every snippet is shown', async () => {
  const pages = await Promise.all(snippetPages.map(read))
  // webhooks-page.test.ts runs the one function in Python of that page.
  const isRunElsewhere = (block: string) => block.includes('def verify(')
  expect(pages.flatMap(untestedBlocks).filter((block) => !isRunElsewhere(block))).toEqual([])
  const shown = new Set(pages.flatMap(snippetsIn))
  expect([...shown].toSorted()).toEqual((await readdir(new URL('docs/snippets', root))).toSorted())
})
