/** The help must be shown at once, so what it loads is kept small. `npm run prove:packages` measures the time. */
import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

const source = new URL('../', import.meta.url)

/** What a file imports when it is loaded: not types, and not what its functions import. */
const importsOf = (text: string): string[] =>
  [
    ...text
      .replaceAll(/^(?:import|export) type [^']*'[^']*'/gm, '')
      .matchAll(/^(?:import|export) [^'=]*from '([^']+)'/gm),
  ].map(([, name = '']) => name)

test('the help loads only tables, the frame and modules of Node', async () => {
  const found = new Set<string>()
  const packages = new Set<string>()
  const visit = async (url: URL): Promise<void> => {
    if (found.has(url.href)) return
    found.add(url.href)
    for (const name of importsOf(await readFile(url, 'utf8'))) {
      if (name.startsWith('.')) await visit(new URL(name, url))
      else packages.add(name)
    }
  }
  await visit(new URL('commands/all-commands.ts', source))
  await visit(new URL('frame/run-command.ts', source))
  const folders = [...found].map((href) => relative(fileURLToPath(source), fileURLToPath(href)))
  expect(folders).toContain('commands/operate.ts')
  const others = folders.filter((file) => !/^(commands|frame)\//.test(file))
  expect(others).toEqual(['audio/media-formats.ts'])
  // These files of the contract import nothing but types.
  expect([...packages].toSorted()).toEqual([
    '@kinora/contract/operator-key',
    '@kinora/contract/samples/command-calls',
    'node:util',
  ])
})
