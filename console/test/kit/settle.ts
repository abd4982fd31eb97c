import { setTimeout as sleep } from 'node:timers/promises'

import type { Page } from 'playwright-core'

/** Whether a picture that the screen shows has not arrived yet. */
const isLoadingPictures = (page: Page) =>
  page.evaluate(() => {
    const { document } = globalThis as unknown as {
      document: { images: Iterable<{ complete: boolean; loading: string }> }
    }
    return [...document.images].some(({ complete, loading }) => !complete && loading !== 'lazy')
  })

/** Waits until the screen shows its content: it has a heading, nothing is loading, and nothing appears any more. */
export const settle = async (page: Page): Promise<void> => {
  await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' })
  const loading = page.getByRole('status', { name: 'Loading', exact: true })
  let elements = -1
  for (;;) {
    const before = elements
    const isLoading = (await loading.count()) > 0 || (await isLoadingPictures(page))
    elements = isLoading ? -1 : await page.locator('*').count()
    if (elements !== -1 && elements === before) return
    await sleep(250)
  }
}
