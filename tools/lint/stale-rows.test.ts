import { glob, readFile } from 'node:fs/promises'
import path from 'node:path'

import { describe, expect, it } from 'vitest'

import { environmentOnly, gatewayPlaces, otherPlaces, sqlOnly, walls } from './boundary-table.mjs'
import { staleRows } from './stale-rows.mjs'

const root = path.resolve(import.meta.dirname, '../..')

const sources: { file: string; text: string }[] = []
for await (const file of glob('{gateway,contract,local,cli,dev}/**/*.ts', {
  cwd: root,
  exclude: ['**/node_modules/**'],
})) {
  sources.push({ file, text: await readFile(path.join(root, file), 'utf8') })
}

const table = { gatewayPlaces, otherPlaces, walls, globs: [...environmentOnly, ...sqlOnly] }

describe('the boundary table', () => {
  it('has no row without a file, and no permission without an import', () => {
    expect(sources.length).toBeGreaterThan(300)
    expect(staleRows(table, sources)).toEqual([])
  })

  it.each([
    [
      'a folder that is gone',
      { gatewayPlaces: { ...gatewayPlaces, gone: { imports: [] } } },
      'the row of gone',
    ],
    [
      'a file that is gone',
      { gatewayPlaces: { ...gatewayPlaces, 'gone.ts': { imports: [] } } },
      'the row of gone.ts',
    ],
    [
      'a tree that is gone',
      { otherPlaces: { ...otherPlaces, 'gone/src': { imports: [] } } },
      'the row of gone/src',
    ],
    [
      'an import that nobody makes',
      { gatewayPlaces: { ...gatewayPlaces, settings: { imports: ['chat'] } } },
      'settings may import chat, and does not',
    ],
    [
      'types that nobody imports',
      { gatewayPlaces: { ...gatewayPlaces, settings: { imports: [], types: ['chat'] } } },
      'settings may import chat, and does not',
    ],
    [
      'a package that nobody imports',
      { otherPlaces: { ...otherPlaces, 'contract/src': { imports: [], packages: ['typebox', 'pg'] } } },
      'contract/src may import the package pg, and does not',
    ],
    [
      'a gap in a wall that nobody passes',
      { walls: [{ packages: ['pg'], only: ['gateway/src/chat/**'], because: '' }] },
      'gateway/src/chat/** may import pg, and does not',
    ],
    ['files that are gone', { globs: ['gateway/src/gone/**'] }, 'gateway/src/gone/** matches no file'],
  ])('is told of %s', (_, change, complaint) => {
    const found = staleRows({ ...table, ...change }, sources)
    expect(found.filter((line: string) => line.startsWith(complaint))).toHaveLength(1)
  })
})
