/** `npm run bench -- customers/accounts` */
import { expect, test } from 'vitest'

import { options } from '../options.ts'
import { printRounds } from '../report/print.ts'
import { writeResult } from '../report/results.ts'
import { measureAccounts } from './accounts.ts'

test('the creates of one account and of many', async () => {
  const settings = options(
    { rounds: 5, ms: 4_000, connections: [32, 128] },
    { rounds: 1, ms: 500, connections: [32] },
  )
  const figures = await measureAccounts(settings)
  for (const { apis, connections, create } of figures) {
    printRounds(`creates over ${connections} connections to ${apis} APIs`, create)
    for (const { cpu } of Object.values(create).flat()) expect(cpu).toBeGreaterThan(0)
  }
  await writeResult('accounts', settings, figures)
})
