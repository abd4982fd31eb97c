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

test('every shell and JavaScript example of these pages is a snippet, and every snippet is shown', async () => {
  const pages = await Promise.all(snippetPages.map(read))
  expect(pages.flatMap(untestedBlocks)).toEqual([])
  const shown = new Set(pages.flatMap(snippetsIn))
  expect([...shown].toSorted()).toEqual((await readdir(new URL('docs/snippets', root))).toSorted())
})
