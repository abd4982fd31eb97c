/**
 * Reads the setup from its YAML file. Everything that is wrong with the file is said at once, each with its line. The
 * file need not hold secrets: `${env:NAME}` stands for a variable, and `${file:/path}` for what a file holds.
 */
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Document } from 'yaml'

import type { Protocol } from '../providers/kit/protocol.ts'
import { isEntry, placeText, type Problem } from './config-reader.ts'
import type { ProviderConfig } from './config.ts'
import { parseModelConfig } from './model-config.ts'
import { didYouMean } from './nearest-name.ts'
import { parseProviderConfig } from './provider-config.ts'

/** What the file says cannot be used; each problem is one line of text. */
export class ProviderConfigError extends Error {
  readonly problems: string[]

  constructor(problems: string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

export interface ConfigContext {
  protocols: Record<string, Protocol>
  knownModels: string[]
  environment: Partial<Record<string, string>>
  /** Reads a whole file, or throws; told of every file that the setup depends on. */
  readText: (path: string) => string
}

const codeOf = (error: unknown) => (error as { code?: string }).code ?? 'it failed'

/** The built-in provider, where nobody says anything of providers. */
export const builtInConfig = (protocols: Record<string, Protocol>): ProviderConfig => {
  const entry = { kind: 'local', slots: 200, pollIntervalMsMin: 500, pollIntervalMsMax: 5_000 }
  const { settings, problems } = parseProviderConfig('local', entry, protocols)
  if (settings === undefined) throw new Error(`the built-in provider: ${JSON.stringify(problems)}`)
  return { providers: [settings], models: {} }
}

/** The line that a place begins on, or what is nearest above it where it is not there. Of a name given twice the last counts. */
const lineFinder = (document: Document, lines: LineCounter) => (path: (string | number)[]) => {
  let node: unknown = document.contents
  let offset = 0
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document)
    if (isMap(node)) {
      const pair = node.items.findLast(({ key }) => isScalar(key) && String(key.value) === step)
      if (pair === undefined) break
      if (isScalar(pair.key)) offset = pair.key.range?.[0] ?? offset
      node = pair.value
    } else if (isSeq(node) && typeof step === 'number') {
      node = node.items[step]
      if (isMap(node) || isScalar(node) || isSeq(node)) offset = node.range?.[0] ?? offset
    } else break
  }
  return lines.linePos(offset).line
}

/** Puts secrets in their places, in every text of an entry. */
const fillIn = (
  given: unknown,
  { environment, readText }: Pick<ConfigContext, 'environment' | 'readText'>,
): { value: unknown; problems: Problem[] } => {
  const problems: Problem[] = []
  const secretOf = (path: Problem['path'], form: string, source: string, name: string): string => {
    const complain = (message: string) => {
      problems.push({ path, message })
      return form
    }
    if (source === 'env') return environment[name] || complain(`names ${form}, which is not set`)
    if (source === 'file') {
      try {
        return readText(name).replace(/\r?\n$/, '') || complain(`names ${form}, which is empty`)
      } catch (error) {
        return complain(`names ${form}, which cannot be read (${codeOf(error)})`)
      }
    }
    return complain(`has ${form}; write \${env:NAME} or \${file:/path}`)
  }
  const filled = (value: unknown, path: Problem['path']): unknown => {
    if (typeof value === 'string') {
      return value.replace(/\$\{(?:(\w+):)?([^}]*)\}/g, (form, source: string | undefined, name: string) =>
        secretOf(path, form, source ?? '', name),
      )
    }
    if (Array.isArray(value)) return value.map((each: unknown, index) => filled(each, [...path, index]))
    if (!isEntry(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, filled(each, [...path, name])]),
    )
  }
  return { value: filled(given, []), problems }
}

const sections = ['providers', 'models']

const parseYaml = (file: string, text: string) => {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true })
  const faults = [...document.errors, ...document.warnings].map(({ code, message, pos: [start] }) => {
    const line = lines.linePos(start).line
    const name = /^["']?([^"':,{}\s]+)/.exec(text.slice(start))?.[1] ?? 'a name'
    const what = code === 'DUPLICATE_KEY' ? `${name} is there twice; keep one of them` : message
    return { code, line, text: `${file}:${line}: ${what}` }
  })
  // What else is wrong with a text that is no YAML cannot be told.
  if (faults.some(({ code }) => code !== 'DUPLICATE_KEY'))
    throw new ProviderConfigError(faults.map(({ text }) => text))
  return { content: document.toJS() as unknown, lineOf: lineFinder(document, lines), faults }
}

/** What the file sets up, or a `ProviderConfigError` with everything that is wrong with it. */
export const readConfigFile = (file: string, context: ConfigContext): ProviderConfig => {
  const { protocols, knownModels, readText } = context
  let text: string
  try {
    text = readText(file)
  } catch (error) {
    throw new ProviderConfigError([`PROVIDERS_FILE ${file} cannot be read (${codeOf(error)})`])
  }
  const { content, lineOf, faults } = parseYaml(file, text)
  const problems: { line: number; text: string }[] = [...faults]
  const complain = (path: Problem['path'], found: Problem[]) => {
    for (const problem of found) {
      const place = [...path, ...problem.path]
      const line = lineOf(place)
      problems.push({
        line,
        text: `${file}:${line}: ${placeText(place)} ${problem.message}`.replace(':  ', ': '),
      })
    }
  }
  const sectionOf = (name: string): Record<string, unknown> => {
    const section = isEntry(content) ? (content[name] ?? {}) : {}
    if (isEntry(section)) return section
    complain([name], [{ path: [], message: 'must be a mapping, with a name for each entry' }])
    return {}
  }
  if (content !== null && content !== undefined && !isEntry(content)) {
    complain([], [{ path: [], message: `must have ${sections.join(' and ')} at its top` }])
  }
  for (const name of isEntry(content) ? Object.keys(content) : []) {
    if (sections.includes(name)) continue
    const meant = didYouMean(name, sections) || `; there are ${sections.join(' and ')}`
    complain([name], [{ path: [], message: `is not known here${meant}` }])
  }

  const entries = sectionOf('providers')
  const providers = Object.entries(entries).flatMap(([name, written]) => {
    const { value, problems: missing } = fillIn(written, context)
    const { settings, problems: found } = parseProviderConfig(name, value, protocols, written)
    // What is missing is not also wrong.
    const isMissing = ({ path }: Problem) => missing.some((each) => placeText(each.path) === placeText(path))
    complain(['providers', name], [...missing, ...found.filter((problem) => !isMissing(problem))])
    return settings ?? []
  })
  const builtIn = builtInConfig(protocols).providers
  const names = Object.keys(entries)
  const known = names.length > 0 ? names : builtIn.map(({ name }) => name)
  const models = Object.entries(sectionOf('models')).flatMap(([id, entry]) => {
    const { settings, problems: found } = parseModelConfig(id, entry, { providers: known, knownModels })
    complain(['models', id], found)
    return settings === undefined ? [] : [[id, settings] as const]
  })
  if (problems.length > 0) {
    throw new ProviderConfigError(problems.toSorted((a, b) => a.line - b.line).map(({ text }) => text))
  }
  return { providers: names.length > 0 ? providers : builtIn, models: Object.fromEntries(models) }
}
