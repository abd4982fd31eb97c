/**
 * What the official client libraries can do with this service, as the tests found it: `docs/compatibility.json`, and the
 * page that is made from it. A test fails if what it ran differs from the rows that name it, so neither can become stale.
 * `RECORD_COMPATIBILITY=1` writes what the tests find instead.
 */
import { readFileSync, writeFileSync } from 'node:fs'

/** The libraries, in the order of the page, and how the page names each. */
const libraries = {
  'openai-node': '`openai` for Node',
  'openai-python': '`openai` for Python',
  'ai-sdk-kinora': '`ai` with `@kinora/ai-sdk`',
  'ai-sdk-openai': '`ai` with `@ai-sdk/openai`',
  'kinora-client': '`@kinora/client`',
} as const

export type Library = keyof typeof libraries

export interface CompatibilityRow {
  library: Library
  /** The version that was installed when the test ran. */
  version: string
  /** As it is written in a program, such as `videos.create`; `images.*` for all methods of a group. */
  call: string
  result: 'works' | 'rejected'
  /** What to know about it; for a rejected call, the message of the error. */
  note: string
  /** The test that ran it. */
  provedBy: string
}

const file = new URL('../docs/compatibility.json', import.meta.url)

export const readCompatibility = (): CompatibilityRow[] =>
  JSON.parse(readFileSync(file, 'utf8')) as CompatibilityRow[]

const order = Object.keys(libraries)

const isInOrder = (one: CompatibilityRow, other: CompatibilityRow) =>
  order.indexOf(one.library) - order.indexOf(other.library) ||
  Number(one.result === 'rejected') - Number(other.result === 'rejected') ||
  one.call.localeCompare(other.call, 'en')

/** The checked-in rows of a test, after they were replaced by `found` if the caller of the test wants that. */
export const checkedInRows = (provedBy: string, found: CompatibilityRow[]): CompatibilityRow[] => {
  if (process.env['RECORD_COMPATIBILITY'] === '1') {
    const others = readCompatibility().filter((row) => row.provedBy !== provedBy)
    const rows = [...others, ...found].toSorted(isInOrder)
    writeFileSync(file, `${JSON.stringify(rows, null, 2)}\n`)
  }
  return readCompatibility().filter((row) => row.provedBy === provedBy)
}

export const sortRows = (rows: CompatibilityRow[]): CompatibilityRow[] => rows.toSorted(isInOrder)

const cell = (text: string) => text.replaceAll('|', '\\|')

/** One section for each library with rows. */
const sections = (rows: CompatibilityRow[]): string[] =>
  Object.entries(libraries).flatMap(([library, title]) => {
    const own = sortRows(rows.filter((row) => row.library === library))
    if (own.length === 0) return []
    const versions = [...new Set(own.map(({ version }) => version))].join(', ')
    const tests = [...new Set(own.map(({ provedBy }) => provedBy))].toSorted()
    return [
      `## ${title}`,
      '',
      `Version ${versions}, run by ${tests.map((path) => `[${path}](../${path})`).join(', ')}.`,
      '',
      '| call | result | note |',
      '|---|---|---|',
      ...own.map(({ call, result, note }) => `| \`${call}\` | ${result} | ${cell(note)} |`),
      '',
    ]
  })

export const compatibilityPage = (note: string, rows = readCompatibility()): string[] => [
  '# Official client libraries',
  '',
  note,
  '',
  'Each row is a call that a test made with the library, against this service with only the base URL and the key changed. The',
  'test fails if the result is another one. A rejected call is 404 `endpoint_not_found` or 405 `method_not_allowed` with',
  '`x-should-retry: false`, so no library repeats it, and the note is the message of the error. A call that works may still',
  'have parameters without effect: the header `X-Ignored-Params` names them.',
  '',
  'To record a new version, run each test with `RECORD_COMPATIBILITY=1`, one after the other, then `npm run generate`.',
  '',
  ...sections(rows),
]
