/** The console in tests: one seeded service and one browser for all files, and a new browser context for each page. */
import { chromium, type Browser, type Page } from 'playwright-core'
import { expect, inject } from 'vitest'

import { getObservations, openPage, type OpenOptions } from './open-page.ts'
import type { SeededConsole } from './seeded-console.ts'

const fetchSeed = async (): Promise<SeededConsole> => {
  const response = await fetch(inject('consoleUrl'))
  const text = await response.text()
  if (!response.ok) throw new Error(`The console did not start: ${text}`)
  return JSON.parse(text) as SeededConsole
}

let seed: Promise<SeededConsole> | undefined
let browser: Promise<Browser> | undefined

/** What the service has. Files share it, so a test creates what it changes. */
export const getSeed = (): Promise<SeededConsole> => (seed ??= fetchSeed())

export const getBrowser = async (): Promise<Browser> => {
  const { browserUrl } = await getSeed()
  return (browser ??= chromium.connect(browserUrl))
}

const opened = new Set<Page>()

/** Opens a screen as somebody. The page is closed after the test. */
export const openConsole = async (options: OpenOptions): Promise<Page> => {
  const page = await openPage(await getBrowser(), await getSeed(), options)
  opened.add(page)
  return page
}

/** A setup file calls it after each test. */
export const closePages = async (): Promise<void> => {
  const contexts = new Set([...opened].map((page) => page.context()))
  opened.clear()
  for (const context of contexts) await context.close()
}

/** Asserts that the page has called no other host, and that no script failed or violated the content security policy. */
export const expectClean = async (page: Page): Promise<void> => {
  const { host } = new URL((await getSeed()).url)
  const { hosts, problems } = getObservations(page)
  expect({ hosts: [...hosts], problems }).toEqual({ hosts: [host], problems: [] })
}
