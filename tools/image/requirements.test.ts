import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { findMissing } from './requirements.ts'

test('names every missing program by its package, and root, before any work', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-requirements-'))
  const machine = { path: directory.path, userId: 1000, directory: directory.path }
  const missing = (await findMissing(machine, { 'kinora-nothing': 'nothing' })).join('\n')
  expect(missing).toContain('root: run it with sudo')
  expect(missing).toMatch(/apt-get install .*buildah runc .*mmdebstrap ffmpeg.* nothing/)
})

test('a machine with all programs lacks none of them', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-requirements-'))
  const names = [
    'podman',
    'buildah',
    'runc',
    'catatonit',
    'mmdebstrap',
    'ffprobe',
    'netavark',
    'aardvark-dns',
    'iptables',
  ]
  for (const name of names) await writeFile(join(directory.path, name), '', { mode: 0o755 })
  const missing = await findMissing({ path: directory.path, userId: 0, directory: directory.path })
  expect(missing.filter((each) => !each.startsWith('disk space'))).toEqual([])
})
