/**
 * Both pages in Chromium: at two widths, in both themes, accessible, and without a request to another host. With
 * `PAGE_PICTURES=<directory>`, every combination is opened, and a picture of each is saved there.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
const desktop = { viewport: { width: 1440, height: 900 } }
const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }

const pictures = process.env['PAGE_PICTURES']

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

interface Opened {
  path: string
  heading: string
  options: BrowserContextOptions
}

const savePicture = async (page: Page, { path, options }: Opened, part: string) => {
  if (pictures === undefined) return
  mkdirSync(pictures, { recursive: true })
  const name = path === '/' ? 'home' : 'docs'
  const file = `${name}-${part}-${options.viewport?.width}-${options.colorScheme}.png`
  await page.screenshot({ path: join(pictures, file), fullPage: path === '/' })
}

const open = async (opened: Opened) => {
  const { path, heading, options } = opened
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  try {
    const page = await context.newPage()
    // A slow machine takes seconds for each step.
    page.setDefaultTimeout(120_000)
    const hosts = new Set<string>()
    const problems: string[] = []
    page.on('request', (request) => {
      if (!request.url().startsWith('data:')) hosts.add(new URL(request.url()).host)
    })
    page.on('pageerror', ({ message }) => problems.push(message))
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text())
    })
    await page.goto(gateway.url + path)
    await page.getByRole('heading', { name: heading, exact: true }).first().waitFor()
    // Parts of the reference appear one after the other.
    let elements = 0
    const hasGrown = async () => {
      const before = elements
      elements = await page.locator('*').count()
      return elements > before
    }
    await expect.poll(hasGrown, { interval: 500 }).toBe(false)
    await savePicture(page, opened, 'start')
    if (path !== '/') {
      await page.getByRole('button', { name: 'curl' }).first().click()
      await page.getByRole('option', { name: '@kinora/client' }).click()
      await page.getByText('kinora.videos.create').first().waitFor()
      await savePicture(page, opened, 'client')
    }
    await page.evaluate(axe)
    const findings = async () =>
      page.evaluate(async (tags) => {
        interface Violation {
          id: string
          impact: string
          nodes: { html: string }[]
        }
        const { run } = (
          globalThis as unknown as { axe: { run: (options: object) => Promise<{ violations: Violation[] }> } }
        ).axe
        const { violations } = await run({ runOnly: tags })
        return violations
          .filter(({ impact }) => impact === 'serious' || impact === 'critical')
          .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
      }, rules)
    // Names of buttons are added when the page is idle.
    await expect.poll(findings).toEqual([])
    if (path !== '/') {
      await page.evaluate(() => {
        ;(globalThis as unknown as { scrollTo: (x: number, y: number) => void }).scrollTo(0, 0)
      })
      await savePicture(page, opened, 'introduction')
    }
    return { hosts: [...hosts], problems }
  } finally {
    await context.close()
  }
}

const home = { path: '/', heading: 'First request' }
const docs = { path: '/docs#tag/videos/POST/v1/videos', heading: 'Create a video' }

const all: Opened[] = [home, docs].flatMap((page) =>
  [desktop, phone].flatMap((size) =>
    (['light', 'dark'] as const).map((colorScheme) => ({ ...page, options: { ...size, colorScheme } })),
  ),
)

const few: Opened[] = [
  { ...home, options: { ...phone, colorScheme: 'dark' } },
  { ...docs, options: { ...desktop, colorScheme: 'light' } },
  { ...docs, options: { ...phone, colorScheme: 'dark' } },
]

test.each(pictures === undefined ? few : all)(
  '$path $options.colorScheme, $options.viewport.width wide',
  async (opened) => {
    const { hosts, problems } = await open(opened)
    expect(hosts).toEqual([new URL(gateway.url).host])
    expect(problems).toEqual([])
  },
)
