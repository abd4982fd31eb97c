/**
 * Finds unused parts of the boundary table: rows of folders or files that no longer exist, and permissions that no import
 * uses. A stale permission would allow an import that was never decided on.
 */
import path from 'node:path'

import { covers, isTest, packageOf, restricts, targetOf, zoneOf } from './boundaries.mjs'

/** Every zone may import these, so an unused permission is not stale. */
const commonImports = new Set(['@kinora/contract', 'platform'])
const gatewayRoot = 'gateway/src/'

/**
 * @param {{ gatewayZones: object, otherZones: object, restrictedPackages: object[], globs: string[] }} table `globs` are
 *   the file patterns of the other restrictions.
 * @param {{ file: string, text: string }[]} sources Every source file, by its path from the root.
 * @returns {string[]} One line for each part to delete.
 */
export function staleRows({ gatewayZones, otherZones, restrictedPackages, globs }, sources) {
  const checked = sources.filter(({ file }) => !isTest(file))
  const imports = checked.flatMap(({ file, text }) => importsOf(text).map((found) => ({ file, ...found })))
  const rows = [
    ...Object.entries(gatewayZones).map(([name, zone]) => ({ name, zone, root: gatewayRoot })),
    ...Object.entries(otherZones).map(([name, zone]) => ({ name, zone, root: '' })),
  ]
  return [
    ...rows.flatMap((row) => staleIn(row, checked, imports)),
    ...restrictedPackages.flatMap((restriction) => staleInRestriction(restriction, imports)),
    ...globs
      .filter((glob) => !checked.some(({ file }) => path.matchesGlob(file, glob)))
      .map((glob) => `${glob} matches no file`),
  ]
}

function staleIn({ name, zone, root }, checked, imports) {
  const isInside = ({ file }) => {
    // A row with a star covers the folders without a row of their own.
    if (name.endsWith('/*')) return file.startsWith(root) && zoneOf(file)?.zone === zone
    return file === `${root}${name}` || file.startsWith(`${root}${name}/`)
  }
  if (!checked.some(isInside)) return [`the row of ${name}: there is no such file or folder`]
  const own = imports.filter(isInside)
  const targets = own.map(({ file, source }) => targetOf(file, source))
  const isUsed = (allowed) => targets.some((target) => target !== undefined && covers(allowed, target))
  // A zone that may import all of the gateway assembles it.
  const isEverything = zone.imports.includes('')
  const packages = new Set(own.map(({ source }) => packageOf(source)))
  return [
    ...[...(isEverything ? [] : zone.imports), ...(zone.types ?? [])]
      .filter((allowed) => !commonImports.has(allowed) && !isUsed(allowed))
      .map((allowed) => `${name} may import ${allowed}, but does not`),
    ...(zone.packages ?? [])
      .filter((allowed) => !packages.has(allowed))
      .map((allowed) => `${name} may import the package ${allowed}, but does not`),
  ]
}

function staleInRestriction(restriction, imports) {
  const users = imports
    .filter(({ source, file }) => file.startsWith(gatewayRoot) && restricts(restriction, packageOf(source)))
    .map(({ file }) => file)
  return restriction.only
    .filter((glob) => !users.some((file) => path.matchesGlob(file, glob)))
    .map((glob) => `${glob} may import ${restriction.packages.join(' or ')}, but does not`)
}

/** All imports of a file, types included. */
function importsOf(text) {
  const statements = text.matchAll(/^(?:import|export)\s(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm)
  const expressions = text.matchAll(/\bimport\('([^']+)'\)/g)
  return [...statements, ...expressions].map(([, source]) => ({ source }))
}
