/** Chromium keeps the cookie of a session on this machine without HTTPS, hides it from scripts and sends it to no other site. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { chromium, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createAccount, createKey } from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let browser: Browser

beforeAll(async () => {
  gateway = await startGateway()
  browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  })
})
afterAll(async () => {
  await browser.close()
  await gateway[Symbol.asyncDispose]()
})

const open = async (): Promise<Page> => {
  const page = await (await browser.newContext()).newPage()
  page.setDefaultTimeout(120_000)
  return page
}
interface Sent {
  method?: string
  headers?: Record<string, string>
  body?: string
  credentials?: 'include'
  mode?: 'no-cors'
}

/** Sends a request as a script of the page, and returns its status; 0 if the browser does not show it. */
const send = (page: Page, url: string, init: Sent = {}): Promise<number> =>
  page.evaluate(
    ({ url: target, init: options }) =>
      fetch(target, options).then(
        ({ status }) => status,
        () => 0,
      ),
    { url, init },
  )
const json = (method: string, body: object): Sent => ({
  method,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

test('a session works on the own page only', async () => {
  const { postgres } = gateway.database
  const { text } = await createKey(postgres, await createAccount(postgres))
  const operator = await createKey(postgres, '', { kind: 'admin' })
  const page = await open()
  await page.goto(`${gateway.url}/console`)
  expect(await send(page, '/console/v1/session')).toBe(401)
  expect(await send(page, '/console/v1/sessions', json('POST', { keys: [text, operator.text] }))).toBe(200)
  const [cookie, ...others] = await page.context().cookies()
  expect(others).toEqual([])
  expect(cookie).toMatchObject({
    ...{ name: '__Host-kinora_session', domain: '127.0.0.1', path: '/' },
    ...{ httpOnly: true, secure: true, sameSite: 'Strict' },
  })
  expect(await page.evaluate('document.cookie')).toBe('')
  expect(await send(page, '/console/v1/session')).toBe(200)
  expect(await send(page, '/v1/models')).toBe(200)
  expect(await send(page, '/admin/v1/accounts', json('POST', { name: 'Aquarium' }))).toBe(200)
  await page.reload()
  expect(await send(page, '/v1/me')).toBe(200)

  // A page of another port is of the same site, so the browser sends the cookie with its requests.
  const received: (string | undefined)[] = []
  const other = createServer((request, response) => {
    received.push(request.headers.cookie)
    response.setHeader('content-type', 'text/html')
    response.end(
      `<!doctype html><form method="post" enctype="text/plain" action="${gateway.url}/admin/v1/accounts"><input name='{"name":"Stolen","x":"' value='"}'></form>`,
    )
  })
  await new Promise<void>((resolve) => {
    other.listen(0, '127.0.0.1', resolve)
  })
  try {
    const attack = await page.context().newPage()
    await attack.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`)
    expect(received[0]).toMatch(/^__Host-kinora_session=/)
    const credentials = { credentials: 'include' } as const
    expect(await send(attack, `${gateway.url}/v1/me`, credentials)).toBe(0)
    expect(
      await send(attack, `${gateway.url}/admin/v1/accounts`, {
        ...credentials,
        ...{ method: 'POST', mode: 'no-cors', body: '{"name":"Stolen"}' },
      }),
    ).toBe(0)
    const [answer] = await Promise.all([
      attack.waitForResponse(`${gateway.url}/admin/v1/accounts`),
      attack.evaluate(`document.querySelector('form').submit()`),
    ])
    expect(answer.status()).toBe(403)
    const { rows } = await postgres.query(`select from accounts where name = 'Stolen'`)
    expect(rows).toEqual([])
  } finally {
    other.closeAllConnections()
    other.close()
  }

  expect(await send(page, '/console/v1/session', { method: 'DELETE' })).toBe(200)
  expect(await page.context().cookies()).toEqual([])
  expect(await send(page, '/v1/me')).toBe(401)
})
