/**
 * Parses the YAML of the providers file. Of a file that was parsed before, only the entries that have changed are parsed
 * again, because parsing takes most of the time of a reload. This needs the usual layout: sections at the top level, each
 * with its entries in lines of their own. Any other file is parsed as a whole.
 */
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Document } from 'yaml'

interface YamlProblem {
  line: number
  message: string
  /** Nothing else can be said about a text that is not YAML. */
  isFatal: boolean
}

export interface ParsedYaml {
  content: unknown
  problems: YamlProblem[]
  /** The line of a path, or of its nearest existing parent. Of a duplicate key the last one counts. */
  lineOf: (path: (string | number)[]) => number
}

const lineFinder = (document: Document, lines: LineCounter): ParsedYaml['lineOf'] => {
  return (path) => {
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
}

interface Occurrence {
  name: string
  offset: number
}

/** Finds duplicate keys, which the parser finds by comparing each key with all others, and aliases without an anchor. */
const inspect = (document: Document): { duplicates: Occurrence[]; unresolved: Occurrence[] } => {
  const duplicates: Occurrence[] = []
  const unresolved: Occurrence[] = []
  const anchors = new Set<string>()
  const inspectNode = (node: unknown): void => {
    if (isAlias(node)) {
      const { source, range } = node
      if (!anchors.has(source)) unresolved.push({ name: source, offset: range?.[0] ?? 0 })
      return
    }
    if (!isScalar(node) && !isMap(node) && !isSeq(node)) return
    if (node.anchor !== undefined) anchors.add(node.anchor)
    if (isSeq(node)) for (const item of node.items) inspectNode(item)
    if (!isMap(node)) return
    const names = new Set<unknown>()
    for (const { key, value } of node.items) {
      inspectNode(key)
      inspectNode(value)
      if (!isScalar(key)) continue
      if (names.has(key.value)) duplicates.push({ name: String(key.value), offset: key.range?.[0] ?? 0 })
      names.add(key.value)
    }
  }
  inspectNode(document.contents)
  return { duplicates, unresolved }
}

const parseWhole = (text: string): ParsedYaml => {
  const lines = new LineCounter()
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    uniqueKeys: false,
    merge: true,
  })
  const at = (offset: number, message: string, isFatal: boolean): YamlProblem => ({
    ...{ line: lines.linePos(offset).line, message, isFatal },
  })
  const { duplicates, unresolved } = inspect(document)
  const problems = [
    ...[...document.errors, ...document.warnings].map(({ message, pos: [start] }) =>
      at(start, message, true),
    ),
    ...unresolved.map(({ name, offset }) =>
      at(offset, `*${name} has no anchor; write &${name} at an earlier value, or remove it`, true),
    ),
    ...duplicates.map(({ name, offset }) => at(offset, `${name} appears twice; remove one of them`, false)),
  ]
  return {
    // Many models may share an anchor. The limit of the parser is meant for files of strangers.
    content: problems.some(({ isFatal }) => isFatal)
      ? undefined
      : (document.toJS({ maxAliasCount: -1 }) as unknown),
    problems,
    lineOf: lineFinder(document, lines),
  }
}

/** An entry of a section, with the lines that it was written in. */
interface Entry {
  section: string
  name: string
  text: string
}

/** The entries in the order of the file. Undefined if the file has another layout. */
const splitEntries = (text: string): { sections: string[]; entries: Entry[] } | undefined => {
  const sections: string[] = []
  const entries: { section: string; name: string; lines: string[] }[] = []
  let section: string | undefined
  let indent: number | undefined
  for (const line of text.split('\n')) {
    const depth = line.search(/\S/)
    const last = entries.at(-1)
    if (depth === -1 || line[depth] === '#' || (indent !== undefined && depth > indent)) {
      if (indent !== undefined) last?.lines.push(line)
    } else if (depth === 0) {
      section = /^(\w+):\s*(?:#.*)?$/.exec(line)?.[1]
      if (section === undefined || sections.includes(section)) return undefined
      sections.push(section)
      indent = undefined
    } else {
      indent ??= depth
      const name = /^ +(["']?)([A-Za-z0-9][\w.-]*)\1:(?:\s|$)/.exec(line)?.[2]
      if (section === undefined || depth !== indent || name === undefined) return undefined
      entries.push({ section, name, lines: [line] })
    }
  }
  const names = new Set(entries.map((entry) => `${entry.section} ${entry.name}`))
  if (names.size !== entries.length) return undefined
  return { sections, entries: entries.map(({ lines, ...entry }) => ({ ...entry, text: lines.join('\n') })) }
}

/** A text may use anchors of others. Finding too many does no harm. */
const namesAfter = (sign: '&' | '*', text: string): string[] =>
  text.includes(sign)
    ? [...text.matchAll(sign === '&' ? /&([^\s,[\]{}]+)/g : /\*([^\s,[\]{}]+)/g)].map(([, name = '']) => name)
    : []

/** A few entries whose anchors many others use are usual. Otherwise the whole file is smaller than its parts. */
const partsBytesMax = (text: string) => 8 * text.length + 10_000

/** For each entry, the part of the file that it can be parsed from: itself and the entries whose anchors it uses. */
const partsOf = (text: string, entries: Entry[]): string[] | undefined => {
  const definers = new Map<string, number[]>()
  const used: Set<number>[] = []
  const parts: string[] = []
  let bytes = 0
  for (const [index, { section, text: own }] of entries.entries()) {
    const needed = new Set<number>()
    for (const definer of namesAfter('*', own).flatMap((name) => definers.get(name) ?? [])) {
      for (const each of [...(used[definer] ?? []), definer]) needed.add(each)
    }
    used.push(needed)
    for (const name of namesAfter('&', own)) definers.set(name, [...(definers.get(name) ?? []), index])
    let lastSection = ''
    const lines: string[] = []
    for (const each of [...needed].toSorted((a, b) => a - b)) {
      const entry = entries[each]
      if (entry === undefined) continue
      if (entry.section !== lastSection) lines.push(`${entry.section}:`)
      lastSection = entry.section
      lines.push(entry.text)
    }
    if (section !== lastSection) lines.push(`${section}:`)
    const part = [...lines, own].join('\n')
    bytes += part.length
    if (bytes > partsBytesMax(text)) return undefined
    parts.push(part)
  }
  return parts
}

type Sections = Record<string, Record<string, unknown> | null>

const valueOf = (content: unknown, { section, name }: Entry): unknown =>
  (content as Sections)[section]?.[name]

/** Whether the content consists of these entries. Otherwise the lines were not what they look like. */
const consistsOf = (content: unknown, entries: Entry[]): boolean => {
  const names = Object.entries(content as Sections).flatMap(([section, values]) =>
    Object.keys(values ?? {}).map((name) => `${section} ${name}`),
  )
  const found = new Set(names)
  return (
    names.length === entries.length && entries.every(({ section, name }) => found.has(`${section} ${name}`))
  )
}

/** Unchanged entries keep their identity, so that later steps can skip them as well. */
export const createYamlParser = (): ((text: string) => ParsedYaml) => {
  let known = new Map<string, unknown>()

  /** Parses the changed entries. Undefined if the whole file must be parsed. */
  const parseChanged = (entries: Entry[], parts: string[], bytes: number) => {
    const changed = parts.flatMap((part, index) => (known.has(part) ? [] : index))
    if (changed.reduce((sum, index) => sum + (parts[index]?.length ?? 0), 0) > bytes / 2) return undefined
    const values = new Map(known)
    for (const index of changed) {
      const [part, entry] = [parts[index], entries[index]]
      if (part === undefined || entry === undefined) return undefined
      const { content, problems } = parseWhole(part)
      if (problems.length > 0) return undefined
      values.set(part, valueOf(content, entry))
    }
    return new Map(parts.map((part) => [part, values.get(part)]))
  }

  return (text) => {
    const split = splitEntries(text)
    const parts = split && partsOf(text, split.entries)
    if (split === undefined || parts === undefined) return parseWhole(text)
    const { sections, entries } = split
    const changed = parseChanged(entries, parts, text.length)
    if (changed === undefined) {
      const whole = parseWhole(text)
      const isAsSplit = whole.problems.length === 0 && consistsOf(whole.content, entries)
      known = isAsSplit
        ? new Map(entries.map((entry, index) => [parts[index] ?? '', valueOf(whole.content, entry)]))
        : new Map()
      return whole
    }
    known = changed
    const content: Sections = Object.fromEntries(sections.map((section) => [section, null]))
    for (const [index, { section, name }] of entries.entries()) {
      content[section] ??= {}
      content[section][name] = changed.get(parts[index] ?? '')
    }
    let whole: ParsedYaml | undefined
    return {
      content,
      problems: [],
      lineOf: (path) => {
        whole ??= parseWhole(text)
        return whole.lineOf(path)
      },
    }
  }
}
