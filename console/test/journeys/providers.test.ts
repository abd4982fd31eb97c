import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'

import { expectClean, getSeed, openConsole } from '../kit/console.ts'

const fillProvider = async (page: Page, name: string, url: string, key: string) => {
  await page.getByRole('button', { name: 'Add provider' }).first().click()
  const sheet = page.getByRole('dialog', { name: 'Add a provider' })
  await sheet.getByRole('textbox', { name: 'Name', exact: true }).fill(name)
  await sheet.getByLabel('Base URL').fill(url)
  await sheet.getByLabel('API key').fill(key)
  await sheet.getByRole('button', { name: 'Test and save' }).click()
  return sheet
}

test('an operator adds a provider, and repairs its wrong key without leaving the page', async () => {
  const { upstreams, rightProviderKey } = await getSeed()
  const page = await openConsole({ as: 'operator', path: '/providers' })
  const sheet = await fillProvider(page, 'studio', upstreams.strict, 'an-outdated-key')
  await sheet.getByText('Key: failed').waitFor({ state: 'attached' })
  await sheet.getByText('It is saved, but gets no jobs').waitFor()
  await sheet.getByRole('button', { name: 'Use it anyway' }).click()
  const card = page.getByRole('article', { name: 'studio' })
  await card.getByRole('button', { name: 'Test now' }).click()
  await card.getByText('Wrong key').waitFor()
  await card.getByLabel('New API key of studio').fill(rightProviderKey)
  await card.getByRole('button', { name: 'Save and test' }).click()
  await card.getByText('Key: passed').waitFor({ state: 'attached' })
  expect(await card.getByText('Wrong key').count()).toBe(0)
  expect(page.url()).toContain('/console/providers')
  await expectClean(page)
})

test('an operator edits a provider without seeing its key, disables it and deletes it', async () => {
  const { upstreams } = await getSeed()
  const page = await openConsole({ as: 'operator', path: '/providers' })
  const sheet = await fillProvider(page, 'spare', upstreams.vendor, 'the-key-of-the-spare-vendor')
  await sheet.getByText('spare is saved and gets jobs.').waitFor()
  await sheet.getByRole('button', { name: 'Done' }).click()
  const card = page.getByRole('article', { name: 'spare' })
  const choose = async (action: string) => {
    await card.getByRole('button', { name: 'Actions for spare' }).click()
    await page.getByRole('menuitem', { name: action }).click()
  }
  await choose('Edit')
  const form = page.getByRole('dialog', { name: 'Edit spare' })
  expect(await form.getByLabel('API key').inputValue()).toBe('')
  await form.getByLabel('Jobs at once').fill('7')
  await form.getByRole('button', { name: 'Save and test' }).click()
  await form.getByRole('button', { name: 'Done' }).click()
  await card.getByText('0 of 7').waitFor()
  await choose('Disable')
  await page.getByRole('button', { name: 'Disable spare' }).click()
  await card.getByText('Disabled').waitFor()
  await choose('Delete')
  await page.getByRole('button', { name: 'Delete spare' }).click()
  await card.waitFor({ state: 'detached' })
  await expectClean(page)
})

test('a key that may only read sees the providers, and no button that would fail', async () => {
  const page = await openConsole({ as: 'reader', path: '/providers' })
  await page.getByRole('article', { name: 'local' }).waitFor()
  await page.getByText('Your key may only read.').waitFor()
  for (const name of ['Add provider', 'Test now', 'Test all']) {
    expect(await page.getByRole('button', { name }).count()).toBe(0)
  }
  await expectClean(page)
})
