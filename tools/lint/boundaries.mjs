import { isBuiltin } from 'node:module'
import path from 'node:path'

import {
  environmentOnly,
  fetchOnly,
  gatewayZones,
  otherZones,
  restrictedPackages,
  sqlOnly,
  sqlOpenings,
} from './boundary-table.mjs'

const gatewayRoot = 'gateway/src/'
const shippedTrees = [gatewayRoot, 'contract/', 'client/', 'local/', 'cli/']

/** Allows only the imports of boundary-table.mjs, and each restricted package, SQL, `fetch` and `process.env` only in its files. */
export const boundaries = {
  meta: { type: 'problem' },
  create(context) {
    const file = path.relative(context.cwd, context.filename).replaceAll(path.sep, '/')
    if (isTest(file)) return {}
    const found = zoneOf(file)
    const isShipped = shippedTrees.some((tree) => file.startsWith(tree))
    const isGateway = file.startsWith(gatewayRoot)
    const report = (node, message) => context.report({ node, message })

    const checkImport = (node, source, isTypeOnly) => {
      if (typeof source !== 'string') return
      if (found?.zone !== undefined) {
        const message = forbiddenImport(file, found, source, isTypeOnly)
        if (message !== undefined) report(node, message)
      }
      const restriction =
        isGateway && restrictedPackages.find((candidate) => restricts(candidate, packageOf(source)))
      if (restriction && !isOneOf(file, restriction.only)) {
        report(node, `${source} may be imported only in ${list(restriction.only)}: ${restriction.reason}.`)
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
          `process.env may be read only in ${list(environmentOnly)}: pass the value as an argument.`,
        )
      }
    }
    const reportFetch = (node) => {
      if (isGateway && !isOneOf(file, fetchOnly))
        report(node, `fetch may be called only in ${list(fetchOnly)}.`)
    }
    // Checked by name alone, because `process` may also be imported.
    const isProcess = (node) => node.type === 'Identifier' && node.name === 'process'
    const isGlobal = (node, name) =>
      node.type === 'Identifier' && node.name === name && context.sourceCode.isGlobalReference(node)

    return {
      Program(node) {
        if (found !== undefined && found.zone === undefined) {
          report(
            node,
            `${found.name} has no row in tools/lint/boundary-table.mjs: add one with the imports that it may use.`,
          )
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

/** The message for an import that the zone of the file does not allow; undefined for an allowed one. */
function forbiddenImport(file, { name, zone }, source, isTypeOnly) {
  if (isBuiltin(source)) {
    return zone.builtins === false
      ? `${name} must not import ${source}: it must also run outside Node.`
      : undefined
  }
  const target = targetOf(file, source)
  if (target === undefined) {
    if (zone.packages === undefined || zone.packages.includes(packageOf(source))) return undefined
    return `${name} must not import ${source}: of npm it may import ${list(zone.packages)}.`
  }
  if (covers(name, target) || zone.imports.some((allowed) => covers(allowed, target))) return undefined
  if (zone.types?.some((allowed) => covers(allowed, target))) {
    return isTypeOnly ? undefined : `${name} may import only types from ${source}: write import type.`
  }
  return `${name} must not import ${source}: it may import ${list(zone.imports)}.`
}

/** The zone of a file; undefined outside the checked trees, without `zone` if the table has no row for it. */
export function zoneOf(file) {
  if (!file.startsWith(gatewayRoot)) {
    const tree = Object.keys(otherZones).find((candidate) => file.startsWith(`${candidate}/`))
    return tree && { name: `/${tree}`, zone: otherZones[tree] }
  }
  const [first, second, third] = file.slice(gatewayRoot.length).split('/')
  const name = first === 'providers' ? `${first}/${second}` : first
  const row = !Object.hasOwn(gatewayZones, name) && third !== undefined ? `${first}/*` : name
  return { name, zone: Object.hasOwn(gatewayZones, row) ? gatewayZones[row] : undefined }
}

/** The target of an import in this repository, named as in the table; undefined for an npm package. */
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

export function restricts(restriction, packageName) {
  return restriction.packages.some((name) =>
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
  // A capitalised first word starts an English sentence: "Select a model from the list".
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
