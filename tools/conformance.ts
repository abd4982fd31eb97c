/**
 * Checks docs/conformance.md: every statement of the API reference names the tests that fail when it is violated, or the
 * rows of docs/spec-gaps.md that decide it. Renaming, skipping or deleting a test invalidates its row.
 */
import { readdir, readFile } from 'node:fs/promises'

import { parseSync } from 'vite'

export interface Statement {
  line: number
  text: string
  /** `file › title`, or `file › describe › title` where a file has that title more than once. */
  tests: string[]
  /** Rows of docs/spec-gaps.md. */
  gaps: string[]
}

const separator = ' › '

const cellsOf = (row: string): string[] => row.slice(1, row.lastIndexOf('|')).split('|')

/** The rows of all tables whose first column is `statement`. */
export const statementsIn = (page: string): Statement[] => {
  const statements: Statement[] = []
  let isProofTable = false
  for (const [index, row] of page.split('\n').entries()) {
    if (!row.startsWith('|')) {
      isProofTable = false
      continue
    }
    const [text = '', proof = '', ...more] = cellsOf(row).map((cell) => cell.trim())
    if (text === 'statement') isProofTable = true
    else if (isProofTable && !/^-+$/.test(text)) {
      // A bar inside a title would silently truncate it.
      if (more.length > 0) throw new Error(`Line ${index + 1} has ${more.length + 2} columns instead of 2.`)
      const tests = [...proof.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
      const gaps = [...proof.matchAll(/\[(\w+)\]\(spec-gaps\.md\)/g)].map(([, id = '']) => id)
      statements.push({ line: index + 1, text, tests, gaps })
    }
  }
  return statements
}

/** The rows of docs/spec-gaps.md: id and column of tests. */
export const gapsIn = (page: string): Map<string, string> =>
  new Map(
    page.split('\n').flatMap((row) => {
      const cells = cellsOf(row).map((cell) => cell.trim())
      const [id = ''] = cells
      return row.startsWith('|') && /^[A-Z]\d+[a-z]?$/.test(id) ? [[id, cells.at(-1) ?? '']] : []
    }),
  )

interface Node {
  type: string
  [member: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'

/** `test.concurrent.each(…)` as `['test', 'concurrent', 'each']`. */
const wordsOf = (callee: unknown): string[] => {
  if (!isNode(callee)) return []
  if (callee.type === 'Identifier') return [String(callee['name'])]
  if (callee.type === 'MemberExpression')
    return [...wordsOf(callee['object']), ...wordsOf(callee['property'])]
  if (callee.type === 'CallExpression') return wordsOf(callee['callee'])
  if (callee.type === 'TaggedTemplateExpression') return wordsOf(callee['tag'])
  return []
}

const titleOf = (node: unknown, source: string): string | undefined => {
  if (!isNode(node)) return undefined
  if (node.type === 'Literal' && typeof node['value'] === 'string') return node['value']
  if (node.type === 'TemplateLiteral') return source.slice(Number(node['start']) + 1, Number(node['end']) - 1)
  return undefined
}

/** The titles of all tests that run, each after the titles of its `describe` groups. */
export const titlesIn = (filename: string, source: string): string[][] => {
  const titles: string[][] = []
  const walk = (value: unknown, groups: string[]): void => {
    if (Array.isArray(value)) {
      for (const each of value) walk(each, groups)
      return
    }
    if (!isNode(value)) return
    const [kind = '', ...modifiers] = value.type === 'CallExpression' ? wordsOf(value['callee']) : []
    const [first, ...rest] = (value['arguments'] ?? []) as unknown[]
    const title = ['describe', 'test'].includes(kind) ? titleOf(first, source) : undefined
    if (title === undefined) {
      for (const member of Object.values(value)) walk(member, groups)
      return
    }
    if (modifiers.some((each) => /^(?:skip|todo|runIf|fails)/.test(each))) return
    if (kind === 'describe') walk(rest, [...groups, title])
    else titles.push([...groups, title])
  }
  walk(parseSync(filename, source).program, [])
  return titles
}

const endsWith = (whole: string[], end: string[]): boolean =>
  end.every((each, index) => each === whole[whole.length - end.length + index])

/** The fault of a count that should be 1; undefined if it is. */
const faultOfCount = (count: number, wanted: string): string | undefined => {
  if (count === 0) return `${wanted} does not exist`
  return count === 1 ? undefined : `${wanted} exists ${count} times`
}

export interface Project {
  /** Paths of all test files, from the root. */
  files: string[]
  sourceOf: (file: string) => Promise<string>
  gaps: Map<string, string>
}

/** The faults of the page, one sentence each. */
export const faultsIn = async (page: string, { files, sourceOf, gaps }: Project): Promise<string[]> => {
  const known = new Map<string, string[][]>()
  const titlesOf = async (file: string) => {
    const titles = known.get(file) ?? titlesIn(file, await sourceOf(file))
    known.set(file, titles)
    return titles
  }
  const faultOfTest = async (reference: string): Promise<string | undefined> => {
    const [name = '', ...path] = reference.split(separator)
    const named = files.filter((each) => each === name || each.endsWith(`/${name}`))
    const [file] = named
    if (file === undefined || named.length > 1) return faultOfCount(named.length, `file ${name}`)
    if (path.length === 0) return `${name} has no test title`
    const found = (await titlesOf(file)).filter((each) => endsWith(each, path))
    return faultOfCount(found.length, `test '${path.join(separator)}' in ${file}`)
  }
  const faultOfGap = (id: string): string | undefined => {
    const tests = gaps.get(id)
    if (tests === undefined) return `row ${id} of docs/spec-gaps.md does not exist`
    const named = tests.match(/[\w./-]+\.test\.ts/g) ?? []
    if (named.length === 0) return `row ${id} of docs/spec-gaps.md names no test`
    const missing = named.find((name) => !files.some((each) => each === name || each.endsWith(`/${name}`)))
    return missing === undefined
      ? undefined
      : `row ${id} of docs/spec-gaps.md names ${missing}, which does not exist`
  }
  const faults: string[] = []
  for (const { line, text, tests, gaps: ids } of statementsIn(page)) {
    const found = [...(await Promise.all(tests.map(faultOfTest))), ...ids.map(faultOfGap)]
    if (found.length === 0) found.push('it names no test and no gap')
    for (const fault of found) if (fault !== undefined) faults.push(`Line ${line} (${text}): ${fault}.`)
  }
  return faults
}

/** Reads the test files and gaps below this root. */
export const readProject = async (root: URL): Promise<Project> => {
  const read = (file: string) => readFile(new URL(file, root), 'utf8')
  const folders = ['contract', 'sandbox', 'gateway', 'local', 'cli', 'ai-sdk', 'tools', 'dev']
  const files = await Promise.all(
    folders.map(async (folder) => {
      const entries = await readdir(new URL(folder, root), { recursive: true })
      return entries.flatMap((entry) =>
        entry.endsWith('.test.ts') && !entry.includes('node_modules') ? `${folder}/${entry}` : [],
      )
    }),
  )
  return { files: files.flat(), sourceOf: read, gaps: gapsIn(await read('docs/spec-gaps.md')) }
}
