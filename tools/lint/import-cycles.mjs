import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'

import { isTest } from './boundaries.mjs'

const sourceFiles = ['{contract,sandbox,gateway,local,cli}/src/**/*.ts', 'dev/**/*.ts']

/** Reports imports that are part of a cycle of files or of folders. Imports of types count. */
export const importCycles = {
  meta: { type: 'problem' },
  create(context) {
    const file = path.relative(context.cwd, context.filename).replaceAll(path.sep, '/')
    const { cycleOfFile, cycleOfFolder } = graphOf(context.cwd)
    if (!cycleOfFile.has(file)) return {}
    const check = (node, source) => {
      if (typeof source !== 'string' || !source.startsWith('.')) return
      const target = path.posix.join(path.posix.dirname(file), source)
      if (!cycleOfFile.has(target)) return
      const files = cycleOfFile.get(file)
      if (files.includes(target) && (files.length > 1 || target === file)) {
        context.report({ node, message: `Import cycle between files: ${files.join(', ')}.` })
        return
      }
      const folders = cycleOfFolder.get(folderOf(file))
      if (folderOf(file) !== folderOf(target) && folders.includes(folderOf(target))) {
        context.report({ node, message: `Import cycle between folders: ${folders.join(', ')}.` })
      }
    }
    return {
      ImportDeclaration: (node) => check(node, node.source.value),
      ExportNamedDeclaration: (node) => check(node, node.source?.value),
      ExportAllDeclaration: (node) => check(node, node.source.value),
      ImportExpression: (node) => check(node, node.source.value),
      TSImportType: (node) => check(node, (node.source ?? node.argument)?.value),
    }
  },
}

/** The folder of a file. A file directly in a package's `src` stands for itself, because `main.ts` imports all folders. */
function folderOf(file) {
  const folder = path.posix.dirname(file)
  return folder.endsWith('/src') ? file : folder
}

const graphs = new Map()

/** Cached, because the linter calls the rule for every file. */
function graphOf(root) {
  if (!graphs.has(root)) graphs.set(root, readGraph(root))
  return graphs.get(root)
}

function readGraph(root) {
  const files = globSync(sourceFiles, { cwd: root }).filter((file) => !isTest(file))
  const imports = new Map(files.map((file) => [file, new Set()]))
  for (const file of files) {
    for (const source of importsOf(readFileSync(path.join(root, file), 'utf8'))) {
      const target = path.posix.join(path.posix.dirname(file), source)
      if (imports.has(target)) imports.get(file).add(target)
    }
  }
  const folders = new Map()
  for (const [file, targets] of imports) {
    const folder = folderOf(file)
    if (!folders.has(folder)) folders.set(folder, new Set())
    for (const target of targets) folders.get(folder).add(folderOf(target))
  }
  return { cycleOfFile: cyclesOf(imports), cycleOfFolder: cyclesOf(folders) }
}

function importsOf(text) {
  return [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g)].map(([, source]) => source)
}

/** Maps each node to its strongly connected component, with Tarjan's algorithm. */
function cyclesOf(edges) {
  const indexes = new Map()
  const lowest = new Map()
  const stack = []
  const found = new Map()
  const visit = (node) => {
    indexes.set(node, indexes.size)
    lowest.set(node, indexes.get(node))
    stack.push(node)
    for (const next of edges.get(node) ?? []) {
      if (!indexes.has(next)) visit(next)
      if (!found.has(next)) lowest.set(node, Math.min(lowest.get(node), lowest.get(next)))
    }
    if (lowest.get(node) !== indexes.get(node)) return
    const component = stack.splice(stack.indexOf(node)).toSorted((one, other) => one.localeCompare(other))
    for (const member of component) found.set(member, component)
  }
  for (const node of edges.keys()) if (!indexes.has(node)) visit(node)
  return found
}
