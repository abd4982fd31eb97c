/**
 * Keeps the examples of these pages equal to the files in docs/snippets, which a test runs. A comment
 * `<!-- snippet: name -->` stands before the code block that shows the file.
 */
import { readFileSync } from 'node:fs'

const marked = /<!-- snippet: ([\w.-]+) -->\n```(\w+)\n[^]*?```/g

/** A page with the current text of each snippet in its code block. */
export const withSnippets = (page: string, read: (name: string) => string): string =>
  page.replaceAll(
    marked,
    (_all, name: string, language: string) =>
      `<!-- snippet: ${name} -->\n\`\`\`${language}\n${read(name)}\`\`\``,
  )

/** The snippets that a page shows. */
export const snippetsIn = (page: string): string[] => [...page.matchAll(marked)].map(([, name = '']) => name)

/** Code blocks in shell, JavaScript or Python that are not snippets, and so not tested. */
export const untestedBlocks = (page: string): string[] =>
  [...page.replaceAll(marked, '').matchAll(/```(?:sh|bash|js|ts|python)\n[^]*?```/g)].map(([block]) => block)

export const snippetPages = [
  'README.md',
  'docs/guide.md',
  'docs/webhooks.md',
  'docs/python.md',
  'docs/migrate-from-openai.md',
]

const root = new URL('../', import.meta.url)
export const readSnippet = (name: string): string =>
  readFileSync(new URL(`docs/snippets/${name}`, root), 'utf8')

export const pagesWithSnippets = (): Record<string, string> =>
  Object.fromEntries(
    snippetPages.map((file) => [file, withSnippets(readFileSync(new URL(file, root), 'utf8'), readSnippet)]),
  )
