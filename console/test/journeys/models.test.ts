import { expect, test } from 'vitest'

import { expectClean, getSeed, openConsole } from '../kit/console.ts'

test('an operator adds a model of a provider, and sees where a request would go and what remains', async () => {
  const { providers } = await getSeed()
  const page = await openConsole({ as: 'operator', path: '/models?new=1' })
  const sheet = page.getByRole('dialog', { name: 'Add a model' })
  await sheet.getByRole('button', { name: /Provider/ }).click()
  await page.getByRole('option', { name: providers.vendor, exact: true }).click()
  await sheet.getByLabel("Provider's name of the model").fill('acme/clip-turbo')
  const amounts = sheet.getByLabel('Amount')
  await amounts.nth(0).fill('0.25')
  await amounts.nth(1).fill('0.10')
  await sheet.getByRole('button', { name: /Family/ }).click()
  await page.getByRole('option', { name: 'B', exact: true }).click()
  await sheet.getByLabel('Seconds', { exact: true }).fill('4, 8')
  await sheet.getByLabel('Sizes', { exact: true }).fill('1280x720')
  await sheet.getByRole('button', { name: 'Add clip-turbo' }).click()
  await page.getByRole('heading', { name: 'clip-turbo', level: 1 }).waitFor()
  await page.getByLabel('Seconds', { exact: true }).fill('8')
  await page.getByRole('button', { name: 'Explain' }).click()
  const decision =
    'It goes to vendor. The customer pays 2.00 USD. vendor charges 0.80 USD, so 1.20 USD remain.'
  await page.getByText(decision).waitFor()
  await expectClean(page)
})

test('an operator orders the routes of a model, names it, changes its price and retires it', async () => {
  const { providers } = await getSeed()
  const page = await openConsole({ as: 'operator', path: '/models?id=vidA3-pro' })
  await page.getByRole('button', { name: 'Add route' }).click()
  const route = page.getByRole('dialog', { name: 'Add a route of vidA3-pro' })
  await route.getByRole('button', { name: /Provider/ }).click()
  await page.getByRole('option', { name: providers.vendor, exact: true }).click()
  await route.getByRole('button', { name: 'Save route' }).click()
  await page.getByRole('button', { name: `Move ${providers.vendor} up` }).click()
  const first = page.getByRole('list', { name: 'Routes' }).getByRole('listitem').first()
  await first.getByRole('link', { name: providers.vendor }).waitFor()

  await page.getByLabel('New alias').fill('cinema')
  await page.getByRole('button', { name: 'Add alias' }).click()
  await page.getByRole('button', { name: 'Remove the alias cinema' }).waitFor()

  await page.getByRole('button', { name: 'Change price' }).click()
  await page.getByLabel('New price').fill('0.5')
  await page.getByRole('button', { name: 'Set 0.50 USD' }).click()
  await page.getByRole('list', { name: 'Prices' }).getByText('0.50 USD').waitFor()

  await page.getByRole('button', { name: 'Retire…' }).click()
  await page.getByLabel('Shutdown date').fill('2099-06-30')
  await page.getByRole('button', { name: 'Retire on 2099-06-30' }).click()
  await page.getByText('Deprecated').first().waitFor()
  await expectClean(page)
})

test('a key that may only read sees the routes, and no button that would fail', async () => {
  const page = await openConsole({ as: 'reader', path: '/models?id=vidB-2' })
  await page.getByRole('list', { name: 'Routes' }).getByRole('listitem').first().waitFor()
  for (const name of ['Add route', 'Change price', 'Retire…', 'Edit', 'Add alias']) {
    expect(await page.getByRole('button', { name }).count()).toBe(0)
  }
  await page.getByRole('button', { name: 'Explain' }).click()
  await page.getByText(/^It goes to /).waitFor()
  await expectClean(page)
})
