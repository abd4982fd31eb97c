/** What holds on every screen: no barrier, no layout shift, nothing cut off on a phone, no request to another host. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'

import { findBarriers } from '../kit/axe.ts'
import { expectClean, getSeed, openConsole } from '../kit/console.ts'
import { screens } from '../kit/screens.ts'
import { settle } from '../kit/settle.ts'

const shiftMax = 0.1

/** Adds up the shifts of the layout that no input has caused, from now on in every page. */
const watchShifts = (page: Page) =>
  page.addInitScript(() => {
    interface Shift {
      value: number
      hadRecentInput: boolean
    }
    const scope = globalThis as unknown as {
      layoutShift: number
      PerformanceObserver: new (onEntries: (list: { getEntries: () => Shift[] }) => void) => {
        observe: (options: object) => void
      }
    }
    scope.layoutShift = 0
    new scope.PerformanceObserver((list) => {
      for (const { value, hadRecentInput } of list.getEntries())
        if (!hadRecentInput) scope.layoutShift += value
    }).observe({ type: 'layout-shift', buffered: true })
  })

const readShift = (page: Page) =>
  page.evaluate(() => (globalThis as unknown as { layoutShift: number }).layoutShift)

/** The elements that are wider than the page, or the page itself if it can be scrolled sideways. */
const findOverflow = (page: Page) =>
  page.evaluate(() => {
    interface Box {
      getBoundingClientRect: () => { right: number; left: number; width: number }
      outerHTML: string
    }
    const { document } = globalThis as unknown as {
      document: {
        documentElement: { scrollWidth: number; clientWidth: number }
        querySelectorAll: (selector: string) => Iterable<Box>
      }
    }
    const { scrollWidth, clientWidth } = document.documentElement
    if (scrollWidth <= clientWidth) return []
    const wide = [...document.querySelectorAll('body *')].filter(
      (element) => element.getBoundingClientRect().right > clientWidth + 1,
    )
    return [
      `${scrollWidth} of ${clientWidth} px`,
      ...wide.slice(0, 3).map((each) => each.outerHTML.slice(0, 200)),
    ]
  })

const inspect = async (page: Page, url: string) => {
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.goto(url)
  await settle(page)
  const shift = await readShift(page)
  const barriers = await findBarriers(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  const darkBarriers = await findBarriers(page, 'contrast')
  await page.setViewportSize({ width: 390, height: 844 })
  await settle(page)
  return {
    shift: shift < shiftMax ? 'small' : shift,
    barriers,
    darkBarriers,
    overflow: await findOverflow(page),
  }
}

const people = [...new Set(screens.map(({ as }) => as))]

test.each(people)('the screens of: %s', async (as) => {
  const seed = await getSeed()
  const page = await openConsole({ as })
  await watchShifts(page)
  for (const { name, path } of screens.filter((each) => each.as === as)) {
    const found = await inspect(page, `${seed.url}/console${path(seed)}`)
    expect.soft(found, name).toEqual({ shift: 'small', barriers: [], darkBarriers: [], overflow: [] })
  }
  await expectClean(page)
})
