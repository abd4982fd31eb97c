/** Opens a screen of the console in a browser, signed in, and records what must not happen there. */
import type { Browser, BrowserContext, Page } from 'playwright-core'

import { seconds } from '../../../gateway/test/kit/time-limits.ts'
import type { Seed } from './seed.ts'

export type Person = 'customer' | 'other customer' | 'operator' | 'reader' | 'both' | 'nobody'

export interface OpenOptions {
  /** Who signs in. `both` has the keys of the customer and of an admin. */
  as: Person
  /** Below `/console`. */
  path?: string
  theme?: 'light' | 'dark'
  phone?: boolean
  language?: 'en' | 'zh'
}

export interface Observations {
  /** Every host that the page has sent a request to. */
  hosts: Set<string>
  /** Errors of scripts, violations of the content security policy, and responses with 500 and above. */
  problems: string[]
}

const keysOf = ({ customer, otherCustomer, operators }: Seed, person: Person): string[] =>
  ({
    customer: [customer.key],
    'other customer': [otherCustomer.key],
    operator: [operators.admin],
    reader: [operators.reader],
    both: [customer.key, operators.admin],
    nobody: [],
  })[person]

/** Signs the browser in without its pages. */
export const signIn = async (context: BrowserContext, url: string, keys: string[]): Promise<void> => {
  const response = await context.request.post(`${url}/console/v1/sessions`, { data: { keys } })
  if (!response.ok()) throw new Error(`Could not sign in: ${await response.text()}`)
}

const observations = new WeakMap<Page, Observations>()

export const getObservations = (page: Page): Observations => {
  const found = observations.get(page)
  if (found === undefined) throw new Error('The page was not opened by the kit.')
  return found
}

const observe = (page: Page) => {
  const hosts = new Set<string>()
  const problems: string[] = []
  observations.set(page, { hosts, problems })
  page.on('request', (request) => {
    const { protocol, host } = new URL(request.url())
    if (protocol !== 'data:' && protocol !== 'blob:') hosts.add(host)
  })
  page.on('response', (response) => {
    if (response.status() >= 500) problems.push(`${response.status()} ${response.url()}`)
  })
  page.on('pageerror', ({ message }) => problems.push(message))
  page.on('console', (message) => {
    // Also for responses below 500, of which some are expected.
    const isFailedRequest = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isFailedRequest) problems.push(message.text())
  })
}

/** The caller closes the context. */
export const openPage = async (
  browser: Browser,
  seed: Seed,
  { as, path = '/', theme = 'light', phone = false, language = 'en' }: OpenOptions,
): Promise<Page> => {
  const context = await browser.newContext({
    ...(phone
      ? { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }
      : { viewport: { width: 1440, height: 900 } }),
    colorScheme: theme,
    reducedMotion: 'reduce',
    locale: language === 'en' ? 'en-US' : 'zh-CN',
    timezoneId: 'UTC',
  })
  // A slow machine takes seconds for each step.
  context.setDefaultTimeout(seconds(20))
  context.on('page', observe)
  await context.addInitScript(() => {
    const page = globalThis as unknown as EventTarget
    page.addEventListener('securitypolicyviolation', (event) => {
      const { effectiveDirective, blockedURI } = event as Event & Record<string, unknown>
      console.error(`content security policy: ${String(effectiveDirective)} ${String(blockedURI)}`)
    })
  })
  const keys = keysOf(seed, as)
  if (keys.length > 0) await signIn(context, seed.url, keys)
  const page = await context.newPage()
  await page.goto(`${seed.url}/console${path}`)
  return page
}
