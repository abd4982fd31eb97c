import { expect, test } from 'vitest'

/** The methods and the operations of the contract. */
import { adminOperations } from '../../contract/src/admin-operations.ts'
import { adminClientMethods, clientMethodOf, clientMethods } from '../../contract/src/client-methods.ts'
import type { Operation } from '../../contract/src/operation.ts'
import { operations } from '../../contract/src/operations.ts'
import { KinoraAdmin } from './admin.ts'
import { Kinora } from './index.ts'
import type { Fetch } from './transport.ts'

const all: [string, Operation][] = [
  ...Object.entries<Operation>(operations),
  ...Object.entries<Operation>(adminOperations),
]

/** Two operations with the same effect have one method. */
const twins = ['postWebhookEndpoint']

/** Sends nothing, and keeps the requests. */
const recordingFetch = () => {
  const sent: string[] = []
  const record: Fetch = async (url, { method }) => {
    sent.push(`${method} ${url}`)
    return Response.json({ object: 'list', data: [] })
  }
  return { sent, fetch: record }
}

test.each(all)('%s has a method, which sends its request', async (id, operation) => {
  const name = clientMethodOf(operation)
  expect(name).toBeDefined()
  if (twins.includes(id)) return
  const { sent, fetch } = recordingFetch()
  const options = { baseUrl: 'https://media.example', apiKey: 'sk-test', fetch, maxRetries: 0 }
  const client: unknown = Object.hasOwn(operations, id) ? new Kinora(options) : new KinoraAdmin(options)
  const method = (name ?? '')
    .split('.')
    .reduce((group, key) => (group as Record<string, unknown>)[key], client)
  const names = [...operation.path.matchAll(/\{(\w+)\}/g)]
  const called: unknown = (method as (...given: unknown[]) => unknown)(
    ...names.map((_, index) => `a:${index}/b`),
  )
  if (operation.answer.contentType === 'text/event-stream') {
    const events = (called as AsyncIterable<unknown>)[Symbol.asyncIterator]()
    await expect(events.next()).rejects.toMatchObject({ code: 'invalid_response' })
  } else await called
  let index = 0
  const path = operation.path.replaceAll(/\{\w+\}/g, () => `a:${index++}%2Fb`)
  expect(sent).toEqual([`${operation.method} https://media.example${path}`])
})

test('no two operations have the same method, except twins', () => {
  for (const methods of [clientMethods, adminClientMethods]) {
    const names = Object.entries(methods).flatMap(([id, name]) => (twins.includes(id) ? [] : name))
    expect(new Set(names).size).toBe(names.length)
  }
})
