/**
 * Pages of other origins in the browser of somebody who is signed in. Browsers send cookies to every port of a host, so
 * another port is the same site; `localhost` is another site than `127.0.0.1`.
 */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'

import { listenForTest } from '../../../gateway/test/kit/listen-for-test.ts'
import { openClient } from '../kit/clients.ts'
import { expectClean, getSeed, openConsole } from '../kit/console.ts'
import { signIn } from '../kit/open-page.ts'
import { settle } from '../kit/settle.ts'

/** Serves a page of the attacker. */
const serveAttacker = (html = '<h1>Attacker</h1>') =>
  listenForTest((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(html)
  })

const sites = [
  { name: 'the same site on another port', locate: (url: string) => url },
  { name: 'another site', locate: (url: string) => url.replace('127.0.0.1', 'localhost') },
]

/** Opens the console and beside it, in the same browser, the attacker's page. */
const openBoth = async (attackerUrl: string) => {
  const page = await openConsole({ as: 'customer' })
  await settle(page)
  const attacker = await page.context().newPage()
  await attacker.goto(attackerUrl)
  return { page, attacker }
}

/** What the attacks would make. Other tests work in the same account meanwhile. */
const countStolen = async () => {
  const kinora = await openClient()
  const [keys, videos] = await Promise.all([
    kinora.keys.list({ limit: 100 }),
    kinora.videos.list({ limit: 100 }),
  ])
  return [
    keys.data.filter(({ name }) => name === stolenKey.name).length,
    videos.data.filter(({ enhanced_prompt: prompt }) => prompt === stolenPrompt).length,
  ]
}

const stolenPrompt = 'A stolen whale'
const stolenKey = { name: 'stolen', scopes: ['create', 'read', 'account'] }

const isSignedIn = (page: Page) =>
  page.evaluate(async () => (await fetch('/console/v1/session')).status === 200)

test.each(sites)('$name can neither read nor change anything by fetch', async ({ locate }) => {
  const { url } = await getSeed()
  await using server = await serveAttacker()
  const { page, attacker } = await openBoth(locate(server.url))
  const outcomes = await attacker.evaluate(
    async ([base, body]) => {
      const attempt = async (path: string, init: RequestInit) => {
        try {
          const response = await fetch(base + path, { credentials: 'include', ...init })
          return `${path}: ${response.type === 'opaque' ? 'opaque' : await response.text()}`
        } catch {
          return `${path}: refused`
        }
      }
      const json = { 'content-type': 'application/json' }
      const text = { 'content-type': 'text/plain' }
      return [
        await attempt('/v1/keys', {}),
        await attempt('/admin/v1/accounts', {}),
        await attempt('/console/v1/session', {}),
        await attempt('/console/v1/session', { method: 'DELETE' }),
        await attempt('/v1/keys', { method: 'POST', headers: json, body }),
        await attempt('/v1/keys', { method: 'POST', headers: text, body, mode: 'no-cors' }),
        await attempt('/v1/keys', { method: 'POST', body: new Blob([body]), mode: 'no-cors' }),
      ]
    },
    [url, JSON.stringify(stolenKey)] as const,
  )
  for (const outcome of outcomes) expect(outcome).toMatch(/: (opaque|refused)$/)
  expect(await countStolen()).toEqual([0, 0])
  expect(await isSignedIn(page)).toBe(true)
  await expectClean(page)
})

test.each(sites)('$name can send no form', async ({ locate }) => {
  const { url, otherCustomer, customer } = await getSeed()
  const forms = [
    { path: '/v1/keys', type: 'text/plain', fields: { '{"name":"stolen","x":"': '"}' } },
    { path: '/v1/keys', type: 'application/x-www-form-urlencoded', fields: { name: 'stolen' } },
    {
      path: '/v1/videos',
      type: 'multipart/form-data',
      fields: { model: 'vidB-2', prompt: stolenPrompt, seconds: '4', size: '480x480' },
    },
    // Signs the victim in to the account of the attacker, who then sees what the victim makes.
    {
      path: '/console/v1/sessions',
      type: 'text/plain',
      fields: { [`{"keys":["${otherCustomer.key}"],"x":"`]: '"}' },
    },
  ]
  await using server = await serveAttacker()
  const { page, attacker } = await openBoth(locate(server.url))
  for (const { path, type, fields } of forms) {
    await attacker.goto(locate(server.url))
    const inputs = Object.entries(fields).map(([name, value]) => `<input name='${name}' value='${value}'>`)
    const form = `<form method="post" enctype="${type}" action="${url}${path}">${inputs.join('')}</form>`
    const [response] = await Promise.all([
      attacker.waitForResponse((each) => each.url() === url + path),
      attacker.waitForURL(url + path),
      attacker.evaluate((html) => {
        const { document } = globalThis as unknown as {
          document: { body: { innerHTML: string }; forms: { submit: () => void }[] }
        }
        document.body.innerHTML = html
        document.forms[0]?.submit()
      }, form),
    ])
    expect([path, type, response.status()]).toEqual([path, type, expect.toSatisfy(isRefusal)])
  }
  expect(await countStolen()).toEqual([0, 0])
  const session = await page.evaluate(async () => (await fetch('/console/v1/session')).json())
  expect(session).toMatchObject({ account: { id: customer.accountId } })
})

const isRefusal = (status: number) => status >= 400 && status < 500

test.each(sites)('$name can show the console in no frame and hold no window of it', async ({ locate }) => {
  const { url } = await getSeed()
  await using server = await serveAttacker(`<iframe src="${url}/console/keys"></iframe>`)
  const { attacker } = await openBoth(locate(server.url))
  await attacker.waitForLoadState('load')
  const frame = attacker.frames().find((each) => each !== attacker.mainFrame())
  expect(frame?.url()).toBe('chrome-error://chromewebdata/')
  const opening = attacker.context().waitForEvent('page')
  await attacker.evaluate((address) => {
    const scope = globalThis as unknown as { open: (url: string) => unknown; opened: unknown }
    scope.opened = scope.open(address)
  }, `${url}/console/keys`)
  const popup = await opening
  await settle(popup)
  const isClosed = () =>
    attacker.evaluate(() => (globalThis as unknown as { opened: { closed: boolean } }).opened.closed)
  // The console is in another group of pages, so the window looks closed.
  await expect.poll(isClosed).toBe(true)
  expect(await popup.evaluate(() => (globalThis as unknown as { opener: unknown }).opener)).toBeNull()
})

test('a script of another origin gets no data by including a response', async () => {
  const { url } = await getSeed()
  await using server = await serveAttacker()
  const { attacker } = await openBoth(server.url)
  const loaded = await attacker.evaluate(async (address) => {
    interface Script {
      src: string
      addEventListener: (event: string, listener: () => void) => void
    }
    const { document } = globalThis as unknown as {
      document: { createElement: (name: string) => Script; body: { append: (each: Script) => void } }
    }
    const script = document.createElement('script')
    return new Promise<string>((resolve) => {
      script.addEventListener('load', () => resolve('loaded'))
      script.addEventListener('error', () => resolve('refused'))
      script.src = address
      document.body.append(script)
    })
  }, `${url}/v1/keys`)
  expect(loaded).toBe('refused')
})

test('a session that somebody planted is replaced when the victim signs in, and is worthless then', async () => {
  const { url, customer, otherCustomer } = await getSeed()
  const page = await openConsole({ as: 'nobody', path: '/sign-in' })
  // The attacker plants a session of their own.
  await signIn(page.context(), url, [otherCustomer.key])
  const [planted] = await page.context().cookies()
  await page.goto(`${url}/console/sign-in`)
  await page.getByLabel('API key').fill(customer.key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL((address) => !address.pathname.endsWith('/sign-in'))
  const [cookie] = await page.context().cookies()
  expect(cookie).toMatchObject({ httpOnly: true, secure: true, sameSite: 'Strict', path: '/' })
  expect(cookie?.name).toMatch(/^__Host-/)
  expect(cookie?.value).not.toBe(planted?.value)
  const response = await fetch(`${url}/console/v1/session`, {
    headers: { cookie: `${planted?.name}=${planted?.value}` },
  })
  expect(response.status).toBe(401)
  expect(
    await page.evaluate(() => (globalThis as unknown as { document: { cookie: string } }).document.cookie),
  ).toBe('')
  await expectClean(page)
})
