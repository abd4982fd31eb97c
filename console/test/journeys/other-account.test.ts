import { expect, test } from 'vitest'

import { openClient } from '../kit/clients.ts'
import { expectClean, getSeed, openConsole } from '../kit/console.ts'
import { screens } from '../kit/screens.ts'
import { settle } from '../kit/settle.ts'

test('a customer sees nothing of another account, on no screen and by no address', async () => {
  const seed = await getSeed()
  const { url, tasks, otherCustomer } = seed
  const other = await openClient('otherCustomer')
  const page = await openConsole({ as: 'customer', path: '/tasks' })
  await settle(page)
  // It happens while the console follows the events.
  const secret = await other.videos.create({
    ...{ model: seed.slowModel, prompt: 'A confidential building site', seconds: 4, size: '480x480' },
  })
  await other.videos.cancel(secret.id)
  const foreign = encodeURIComponent(tasks.foreign)
  const paths = [
    ...screens.filter(({ as }) => as === 'customer').map(({ path }) => path(seed)),
    `/tasks/${foreign}`,
    `/tasks/${encodeURIComponent(secret.id)}`,
    `/tasks?q=confidential`,
    `/tasks?account=${otherCustomer.accountId}&all=1`,
    `/playground/video?remix=${foreign}`,
    `/playground/video?from=${foreign}`,
    `/keys?id=${otherCustomer.keyId}`,
    `/keys?account=${otherCustomer.accountId}`,
    ...['/overview', '/requests', '/providers', '/models'],
  ]
  const ofOthers = ['confidential product', 'confidential building', otherCustomer.accountName]
  for (const path of paths) {
    await page.goto(`${url}/console${path}`)
    await settle(page)
    const shown = await page.locator('body').innerText()
    for (const text of ofOthers) expect(shown, path).not.toContain(text)
  }
  await expectClean(page)
})
