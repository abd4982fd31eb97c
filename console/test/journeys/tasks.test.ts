import { randomUUID } from 'node:crypto'

import { Kinora } from '@kinora/client'
import { KinoraAdmin } from '@kinora/client/admin'
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'

import { expectClean, getSeed, openConsole } from '../kit/console.ts'
import { signIn } from '../kit/open-page.ts'

const getCustomer = async () => {
  const { url, customer } = await getSeed()
  return new Kinora({ baseUrl: url, apiKey: customer.key })
}

/** A task that waits, because the vendor works on another one for ever. */
const createWaiting = async (prompt: string): Promise<string> => {
  const { slowModel } = await getSeed()
  const kinora = await getCustomer()
  return (await kinora.videos.create({ model: slowModel, prompt, seconds: 4, size: '480x480' })).id
}

const uniquePrompt = (text: string) => `${text} ${randomUUID().slice(0, 8)}`

const findRow = (page: Page, text: string): Locator => page.getByRole('row').filter({ hasText: text })

/** The account is shared, so the first new tasks may be those of other tests. */
const showNew = async (page: Page, prompt: string) => {
  const show = async () => {
    await page.keyboard.press('.')
    return findRow(page, prompt).isVisible()
  }
  await expect.poll(show).toBe(true)
}

const getFirst = (page: Page) => page.locator('[data-task="0"]')

/** Signs in the account of a new customer without tasks. */
const openAsNewcomer = async (): Promise<Page> => {
  const { url, operators } = await getSeed()
  const admin = new KinoraAdmin({ baseUrl: url, apiKey: operators.admin })
  const account = await admin.accounts.create({ name: uniquePrompt('Newcomer') })
  const scopes: ('create' | 'read')[] = ['create', 'read']
  const { secret } = await admin.keys.create(account.id, { kind: 'payg', name: 'First', scopes })
  const page = await openConsole({ as: 'nobody', path: '/sign-in' })
  await signIn(page.context(), url, [secret])
  await page.goto(`${url}/console/tasks`)
  return page
}

test('a customer finds tasks by status and words, and removes the filter that hides all', async () => {
  const page = await openConsole({ as: 'customer', path: '/tasks' })
  await findRow(page, 'misty pine forest').getByText('Completed').waitFor()
  await findRow(page, 'A lighthouse in a storm').getByText('held').waitFor()
  await page.getByRole('radio', { name: 'Failed' }).check({ force: true })
  await page.waitForURL('**/tasks?status=failed')
  await findRow(page, 'A famous football player').getByText('0.00 USD').waitFor()
  await findRow(page, 'misty pine forest').waitFor({ state: 'detached' })
  await page.getByRole('searchbox').fill('a word that no prompt has')
  await page.getByRole('button', { name: 'Remove Search: a word that no prompt has' }).click()
  await page.getByRole('button', { name: 'Remove Status: Failed' }).waitFor({ state: 'detached' })
  await findRow(page, 'A famous football player').waitFor()
  await expectClean(page)
})

test('keys move through the tasks, select a range, change the view and search', async () => {
  const page = await openConsole({ as: 'customer', path: '/tasks' })
  await getFirst(page).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('x')
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('Shift+X')
  await page.getByText('3 selected').waitFor()
  await page.keyboard.press('Escape')
  await page.getByText('3 selected').waitFor({ state: 'detached' })
  await page.keyboard.press('v')
  await page.waitForURL('**/tasks?view=gallery')
  await page.getByRole('listitem').first().waitFor()
  await page.keyboard.press('v')
  await page.getByRole('table', { name: 'Tasks' }).waitFor()
  await page.keyboard.press('/')
  expect(await page.getByRole('searchbox').evaluate((field) => field.matches(':focus'))).toBe(true)
  await expectClean(page)
})

test('a new task moves no row until it is shown', async () => {
  const page = await openConsole({ as: 'customer', path: '/tasks' })
  const before = await getFirst(page).getByRole('link').first().textContent()
  const prompt = uniquePrompt('A comet above a village')
  const id = await createWaiting(prompt)
  await page.getByRole('button', { name: /new tasks?/ }).waitFor()
  expect(await getFirst(page).getByRole('link').first().textContent()).toBe(before)
  await showNew(page, prompt)
  await (await getCustomer()).videos.cancel(id)
  await findRow(page, prompt).getByText('Cancelled').waitFor()
  await expectClean(page)
})

test('selected tasks are cancelled, then deleted, after a question with their number and price', async () => {
  const prompts = [uniquePrompt('A first errand'), uniquePrompt('A second errand')]
  for (const prompt of prompts) await createWaiting(prompt)
  const page = await openConsole({ as: 'customer', path: '/tasks?q=errand' })
  for (const prompt of prompts) await findRow(page, prompt).getByRole('checkbox').check()
  await page.getByRole('button', { name: 'Cancel 2' }).click()
  const question = page.getByRole('alertdialog')
  await question.getByText('Nothing is charged').waitFor()
  await question.getByRole('button', { name: 'Cancel 2 tasks' }).click()
  await question.waitFor({ state: 'detached' })
  for (const prompt of prompts) {
    await findRow(page, prompt).getByText('Cancelled').waitFor()
    await findRow(page, prompt).getByRole('checkbox').check()
  }
  await page.getByRole('button', { name: 'Delete 2 videos' }).click()
  await question.getByRole('button', { name: 'Delete 2 videos' }).click()
  for (const prompt of prompts) await findRow(page, prompt).waitFor({ state: 'detached' })
  await expectClean(page)
})

test('a failed task is created again at the price of the question', async () => {
  const { slowModel } = await getSeed()
  const page = await openConsole({ as: 'customer', path: `/tasks?status=failed&model=${slowModel}` })
  await findRow(page, 'A famous football player').getByRole('checkbox').check()
  await page.getByRole('button', { name: /^Retry 1,/ }).click()
  await page
    .getByRole('alertdialog')
    .getByRole('button', { name: /^Retry 1 task, .* USD$/ })
    .click()
  await page.getByText('1 task created.').waitFor()
  const kinora = await getCustomer()
  const { data } = await kinora.videos.list({ q: 'famous football', status: 'pending,processing' })
  expect(data).toHaveLength(1)
  for (const { id } of data) await kinora.videos.cancel(id)
  await expectClean(page)
})

test('an operator sees the tasks of all accounts without prompts, and those of one account', async () => {
  const { otherCustomer, customer } = await getSeed()
  const page = await openConsole({ as: 'operator', path: '/tasks' })
  await findRow(page, otherCustomer.accountName).first().waitFor()
  await findRow(page, customer.accountName).first().waitFor()
  expect(await page.getByText('misty pine forest').count()).toBe(0)
  await page.goto(`${(await getSeed()).url}/console/tasks?account=${otherCustomer.accountId}`)
  await findRow(page, otherCustomer.accountName).first().waitFor()
  expect(await page.getByRole('cell').filter({ hasText: customer.accountName }).count()).toBe(0)
  await expectClean(page)
})

test('without a connection the list keeps what was known, and catches up through the new tasks', async () => {
  const page = await openConsole({ as: 'customer', path: '/tasks' })
  await findRow(page, 'A lighthouse in a storm').waitFor()
  await page.context().setOffline(true)
  await page.getByRole('alert').getByText('No connection to the service').waitFor()
  await findRow(page, 'A lighthouse in a storm').getByText(/^was /).waitFor()
  const prompt = uniquePrompt('A whisper in the dark')
  const id = await createWaiting(prompt)
  await page.context().setOffline(false)
  await showNew(page, prompt)
  await (await getCustomer()).videos.cancel(id)
})

test('an account without tasks gets prompts to start with', async () => {
  const page = await openAsNewcomer()
  await page.getByRole('heading', { name: 'No tasks yet' }).waitFor()
  await page.getByRole('link', { name: /paper boat/ }).click()
  await page.waitForURL('**/playground/video?prompt=*')
})

test('rows are cards on a phone, and nothing is wider than the screen', async () => {
  for (const path of ['/tasks', '/tasks?view=gallery']) {
    const page = await openConsole({ as: 'customer', path, phone: true, theme: 'dark' })
    await getFirst(page).waitFor()
    const width = await page.evaluate<number>('document.documentElement.scrollWidth')
    expect(width).toBeLessThanOrEqual(390)
    await expectClean(page)
  }
})

test('frames of a video follow the pointer, and a finger that is held does not open the task', async () => {
  for (const phone of [false, true]) {
    const path = '/tasks?view=gallery&status=completed&q=misty'
    const page = await openConsole({ as: 'customer', path, phone })
    const picture = getFirst(page).locator('img').first()
    await picture.waitFor()
    const { x, y, width, height } = (await picture.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
    const point = { x: x + width * 0.6, y: y + height / 2 }
    const touches = await page.context().newCDPSession(page)
    const touch = (type: 'touchStart' | 'touchEnd') =>
      touches.send('Input.dispatchTouchEvent', { type, touchPoints: type === 'touchStart' ? [point] : [] })
    await (phone ? touch('touchStart') : page.mouse.move(point.x, point.y))
    await getFirst(page).locator('[style*="spritesheet"]').waitFor()
    if (phone) await touch('touchEnd')
    else await page.mouse.move(0, 0)
    await getFirst(page).locator('[style*="spritesheet"]').waitFor({ state: 'detached' })
    expect(new URL(page.url()).pathname).toBe('/console/tasks')
    await expectClean(page)
  }
})
