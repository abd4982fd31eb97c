import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { assertOwnDirectory, resetData } from './data-files.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-data-files-'))
})
afterEach(() => rm(directory, { recursive: true }))

const create = (name: string) => writeFile(join(directory, name), 'kept')

test('a directory with files of somebody else is not used', async () => {
  await create('.gitignore')
  await mkdir(join(directory, 'videos'))
  await expect(assertOwnDirectory(directory)).rejects.toThrow(/has other files, such as videos/)
})

test('a new, an empty and an own directory are used, also after an interrupted first start', async () => {
  await assertOwnDirectory(join(directory, 'new'))
  await assertOwnDirectory(directory)
  for (const name of ['dev.pid', 'ports.json', '.gitignore']) await create(name)
  await assertOwnDirectory(directory)
  for (const name of ['secrets.json', 'media', 'notes.txt']) await create(name)
  await assertOwnDirectory(directory)
})

test('a reset deletes what dev has stored, and of a link only the link', async () => {
  const outside = join(directory, 'outside')
  await mkdir(outside)
  await writeFile(join(outside, 'file'), 'kept')
  await symlink(outside, join(directory, 'media'))
  for (const name of ['secrets.json', 'keys.json', 'notes.txt', 'videos']) await create(name)
  await resetData(directory)
  expect((await readdir(directory)).toSorted()).toEqual(['keys.json', 'notes.txt', 'outside', 'secrets.json'])
  expect(await readdir(outside)).toEqual(['file'])
})
