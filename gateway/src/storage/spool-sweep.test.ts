import { mkdtempDisposable, readdir, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

import { expect, test } from 'vitest'

import { createSpool } from './port/spool.ts'
import { sweepSpool } from './spool-sweep.ts'

const minutesFromNow = (minutes: number) => new Date(Date.now() + minutes * 60_000)

test('files that a process left behind are removed within an hour, and those in use are kept', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-spool-'))
  const spool = createSpool(directory.path)
  const own = spool.newPath()
  await writeFile(own, 'x')
  await writeFile(join(directory.path, 'of-another-process'), 'x')
  expect(await sweepSpool(spool, minutesFromNow(40))).toBe(0)
  expect(await sweepSpool(spool, minutesFromNow(50))).toBe(1)
  expect(await readdir(directory.path)).toEqual([basename(own)])
})

test('a copy of an old file is in use, although it has the time of its original', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-spool-'))
  const copy = join(directory.path, 'of-a-migration')
  await writeFile(copy, 'x')
  await utimes(copy, minutesFromNow(-500), minutesFromNow(-500))
  expect(await sweepSpool(createSpool(directory.path))).toBe(0)
})

test('a spool that nothing was written to has nothing to sweep', async () => {
  expect(await sweepSpool(createSpool(join(tmpdir(), 'kinora-no-such-spool')))).toBe(0)
})
