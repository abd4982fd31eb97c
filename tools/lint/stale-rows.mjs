/**
 * What of the boundary table has no use any more: a row for a folder or file that is gone, or a permission that no import
 * makes use of. Left in place, such a row would let in what nobody has decided on.
 */
import path from 'node:path'

import { covers, guards, isTest, packageOf, placeOf, targetOf } from './boundaries.mjs'

/** What every place may import, whether it does or not. */
const ofEveryPlace = new Set(['@kinora/contract', 'platform'])
const gatewayRoot = 'gateway/src/'

/**
 * @param {{ gatewayPlaces: object, otherPlaces: object, walls: object[], globs: string[] }} table `globs` are those of
 *   files that alone may do something.
 * @param {{ file: string, text: string }[]} sources Every source file, by its path from the root.
 * @returns {string[]} One line for each thing to delete.
 */
export function staleRows({ gatewayPlaces, otherPlaces, walls, globs }, sources) {
  const governed = sources.filter(({ file }) => !isTest(file))
  const imports = governed.flatMap(({ file, text }) => importsOf(text).map((found) => ({ file, ...found })))
  const rows = [
    ...Object.entries(gatewayPlaces).map(([name, place]) => ({ name, place, root: gatewayRoot })),
    ...Object.entries(otherPlaces).map(([name, place]) => ({ name, place, root: '' })),
  ]
  return [
    ...rows.flatMap((row) => staleIn(row, governed, imports)),
    ...walls.flatMap((wall) => staleInWall(wall, imports)),
    ...globs
      .filter((glob) => !governed.some(({ file }) => path.matchesGlob(file, glob)))
      .map((glob) => `${glob} matches no file`),
  ]
}

function staleIn({ name, place, root }, governed, imports) {
  const isInside = ({ file }) => {
    // A row with a star is for the folders that have no row of their own.
    if (name.endsWith('/*')) return file.startsWith(root) && placeOf(file)?.place === place
    return file === `${root}${name}` || file.startsWith(`${root}${name}/`)
  }
  if (!governed.some(isInside)) return [`the row of ${name}: there is no such file or folder`]
  const own = imports.filter(isInside)
  const targets = own.map(({ file, source }) => targetOf(file, source))
  const isUsed = (allowed) => targets.some((target) => target !== undefined && covers(allowed, target))
  // A place that may import all of the gateway is where it is put together.
  const isEverything = place.imports.includes('')
  const packages = new Set(own.map(({ source }) => packageOf(source)))
  return [
    ...[...(isEverything ? [] : place.imports), ...(place.types ?? [])]
      .filter((allowed) => !ofEveryPlace.has(allowed) && !isUsed(allowed))
      .map((allowed) => `${name} may import ${allowed}, and does not`),
    ...(place.packages ?? [])
      .filter((allowed) => !packages.has(allowed))
      .map((allowed) => `${name} may import the package ${allowed}, and does not`),
  ]
}

function staleInWall(wall, imports) {
  const users = imports
    .filter(({ source, file }) => file.startsWith(gatewayRoot) && guards(wall, packageOf(source)))
    .map(({ file }) => file)
  return wall.only
    .filter((glob) => !users.some((file) => path.matchesGlob(file, glob)))
    .map((glob) => `${glob} may import ${wall.packages.join(' or ')}, and does not`)
}

/** What a text imports, with its types. */
function importsOf(text) {
  const statements = text.matchAll(/^(?:import|export)\s(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm)
  const expressions = text.matchAll(/\bimport\('([^']+)'\)/g)
  return [...statements, ...expressions].map(([, source]) => ({ source }))
}
