import { expect, test } from 'vitest'

import { expectClean, getSeed, openConsole } from '../kit/console.ts'

test('a customer signs in with a key and finds the task list', async () => {
  const { customer } = await getSeed()
  const page = await openConsole({ as: 'nobody', path: '/tasks' })
  await page.getByLabel('API key').fill(customer.key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL('**/console/tasks')
  await page.getByRole('link', { name: 'Tasks' }).first().waitFor()
  await expectClean(page)
})

test('an operator without a key of a customer sees the screens of operators alone', async () => {
  const page = await openConsole({ as: 'operator' })
  const navigation = page.getByRole('navigation', { name: 'Navigation' }).first()
  await navigation.getByRole('link', { name: 'Providers' }).waitFor()
  expect(await navigation.getByRole('link', { name: 'Webhooks' }).count()).toBe(0)
  await expectClean(page)
})
