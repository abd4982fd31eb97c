import { glob, readFile } from 'node:fs/promises'
import path from 'node:path'

import { describe, expect, it } from 'vitest'

import { environmentOnly, gatewayZones, otherZones, restrictedPackages, sqlOnly } from './boundary-table.mjs'
import { staleRows } from './stale-rows.mjs'

const root = path.resolve(import.meta.dirname, '../..')

const sources: { file: string; text: string }[] = []
for await (const file of glob('{gateway,contract,sandbox,local,client,cli,ai-sdk,dev}/**/*.ts', {
  cwd: root,
  exclude: ['**/node_modules/**'],
})) {
  sources.push({ file, text: await readFile(path.join(root, file), 'utf8') })
}

const table = { gatewayZones, otherZones, restrictedPackages, globs: [...environmentOnly, ...sqlOnly] }

describe('the boundary table', () => {
  it('has a file for every row and an import for every permission', () => {
    expect(sources.length).toBeGreaterThan(300)
    expect(staleRows(table, sources)).toEqual([])
  })

  it.each([
    [
      'a folder that does not exist',
      { gatewayZones: { ...gatewayZones, gone: { imports: [] } } },
      'the row of gone',
    ],
    [
      'a file that does not exist',
      { gatewayZones: { ...gatewayZones, 'gone.ts': { imports: [] } } },
      'the row of gone.ts',
    ],
    [
      'a tree that does not exist',
      { otherZones: { ...otherZones, 'gone/src': { imports: [] } } },
      'the row of gone/src',
    ],
    [
      'an unused import permission',
      { gatewayZones: { ...gatewayZones, settings: { imports: ['chat'] } } },
      'settings may import chat, but does not',
    ],
    [
      'an unused type import permission',
      { gatewayZones: { ...gatewayZones, settings: { imports: [], types: ['chat'] } } },
      'settings may import chat, but does not',
    ],
    [
      'an unused package permission',
      { otherZones: { ...otherZones, 'contract/src': { imports: [], packages: ['typebox', 'pg'] } } },
      'contract/src may import the package pg, but does not',
    ],
    [
      'an unused permission for a restricted package',
      { restrictedPackages: [{ packages: ['pg'], only: ['gateway/src/chat/**'], reason: '' }] },
      'gateway/src/chat/** may import pg, but does not',
    ],
    [
      'a pattern that matches no file',
      { globs: ['gateway/src/gone/**'] },
      'gateway/src/gone/** matches no file',
    ],
  ])('is stale with %s', (_, change, message) => {
    const found = staleRows({ ...table, ...change }, sources)
    expect(found.filter((line: string) => line.startsWith(message))).toHaveLength(1)
  })
})
