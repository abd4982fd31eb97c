import { Kinora } from '@kinora/client'
import type { Page } from 'playwright-core'
import sharp from 'sharp'
import { expect, test } from 'vitest'

import { expectClean, getSeed, openConsole } from '../kit/console.ts'

const pathOf = (id: string) => `/tasks/${encodeURIComponent(id)}`

const openCustomer = async () => {
  const { url, customer } = await getSeed()
  return new Kinora({ baseUrl: url, apiKey: customer.key })
}

const film = { model: 'vidB-2', seconds: 4, size: '480x480' } as const

/** A row of the table that screen readers get instead of the drawing. */
const stepRow = (page: Page, name: string | RegExp) =>
  page.getByRole('table', { name: 'Timeline' }).getByRole('row', { name })

test('a customer sees the video, the way and the price of a completed task', async () => {
  const { tasks } = await getSeed()
  const [id = ''] = tasks.completed
  const page = await openConsole({ as: 'customer', path: pathOf(id) })
  await page.locator('video').waitFor()
  await page.getByText('Completed', { exact: true }).waitFor()
  for (const step of ['Accepted', 'Hold', 'Generating', 'Copy to storage', 'Settle'])
    await stepRow(page, new RegExp(`^${step}`))
      .first()
      .waitFor()
  const receipt = page.locator('section', { has: page.getByRole('heading', { name: 'Receipt' }) })
  await receipt.getByText('Charged').waitFor()
  expect(await page.getByRole('heading', { name: 'Attempts' }).count()).toBe(0)
  await page.getByRole('radio', { name: 'OpenAI' }).check({ force: true })
  await page.getByRole('region', { name: 'JSON of the task' }).getByText('"expires_at"').waitFor()
  await expectClean(page)
})

test('a customer learns why a task failed, what it cost, and what to do', async () => {
  const { tasks } = await getSeed()
  const page = await openConsole({ as: 'customer', path: pathOf(tasks.failed) })
  const failure = page.getByRole('region', { name: 'This task failed' })
  await failure.getByText('You paid').waitFor()
  await failure.getByText('0.00 USD').first().waitFor()
  await failure.getByText('Safe to repeat').waitFor()
  await failure.getByRole('link', { name: 'Playground' }).click()
  await page.waitForURL('**/console/playground/video?**prompt=**')
  await expectClean(page)
})

test('an operator reads attempts at once, and the prompt only on request', async () => {
  const { tasks } = await getSeed()
  const page = await openConsole({ as: 'operator', path: pathOf(tasks.failed) })
  await page.getByRole('heading', { name: 'Why vendor' }).waitFor()
  expect(await page.getByText('A famous football player').count()).toBe(0)
  await page.getByRole('button', { name: 'Exchanges' }).click()
  await page.getByRole('dialog').getByRole('heading', { name: 'Attempt 1, vendor' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Show prompt and parameters' }).click()
  await page.getByText('A famous football player').first().waitFor()
  await expectClean(page)
})

test('a link with a time starts the player there', async () => {
  const { tasks } = await getSeed()
  const [id = ''] = tasks.completed
  const page = await openConsole({ as: 'customer', path: `${pathOf(id)}?t=1.5` })
  const video = page.locator('video')
  await video.waitFor()
  const readPosition = () =>
    video.evaluate((element) => (element as unknown as { currentTime: number }).currentTime)
  await expect.poll(readPosition).toBeCloseTo(1.5, 1)
  const slider = page.getByRole('slider', { name: 'Position' })
  await expect.poll(() => slider.getAttribute('aria-valuetext')).toBe('0:01 of 0:04')
  await expectClean(page)
})

test('the key c copies the id, also beside a message that is still there', async () => {
  const { tasks } = await getSeed()
  const [id = ''] = tasks.completed
  const page = await openConsole({ as: 'customer', path: pathOf(id) })
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByText('Completed', { exact: true }).waitFor()
  const copied = page.getByText(`Copied ${id}`)
  await page.keyboard.press('c')
  await copied.first().waitFor()
  await page.keyboard.press('c')
  await copied.nth(1).waitFor()
  const readClipboard = () =>
    (
      globalThis as unknown as { navigator: { clipboard: { readText: () => Promise<string> } } }
    ).navigator.clipboard.readText()
  expect(await page.evaluate(readClipboard)).toBe(id)
  await expectClean(page)
})

test('an operator sees the video of a customer after asking for it', async () => {
  const { tasks } = await getSeed()
  const [id = ''] = tasks.completed
  const page = await openConsole({ as: 'operator', path: pathOf(id) })
  const show = page.getByRole('button', { name: 'Show the video' })
  await show.waitFor()
  expect(await page.locator('video').count()).toBe(0)
  await show.click()
  await page.getByRole('button', { name: 'Play' }).first().click()
  const readPosition = () =>
    page.locator('video').evaluate((video) => (video as unknown as { currentTime: number }).currentTime)
  await expect.poll(readPosition).toBeGreaterThan(0)
  await expectClean(page)
})

test('a running task is cancelled after a question, and nothing is charged', async () => {
  const customer = await openCustomer()
  const { id } = await customer.videos.create({ ...film, prompt: 'A quiet harbor sim:slow=1m' })
  const page = await openConsole({ as: 'customer', path: pathOf(id) })
  await page.getByRole('progressbar', { name: 'Progress' }).waitFor()
  await page.getByRole('button', { name: 'Cancel', exact: true }).click()
  const question = page.getByRole('alertdialog')
  await question.getByText('Nothing is charged').waitFor()
  await question.getByRole('button', { name: /^Cancel .+/ }).click()
  await page
    .getByRole('region', { name: 'This task was cancelled' })
    .getByText('task_cancelled')
    .first()
    .waitFor()
  await stepRow(page, /^Settle.*returned/).waitFor()
  await expectClean(page)
})

test('a refund is in the receipt and the timeline at once', async () => {
  const customer = await openCustomer()
  const { id } = await customer.videos.run({ ...film, prompt: 'A green lamp on a desk' })
  const page = await openConsole({ as: 'both', path: pathOf(id) })
  await page.getByRole('button', { name: /^Refund 0\.40 USD/ }).click()
  const question = page.getByRole('alertdialog')
  await question.getByLabel('Amount').fill('0.5')
  await question.getByText('Use an amount above 0 and up to 0.40 USD.').waitFor()
  await question.getByLabel('Amount').fill('0.15')
  await question.getByRole('button', { name: 'Refund 0.15 USD' }).click()
  await question.getByText('Say why the money is returned.').waitFor()
  await question.getByLabel('Reason').fill('The caption was wrong')
  await question.getByRole('button', { name: 'Refund 0.15 USD' }).click()
  await question.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: /^Refund the remaining 0\.25 USD/ }).waitFor()
  await stepRow(page, /^Refund.*0\.15 USD returned/).waitFor()
  expect((await customer.receipts.get(id)).refunded_micros).toBe(150_000)
  await expectClean(page)
})

test('a remix and its source lead to each other, also by keys', async () => {
  const customer = await openCustomer()
  const source = await customer.videos.run({ ...film, prompt: 'A tree in summer' })
  const { id } = await customer.videos.remix(source.id, { prompt: 'The tree in winter' })
  const page = await openConsole({ as: 'customer', path: pathOf(id) })
  await page.getByRole('link', { name: /A tree in summer/ }).waitFor()
  await page.keyboard.press(']')
  await page.waitForURL((url) => !url.href.endsWith(pathOf(id)))
  await page.goBack()
  await page.getByRole('link', { name: /A tree in summer/ }).click()
  await page.waitForURL(`**${pathOf(source.id)}`)
  await page.getByRole('link', { name: new RegExp(id.slice(-10)) }).waitFor()
  await page.getByRole('button', { name: 'Remix' }).waitFor()
  await page.keyboard.press('r')
  await page.waitForURL('**/console/playground/video?**remix=**')
  await expectClean(page)
})

test('a task of another account does not exist', async () => {
  const { tasks } = await getSeed()
  const page = await openConsole({ as: 'customer', path: pathOf(tasks.foreign) })
  await page.getByRole('heading', { name: 'There is no such task.' }).waitFor()
  expect(await page.getByText('confidential').count()).toBe(0)
  await expectClean(page)
})

test('a repetition has all options of the request, and says what is left out', async () => {
  const kinora = await openCustomer()
  const png = await sharp({ create: { width: 480, height: 480, channels: 3, background: '#24506e' } })
    .png()
    .toBuffer()
  const { id } = await kinora.videos.create({
    ...{ ...film, prompt: 'A harbour at noon', watermark: false, private: true, style: 'anime' },
    ...{ metadata: { scene: '12' }, input_reference: new File([png], 'harbour.png', { type: 'image/png' }) },
  })
  const page = await openConsole({ as: 'customer', path: pathOf(id) })
  await page.locator('video').waitFor()
  const { pathname } = new URL(page.url())
  await page.getByRole('button', { name: 'Run again' }).click()
  const question = page.getByRole('alertdialog')
  await question.getByText('Without its reference file, which was deleted').waitFor()
  await question.getByRole('button', { name: /^Run again, / }).click()
  await page.waitForURL((address) => address.pathname !== pathname)
  const again = decodeURIComponent(new URL(page.url()).pathname.split('/').at(-1) ?? '')
  const [video, timeline] = await Promise.all([kinora.videos.get(again), kinora.videos.timeline(again)])
  expect(video).toMatchObject({ ...film, metadata: { scene: '12' } })
  expect(timeline.request).toMatchObject({ watermark: false, private: true, style: 'anime', files: 0 })
  await expectClean(page)
})
