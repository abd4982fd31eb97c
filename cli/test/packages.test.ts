/** What is published. `npm run prove:packages` installs it in an empty folder and makes a video and a speech with it. */
import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { beforeAll, expect, test } from 'vitest'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const tarballs = join(root, 'build/tarballs')

beforeAll(async () => {
  await run(process.execPath, [join(root, 'tools/build.ts'), '--pack', '--unchecked'])
})

test('publint finds no problem in the packages', async () => {
  const build = join(root, 'build')
  const folders = (await readdir(build)).filter((name) => name !== 'tarballs')
  expect(folders.length).toBeGreaterThan(0)
  const publint = join(root, 'node_modules/.bin/publint')
  for (const folder of folders)
    await run(process.execPath, [publint, '--strict', '--pack=false', join(build, folder)])
})

test('the packages contain no tests and no sources', async () => {
  const lists = (await readdir(tarballs)).map((tarball) =>
    run('tar', ['--list', '--file', join(tarballs, tarball)]),
  )
  const files = (await Promise.all(lists)).flatMap(({ stdout }) => stdout.trim().split('\n'))
  expect(files.length).toBeGreaterThan(500)
  expect(files.filter((file) => /\.test\.|(?<!\.d)\.ts$|^package\/test\b/.test(file))).toEqual([])
})
