import { execFile } from 'node:child_process'
import { mkdtempDisposable, readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect, inject, test } from 'vitest'

import { postMovements } from '../../gateway/src/billing/ledger/ledger-store.ts'
import { createDatabase } from '../../gateway/test/kit/database.ts'
import { createAccount } from '../../gateway/test/kit/factories.ts'
import { testEnvironment } from '../../gateway/test/kit/start-gateway.ts'

const run = promisify(execFile)
const program = inject('command')

test('archive lists closed years and changes nothing; with --execute it moves them to files, and the audit passes', async () => {
  await using database = await createDatabase()
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-archive-'))
  const kinora = async (...parameters: string[]) => {
    const environment = { PATH: process.env['PATH'], ...testEnvironment(database.url, directory.path) }
    const { stdout } = await run(process.execPath, [program, ...parameters], { env: environment })
    return stdout.trimEnd().split('\n')
  }
  const year = new Date().getUTCFullYear()
  const accountId = await createAccount(database.postgres)
  const topUp = { kind: 'top_up', accountId, wallet: 'payg', taskId: null, amountMicros: 1_000_000 } as const
  await postMovements(database.postgres, [{ ...topUp, day: `${year - 1}-06-01` }])

  expect(await kinora('archive', '--before', String(year))).toEqual([
    'ledger_entries_default: 2 rows',
    'Nothing was changed. Add --execute and a directory to archive this.',
  ])
  const archives = join(directory.path, 'archives')
  const made = await kinora('archive', '--before', String(year), '--execute', archives)
  const [name = ''] = await readdir(archives)
  expect(made).toEqual([
    expect.stringMatching(/^ledger_entries_default\.jsonl\.gz: 2 rows, \d+ bytes$/),
    'partitions dropped: 0',
    'ledger: consistent with the opening balances',
    `${join(archives, name)}: copy it to a safe place. The database has these rows no longer.`,
  ])
  const manifest = JSON.parse(await readFile(join(archives, name, 'manifest.json'), 'utf8')) as unknown
  expect(manifest).toMatchObject({
    layout: 1,
    before: `${year}-01-01`,
    files: [{ table: 'ledger_entries', rows: 2 }],
  })
  expect((await kinora('audit')).at(-1)).toMatch(/^The ledger is consistent/)
  await expect(kinora('archive', '--before', String(year))).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringContaining(`Everything before ${year}-01-01 is archived already.`),
  })
})
