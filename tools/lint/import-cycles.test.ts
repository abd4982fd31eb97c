import { describe, expect, it } from 'vitest'

import { lintFixture } from './lint-fixture.ts'

const reportsIn = async (files: Record<string, string>) =>
  [...(await lintFixture(files)).entries()].flatMap(([file, found]) =>
    found.filter((line) => line.includes('Import cycle')).map((line) => `${file}: ${line}`),
  )

describe('kinora/import-cycles', () => {
  it.each([
    ['of two files', { 'a.ts': "import './b.ts'", 'b.ts': "import './a.ts'" }, 2],
    [
      'through a type',
      { 'a.ts': "import { b } from './b.ts'\nb()", 'b.ts': "import type { A } from './a.ts'" },
      2,
    ],
    [
      'of three files',
      { 'a.ts': "import './b.ts'", 'b.ts': "export * from './c.ts'", 'c.ts': "import('./a.ts')" },
      3,
    ],
    ['of a file with itself', { 'a.ts': "import './a.ts'" }, 1],
  ] as const)('reports a cycle %s', async (_name, files, count) => {
    const placed = Object.entries(files).map(([name, text]) => [`gateway/src/billing/${name}`, text])
    const found = await reportsIn(Object.fromEntries(placed))
    expect(found).toHaveLength(count)
    expect(found[0]).toContain('Import cycle between files: gateway/src/billing/')
  })

  it('reports a cycle of folders whose files have no cycle', async () => {
    const found = await reportsIn({
      'local/src/film/a.ts': "import '../scenes/b.ts'",
      'local/src/film/c.ts': 'export {}',
      'local/src/scenes/b.ts': 'export {}',
      'local/src/scenes/d.ts': "import '../film/c.ts'",
    })
    expect(found).toHaveLength(2)
    expect(found[0]).toContain('Import cycle between folders: local/src/film, local/src/scenes')
  })

  it('accepts imports in one direction, files in the root of src, and tests', async () => {
    const found = await reportsIn({
      'gateway/src/main.ts': "import './wiring/api.ts'",
      'gateway/src/config.ts': 'export {}',
      'gateway/src/wiring/api.ts': "import '../config.ts'\nimport './worker.ts'",
      'gateway/src/wiring/worker.ts': 'export {}',
      'gateway/src/wiring/worker.test.ts': "import './api.ts'",
    })
    expect(found).toEqual([])
  })
})
