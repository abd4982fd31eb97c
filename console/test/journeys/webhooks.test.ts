import { expect, test } from 'vitest'

import { expectClean, getSeed, openConsole } from '../kit/console.ts'

test('a customer creates an endpoint and sees a test event arrive', async () => {
  const { upstreams } = await getSeed()
  const page = await openConsole({ as: 'customer', path: '/webhooks?new=1' })
  await page.getByRole('textbox', { name: 'URL' }).fill('nowhere')
  await page.getByRole('button', { name: 'Create endpoint' }).click()
  await page.getByText('Write a URL such as https://example.com/webhooks.').waitFor()
  await page.getByRole('textbox', { name: 'URL' }).fill(upstreams.receiver)
  await page.getByRole('textbox', { name: 'Name' }).fill('Cutting room')
  await page.getByRole('button', { name: 'Create endpoint' }).click()
  const sheet = page.getByRole('dialog', { name: 'Cutting room is ready' })
  expect(await sheet.locator('code').first().innerText()).toMatch(/^whsec_/)
  await sheet.getByText('I have saved the secret').click()
  await sheet.getByRole('button', { name: 'Done' }).click()

  await page.getByRole('link', { name: 'Cutting room' }).click()
  await page.getByRole('button', { name: 'Send test event' }).click()
  const testSheet = page.getByRole('dialog')
  await testSheet.getByRole('button', { name: 'Send test event' }).click()
  await testSheet.getByText('The endpoint has accepted the event').waitFor()
  await testSheet.getByText('received').waitFor()
  await testSheet.getByRole('button', { name: 'Close' }).last().click()
  await page.getByRole('row', { name: /video\.completed.*Delivered/ }).waitFor()
  await expectClean(page)
})

test('a customer reads why a delivery failed, and requests it again', async () => {
  const { webhooks } = await getSeed()
  const page = await openConsole({ as: 'customer', path: `/webhooks?id=${webhooks.broken}` })
  // The oldest one: deliveries of other tests may still be under way.
  await page
    .getByRole('row', { name: /video\./ })
    .getByRole('link')
    .last()
    .click()
  const sheet = page.getByRole('dialog')
  await sheet.getByText('out of order').first().waitFor()
  await sheet.getByText('500').first().waitFor()
  await page.keyboard.press('Escape')
  await sheet.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Actions for Archive' }).click()
  await page.getByRole('menuitem', { name: 'Deliver again what has failed' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Deliver again' }).click()
  await page.getByText(/pending again|Nothing has failed/).waitFor()
  await expectClean(page)
})
