import { expect, test } from 'vitest'

import { expectClean, getBrowser, getSeed, openConsole } from '../kit/console.ts'
import { signIn } from '../kit/open-page.ts'

const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:199.0) Gecko/20100101 Firefox/199.0'

test('a customer revokes the sign-in of another browser', async () => {
  const { url, customer } = await getSeed()
  const browser = await getBrowser()
  const other = await browser.newContext({ userAgent: firefox })
  try {
    await signIn(other, url, [customer.key])
    const getStatus = async () => (await other.request.get(`${url}/console/v1/session`)).status()
    expect(await getStatus()).toBe(200)
    const page = await openConsole({ as: 'customer', path: '/sessions' })
    const row = page.getByRole('row', { name: /Firefox 199 on Windows/ })
    await row.getByRole('button', { name: /^Revoke/ }).click()
    await page.getByText(/Revoke the sign-in of Firefox 199 on Windows/).waitFor()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
    await row.waitFor({ state: 'detached' })
    expect(await getStatus()).toBe(401)
    await page.getByText('This browser').first().waitFor()
    await expectClean(page)
  } finally {
    await other.close()
  }
})
