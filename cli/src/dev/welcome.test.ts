import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

import { expect, test } from 'vitest'

import { measureColumns } from '../terminal/columns.ts'
import { findCommandName } from './command-name.ts'
import { welcome } from './welcome.ts'

const usual = {
  url: 'http://127.0.0.1:65535',
  consoleUrl: `http://127.0.0.1:65535/console/sign-in#link=${'x'.repeat(43)}`,
  key: `sk-${'K'.repeat(36)}`,
  currency: 'USD',
  directory: '.kinora',
  seconds: '14.2',
  hasKeys: true,
  command: 'npx kinora',
  isFound: true,
}
const linesOf = (options: Partial<typeof usual>) =>
  stripVTControlCharacters(welcome({ ...usual, ...options })).split('\n')

test.for([{}, { isFound: false }, { hasKeys: false }])(
  'nothing but the link to the console is wider than a terminal: %o',
  (options) => {
    expect(linesOf(options).filter((line) => measureColumns(line) > 80)).toEqual([
      `  Console  ${usual.consoleUrl}`,
    ])
  },
)

test('the service is named only to commands that do not find it by themselves', () => {
  const create = '    npx kinora video create "A whale swims at sunset" -o whale.mp4'
  const found = linesOf({})
  expect(found).toContain(create)
  expect(found.join('\n')).not.toContain('KINORA_')
  const lost = linesOf({ isFound: false })
  const at = lost.indexOf(create)
  expect(lost.slice(at - 2, at)).toEqual([
    `    export KINORA_URL=${usual.url}`,
    `    export KINORA_API_KEY=${usual.key}`,
  ])
})

test('the command needs npx unless a folder that other terminals have too holds it', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-path-'))
  const [modules = '', installed = ''] = ['node_modules/.bin', 'bin'].map((name) =>
    join(directory.path, name),
  )
  for (const folder of [modules, installed]) {
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'kinora'), '', { mode: 0o755 })
  }
  expect(findCommandName(modules)).toBe('npx kinora')
  expect(findCommandName(['', modules, installed].join(delimiter))).toBe('kinora')
})
