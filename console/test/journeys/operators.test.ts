import { expect, test } from 'vitest'

import { expectClean, getSeed, openConsole } from '../kit/console.ts'

test('the overview shows the load, and each figure leads to its list', async () => {
  const { providers } = await getSeed()
  const page = await openConsole({ as: 'operator', path: '/overview' })
  const tiles = page.getByRole('list', { name: 'Now' })
  await tiles.getByText(/of \d+ slots/).waitFor()
  for (const label of ['Running', 'Queued', 'Time to video', 'Error rate', 'Spend today', 'Storage'])
    await tiles.getByRole('link', { name: label }).waitFor()
  const table = page.getByRole('table', { name: 'Providers' })
  await table.getByRole('link', { name: providers.builtIn }).waitFor()
  await table.getByText('1 of 1 running').waitFor()
  await page.getByRole('heading', { name: /Needs attention/ }).waitFor()

  await tiles.getByRole('link', { name: 'Queued' }).click()
  await page.waitForURL((url) => url.pathname.endsWith('/tasks') && url.search.includes('status=pending'))
  await expectClean(page)
})

test('arrow keys read the health of a provider minute by minute', async () => {
  const { providers } = await getSeed()
  const page = await openConsole({ as: 'reader', path: '/overview' })
  const strip = page.getByRole('slider', { name: `Health of ${providers.vendor}, minute by minute` })
  await strip.focus()
  await page.keyboard.press('Home')
  const first = await strip.getAttribute('aria-valuetext')
  expect(first).toMatch(/^\d\d:\d\d: /)
  await page.keyboard.press('ArrowRight')
  await expect.poll(() => strip.getAttribute('aria-valuenow')).toBe('1')
  expect(await strip.getAttribute('aria-valuetext')).not.toBe(first)
  await expectClean(page)
})

test('the durations of videos are also a table', async () => {
  const page = await openConsole({ as: 'reader', path: '/overview' })
  await page.getByRole('button', { name: 'As table' }).click()
  const chart = page.getByRole('region', { name: 'Time to video' })
  await chart.getByRole('columnheader', { name: 'Median' }).waitFor()
  await page.getByRole('radio', { name: '1 h', exact: true }).check({ force: true })
  await page.waitForURL('**/overview?period=1h')
  await expect.poll(() => chart.getByRole('row').count()).toBe(13)
  await expectClean(page)
})

test('an operator goes from a cause of errors to its requests, and to one of them', async () => {
  const { customer } = await getSeed()
  const page = await openConsole({ as: 'operator', path: '/requests?view=errors' })
  const groups = page.getByRole('list', { name: 'Errors by cause, most frequent first' })
  const group = groups.getByRole('listitem').filter({ hasText: 'model_not_found' })
  await group.getByText('The model does not exist.').waitFor()
  expect(
    await group.getByRole('link', { name: 'Documentation of model_not_found' }).getAttribute('href'),
  ).toContain('/docs/errors#model_not_found')
  await group.getByRole('link', { name: 'Requests: model_not_found in createVideo' }).click()
  await page.waitForURL('**/requests?*code=model_not_found*')
  const table = page.getByRole('table', { name: 'Requests, newest first' })
  await table.getByRole('link', { name: 'POST /v1/videos' }).first().click()
  const sheet = page.getByRole('dialog')
  await sheet.getByText('The model does not exist.').waitFor()
  await sheet.getByRole('link', { name: customer.accountName }).waitFor()
  await page.keyboard.press('Escape')
  await sheet.waitFor({ state: 'detached' })
  await expectClean(page)
})

test('a request is found by the task that it created, and leads to the task', async () => {
  const { tasks } = await getSeed()
  const page = await openConsole({ as: 'operator', path: '/requests' })
  const field = page.getByRole('searchbox', { name: 'Request ID, task ID, path or IP address' })
  await field.fill('a whale')
  await field.press('Enter')
  await page.getByText('Type a request ID').waitFor()
  await field.fill(tasks.failed)
  await field.press('Enter')
  await page.getByRole('table').getByRole('link', { name: 'POST /v1/videos' }).click()
  await page.getByRole('dialog').getByRole('link', { name: 'Open the task' }).click()
  await page.waitForURL(`**/console/tasks/${encodeURIComponent(tasks.failed).replaceAll('%3A', '*')}`)
  await expectClean(page)
})

test('a filter without a match is named and removed', async () => {
  const page = await openConsole({ as: 'reader', path: '/requests?code=payment_failed' })
  await page.getByRole('heading', { name: 'No request matches.' }).waitFor()
  await page.getByRole('button', { name: 'Remove Error code: payment_failed' }).click()
  await page.getByRole('table', { name: 'Requests, newest first' }).waitFor()
  await expectClean(page)
})

test('both screens fit on a phone, in Chinese', async () => {
  const screens = [
    ['/overview', 'heading', /需要处理/],
    ['/requests', 'table', '请求，最新在前'],
    ['/requests?view=errors', 'list', '按原因分组的错误，最频繁的在前'],
  ] as const
  for (const [path, role, name] of screens) {
    const page = await openConsole({ as: 'operator', path, phone: true, language: 'zh' })
    await page.getByRole(role, { name }).waitFor()
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
    expect(overflow).toBe(0)
    await expectClean(page)
  }
})
