/** What scripts in the console's page may do with the session of somebody. */
import { adminOperations } from '@kinora/contract/admin-operations'
import type { Operation } from '@kinora/contract/operation'
import { operations } from '@kinora/contract/operations'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'

import { openAdmin, openClient } from '../kit/clients.ts'
import { expectClean, getSeed, openConsole } from '../kit/console.ts'

interface Request {
  method: string
  path: string
}

const fillPath = (path: string, value: string) => path.replaceAll(/\{\w+\}/g, encodeURIComponent(value))

/** Sends requests from the page, with its session, and returns those that were not refused. */
const findAllowed = (page: Page, requests: Request[], refusals: number[]) =>
  page.evaluate(
    async ([each, statuses]) => {
      const allowed: string[] = []
      for (const { method, path } of each) {
        const init = method === 'GET' ? {} : { headers: { 'content-type': 'application/json' }, body: '{}' }
        const response = await fetch(path, { method, ...init })
        await response.body?.cancel()
        if (!statuses.includes(response.status)) allowed.push(`${response.status} ${method} ${path}`)
      }
      return allowed
    },
    [requests, refusals] as const,
  )

const operatorRequests = (isOne: (operation: Operation & { access: 'operator' }) => boolean): Request[] =>
  Object.values<Operation>(adminOperations)
    .filter((operation) => operation.access === 'operator')
    .filter(isOne)
    .map(({ method, path }) => ({ method, path: fillPath(path, 'vendor') }))

test('the session of a customer may call no operation of operators', async () => {
  const page = await openConsole({ as: 'customer', path: '/sessions' })
  const requests = operatorRequests(() => true)
  expect(requests.length).toBeGreaterThan(50)
  expect(await findAllowed(page, requests, [401, 403])).toEqual([])
  await expectClean(page)
})

test('the session of an operator who reads may call nothing that needs another role', async () => {
  const admin = await openAdmin()
  const { customer } = await getSeed()
  const before = await admin.accounts.get(customer.accountId)
  const page = await openConsole({ as: 'reader', path: '/sessions' })
  const requests = operatorRequests(({ roles }) => !roles.includes('read'))
  expect(requests.length).toBeGreaterThan(20)
  expect(await findAllowed(page, requests, [403])).toEqual([])
  expect(await admin.accounts.get(customer.accountId)).toEqual(before)
  await expectClean(page)
})

test('the session of an operator may call nothing as a customer', async () => {
  const page = await openConsole({ as: 'operator', path: '/sessions' })
  const requests = Object.values<Operation>(operations)
    .filter(({ access }) => access === 'key')
    .map(({ method, path }) => ({ method, path: fillPath(path, 'unknown') }))
  expect(await findAllowed(page, requests, [401, 403])).toEqual([])
  await expectClean(page)
})

test('the session of a customer gets nothing with the ids of another account', async () => {
  const { otherCustomer, tasks } = await getSeed()
  const other = await openClient('otherCustomer')
  const webhook = await other.webhooks.create({
    url: 'http://127.0.0.1:9/hooks',
    name: 'Harbor',
    events: ['video.completed'],
  })
  const ids: Record<string, string> = {
    '/v1/videos': tasks.foreign,
    '/v1/keys': otherCustomer.keyId,
    '/v1/webhook_endpoints': webhook.id,
    '/v1/receipts': tasks.foreign,
  }
  const requests = Object.values<Operation>(operations).flatMap(({ method, path }) =>
    Object.entries(ids).flatMap(([start, id]) =>
      path.startsWith(`${start}/{`) ? [{ method, path: fillPath(path, id) }] : [],
    ),
  )
  expect(requests.length).toBeGreaterThan(10)
  const page = await openConsole({ as: 'customer', path: '/sessions' })
  // A body without the required fields is refused before the object is looked up.
  expect(await findAllowed(page, requests, [400, 404])).toEqual([])
  expect((await other.videos.get(tasks.foreign)).status).toBe('completed')
  expect((await other.webhooks.get(webhook.id)).name).toBe('Harbor')
  await expectClean(page)
  await other.webhooks.delete(webhook.id)
})
