import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'

import { expectClean, getSeed, openConsole } from '../kit/console.ts'

const stopsMax = 200

/** Moves the focus forward until it is at the element. */
const tabTo = async (page: Page, target: Locator): Promise<void> => {
  await target.waitFor()
  for (let stops = 0; stops < stopsMax; stops += 1) {
    const isFocused = (element: unknown) =>
      (globalThis as unknown as { document: { activeElement: unknown } }).document.activeElement === element
    if (await target.evaluate(isFocused)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`${stopsMax} times Tab do not lead to ${target.toString()}.`)
}

test('by keyboard alone, a customer signs in, makes a video and opens its task', async () => {
  const { customer } = await getSeed()
  const page = await openConsole({ as: 'nobody', path: '/sign-in?next=/playground/video' })
  await tabTo(page, page.getByLabel('API key'))
  await page.keyboard.insertText(customer.key)
  await page.keyboard.press('Enter')
  const prompt = page.getByRole('combobox', { name: 'Prompt' })
  await tabTo(page, prompt)
  await page.keyboard.type('A snail crosses a wet stone')
  const generate = page.getByRole('button', { name: /^Generate/ })
  await expect.poll(() => generate.isEnabled()).toBe(true)
  await tabTo(page, generate)
  await page.keyboard.press('Enter')
  const task = page.getByRole('link', { name: 'Open task' }).first()
  await tabTo(page, task)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/console/tasks/*')
  await page.getByText('A snail crosses a wet stone').first().waitFor()
  await expectClean(page)
})
