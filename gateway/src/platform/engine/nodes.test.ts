import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, expect, test } from 'vitest'

import { createNodes } from './nodes.ts'

const servers: Server[] = []
afterAll(() => {
  for (const server of servers) server.close()
})

const startNode = async (name: string, status = () => 200) => {
  const server = createServer((_request, response) => response.writeHead(status()).end(name))
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const settings = { connections: 2, timeoutMs: 5_000 }
const request = { method: 'GET', path: '/' } as const
const closed = 'http://127.0.0.1:2'

test('a node that refuses connections is passed over, and not asked again', async () => {
  const [first, second] = [await startNode('first'), await startNode('second')]
  const nodes = createNodes([closed, first, second], settings)
  expect(await nodes.request(request)).toEqual({ status: 200, text: 'first' })
  expect(await nodes.request(request)).toEqual({ status: 200, text: 'first' })
  await nodes.close()
})

test('the error of the last node is thrown if none can be reached', async () => {
  const nodes = createNodes([closed, closed], settings)
  await expect(nodes.request(request)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  await nodes.close()
})

test('a request that a node may have received is not repeated, but the next one goes to another node', async () => {
  const breaking = createServer((incoming) => incoming.socket.destroy())
  servers.push(breaking)
  await once(breaking.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(breaking.address() as AddressInfo).port}`
  const nodes = createNodes([url, await startNode('second')], settings)
  await expect(nodes.request(request)).rejects.toThrow()
  expect(await nodes.request(request)).toMatchObject({ text: 'second' })
  await nodes.close()
})

test('a node without a leader, or a proxy without a node, is left for the next request', async () => {
  const nodes = createNodes([await startNode('first', () => 503), await startNode('second')], settings)
  expect(await nodes.request(request)).toMatchObject({ status: 503 })
  expect(await nodes.request(request)).toMatchObject({ status: 200, text: 'second' })
  await nodes.close()
})
