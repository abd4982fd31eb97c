import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'

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

describe('a sign-in link', () => {
  const createHash = async (...keys: string[]): Promise<string> => {
    const { url } = await getSeed()
    const response = await fetch(`${url}/console/v1/links`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ keys }),
    })
    return new URL(((await response.json()) as { url: string }).url).hash
  }
  const openLink = async (as: 'nobody' | 'customer', ...keys: string[]): Promise<Page> =>
    openConsole({ as, path: `/sign-in${await createHash(...keys)}` })
  /** As the customer, who is on the page of sign-ins afterwards. */
  const refuseLink = async (): Promise<Page> => {
    const { customer, otherCustomer } = await getSeed()
    const hash = await createHash(otherCustomer.key)
    const page = await openConsole({ as: 'customer', path: `/sign-in?next=/sessions${hash}` })
    await page.getByRole('button', { name: `Stay signed in as ${customer.accountName}` }).click()
    await page.getByRole('heading', { name: 'Sign-ins' }).waitFor()
    return page
  }
  const isSignedIn = (address: URL) => !address.pathname.endsWith('/sign-in')
  const getAccount = (page: Page) =>
    page.evaluate(async () => {
      const response = await fetch('/console/v1/session')
      if (!response.ok) return response.status
      const { account } = (await response.json()) as { account: { name: string } | null }
      return account?.name ?? null
    })

  test('says whose it is, and signs nobody in before a click', async () => {
    const { otherCustomer } = await getSeed()
    const { accountName: name } = otherCustomer
    const page = await openLink('nobody', otherCustomer.key)
    await page.getByText(name, { exact: true }).waitFor()
    expect(await getAccount(page)).toBe(401)
    await page.getByRole('button', { name: 'Do not use the link' }).click()
    await page.getByLabel('API key').waitFor()
    expect(await getAccount(page)).toBe(401)
    const other = await openLink('nobody', otherCustomer.key)
    await other.getByRole('button', { name: `Sign in as ${name}` }).click()
    await other.waitForURL(isSignedIn)
    expect(await getAccount(other)).toBe(name)
    await expectClean(other)
  })

  test('replaces no session before a click', async () => {
    const { customer, otherCustomer, operators } = await getSeed()
    for (const keys of [[otherCustomer.key], [otherCustomer.key, operators.admin]]) {
      const page = await openLink('customer', ...keys)
      await page.getByText(`This browser is signed in as ${customer.accountName}.`).waitFor()
      await page.getByRole('button', { name: `Stay signed in as ${customer.accountName}` }).click()
      await page.waitForURL(isSignedIn)
      expect(await getAccount(page)).toBe(customer.accountName)
    }
  })

  test('that was refused does not come back', async () => {
    const page = await refuseLink()
    await page.goBack()
    await page.getByLabel('API key').waitFor()
  })

  test('in the address of another page of the console has no effect', async () => {
    const page = await refuseLink()
    const navigations = await page.evaluate(() => {
      const window = globalThis as unknown as EventTarget & {
        navigation: EventTarget
        location: { hash: string }
      }
      const types: string[] = []
      window.navigation.addEventListener('navigate', (event) => {
        types.push((event as Event & { navigationType: string }).navigationType)
      })
      return new Promise<string[]>((resolve) => {
        window.addEventListener('hashchange', () => resolve(types))
        window.location.hash = '#link=x'
      })
    })
    expect(navigations).toEqual(['push'])
  })

  test('of an administrator signs in at once, as `kinora dev` opens it', async () => {
    const { customer, operators } = await getSeed()
    const page = await openLink('nobody', customer.key, operators.admin)
    await page.waitForURL(isSignedIn)
    expect(await getAccount(page)).toBe(customer.accountName)
    const reader = await openLink('nobody', operators.reader)
    await reader.getByRole('button', { name: 'Sign in as Dashboard' }).waitFor()
    await reader.getByText('Read', { exact: true }).waitFor()
    expect(await getAccount(reader)).toBe(401)
  })

  test('of an administrator signs nobody in before a click at a host that is not their own machine', async () => {
    const { otherHostUrl, customer, operators } = await getSeed()
    const hash = await createHash(customer.key, operators.admin)
    const page = await openConsole({ as: 'nobody', path: '/sign-in' })
    await page.goto(`${otherHostUrl}/console/sign-in${hash}`)
    await page.getByText('Everything', { exact: true }).waitFor()
    expect(await getAccount(page)).toBe(401)
    await page
      .getByRole('button', { name: new RegExp(`^Sign in as ${customer.accountName} and \\S`) })
      .click()
    await page.waitForURL(isSignedIn)
    expect(await getAccount(page)).toBe(customer.accountName)
  })

  test('of an administrator signs nobody in before a click if the session cannot be read', async () => {
    const { url, operators } = await getSeed()
    const hash = await createHash(operators.admin)
    const page = await openConsole({ as: 'nobody', path: '/sign-in' })
    const session = '**/console/v1/session'
    await page.route(session, (route) => route.fulfill({ status: 403, json: { error: { message: 'No.' } } }))
    await page.goto('about:blank')
    await page.goto(`${url}/console/sign-in${hash}`)
    await page.getByRole('button', { name: 'Do not use the link' }).waitFor()
    await page.unroute(session)
    expect(await getAccount(page)).toBe(401)
  })
})
