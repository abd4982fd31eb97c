import { isBuiltin } from 'node:module'
import path from 'node:path'

import {
  environmentOnly,
  fetchOnly,
  gatewayPlaces,
  otherPlaces,
  sqlOnly,
  sqlOpenings,
  walls,
} from './boundary-table.mjs'

const gatewayRoot = 'gateway/src/'
const shippedTrees = [gatewayRoot, 'contract/', 'local/', 'cli/']

/** Keeps imports to the directions of boundary-table.mjs, and each technology behind its wall. */
export const boundaries = {
  meta: { type: 'problem' },
  create(context) {
    const file = path.relative(context.cwd, context.filename).replaceAll(path.sep, '/')
    if (isTest(file)) return {}
    const found = placeOf(file)
    const isShipped = shippedTrees.some((tree) => file.startsWith(tree))
    const isGateway = file.startsWith(gatewayRoot)
    const report = (node, message) => context.report({ node, message })

    const checkImport = (node, source, isTypeOnly) => {
      if (typeof source !== 'string') return
      if (found?.place !== undefined) {
        const complaint = direction(file, found, source, isTypeOnly)
        if (complaint !== undefined) report(node, complaint)
      }
      const wall = isGateway && walls.find((candidate) => guards(candidate, packageOf(source)))
      if (wall && !isOneOf(file, wall.only)) {
        report(node, `${source} may be imported only in ${list(wall.only)}: ${wall.because}.`)
      }
    }
    const checkText = (node, text) => {
      if (isShipped && !isOneOf(file, sqlOnly) && isSql(text)) {
        report(node, `SQL may be written only in ${list(sqlOnly)}.`)
      }
    }
    const reportEnvironment = (node) => {
      if (isShipped && !isOneOf(file, environmentOnly)) {
        report(
          node,
          `process.env may be read only in ${list(environmentOnly)}: pass what you need as a value.`,
        )
      }
    }
    const reportFetch = (node) => {
      if (isGateway && !isOneOf(file, fetchOnly))
        report(node, `fetch may be called only in ${list(fetchOnly)}.`)
    }
    // By name alone, since it may also be imported.
    const isProcess = (node) => node.type === 'Identifier' && node.name === 'process'
    const isGlobal = (node, name) =>
      node.type === 'Identifier' && node.name === name && context.sourceCode.isGlobalReference(node)

    return {
      Program(node) {
        if (found !== undefined && found.place === undefined) {
          report(node, `${found.name} has no row in tools/lint/boundary-table.mjs: state what it may import.`)
        }
      },
      ImportDeclaration(node) {
        checkImport(node, node.source.value, node.importKind === 'type')
        const readsEnvironment = node.specifiers.some(({ imported }) => imported?.name === 'env')
        if (/^(node:)?process$/.test(node.source.value) && readsEnvironment) reportEnvironment(node)
      },
      ExportNamedDeclaration(node) {
        if (node.source) checkImport(node, node.source.value, node.exportKind === 'type')
      },
      ExportAllDeclaration(node) {
        checkImport(node, node.source.value, node.exportKind === 'type')
      },
      ImportExpression(node) {
        checkImport(node, node.source.value, false)
      },
      TSImportType(node) {
        checkImport(node, (node.source ?? node.argument)?.value, true)
      },
      Literal(node) {
        if (typeof node.value === 'string') checkText(node, node.value)
      },
      TemplateLiteral(node) {
        checkText(node, node.quasis.map((quasi) => quasi.value.cooked ?? '').join('$'))
      },
      MemberExpression(node) {
        const member = node.computed ? node.property.value : node.property.name
        if (member === 'env' && isProcess(node.object)) reportEnvironment(node)
        if (member === 'fetch' && isGlobal(node.object, 'globalThis')) reportFetch(node)
      },
      VariableDeclarator(node) {
        if (node.init === null || !isProcess(node.init) || node.id.type !== 'ObjectPattern') return
        if (node.id.properties.some((property) => property.key?.name === 'env')) reportEnvironment(node)
      },
      CallExpression(node) {
        if (isGlobal(node.callee, 'fetch')) reportFetch(node)
      },
    }
  },
}

/** Whether a file's place allows this import; the complaint if it does not. */
function direction(file, { name, place }, source, isTypeOnly) {
  if (isBuiltin(source)) {
    return place.builtins === false ? `${name} must not import ${source}: it runs anywhere.` : undefined
  }
  const target = targetOf(file, source)
  if (target === undefined) {
    if (place.packages === undefined || place.packages.includes(packageOf(source))) return undefined
    return `${name} must not import ${source}: of npm it may import ${list(place.packages)}.`
  }
  if (covers(name, target) || place.imports.some((allowed) => covers(allowed, target))) return undefined
  if (place.types?.some((allowed) => covers(allowed, target))) {
    return isTypeOnly ? undefined : `${name} may import only types from ${source}: write import type.`
  }
  return `${name} must not import ${source}: it may import ${list(place.imports)}.`
}

/** The place a file belongs to; undefined outside the trees we govern, without `place` if it has no row. */
export function placeOf(file) {
  if (!file.startsWith(gatewayRoot)) {
    const tree = Object.keys(otherPlaces).find((candidate) => file.startsWith(`${candidate}/`))
    return tree && { name: `/${tree}`, place: otherPlaces[tree] }
  }
  const [first, second, third] = file.slice(gatewayRoot.length).split('/')
  const name = first === 'providers' ? `${first}/${second}` : first
  const row = !Object.hasOwn(gatewayPlaces, name) && third !== undefined ? `${first}/*` : name
  return { name, place: Object.hasOwn(gatewayPlaces, row) ? gatewayPlaces[row] : undefined }
}

/** What an import reaches in our own code, in the terms of the table; undefined for an npm package. */
export function targetOf(file, source) {
  if (source.startsWith('.')) {
    const target = path.posix.join(path.posix.dirname(file), source)
    return target.startsWith(gatewayRoot) ? target.slice(gatewayRoot.length) : `/${target}`
  }
  return source === 'kinora' || source.startsWith('@kinora/') ? source : undefined
}

export function covers(allowed, target) {
  // The empty name stands for all of gateway/src.
  if (allowed === '') return !target.startsWith('/') && !target.startsWith('@')
  return target === allowed || target.startsWith(`${allowed}/`)
}

export function guards(wall, packageName) {
  return wall.packages.some((name) =>
    name.endsWith('/*') ? packageName.startsWith(name.slice(0, -1)) : packageName === name,
  )
}

export function packageOf(source) {
  return source
    .split('/')
    .slice(0, source.startsWith('@') ? 2 : 1)
    .join('/')
}

function isSql(text) {
  // A capitalised first word starts a sentence: "Select a model from the list".
  return /^\s*([a-z]+|[A-Z]+)\b/.test(text) && sqlOpenings.some((opening) => opening.test(text))
}

export function isTest(file) {
  return file.endsWith('.test.ts') || file.split('/').slice(0, -1).includes('test')
}

function isOneOf(file, globs) {
  return globs.some((glob) => path.matchesGlob(file, glob))
}

function list(names) {
  return names.length === 0 ? 'nothing else' : names.map((name) => name || 'all of gateway/src').join(', ')
}
