import type { IncomingMessage, ServerResponse } from 'node:http'

import { expect, test } from 'vitest'

import { listenForTest } from '../../test/kit/listen-for-test.ts'
import { createSafePost } from './safe-post.ts'

const message = { headers: { 'content-type': 'application/json' }, body: '{}', responseBytesMax: 16 }

const receive = (respond: (request: IncomingMessage, response: ServerResponse, body: Buffer) => void) =>
  listenForTest(respond)

test('sends the body and its headers, and returns the status, the headers and the beginning of the body', async () => {
  let seen: unknown
  await using server = await receive((request, response, body) => {
    seen = [request.method, request.url, request.headers['content-type'], body.toString()]
    response.writeHead(201, { 'retry-after': '5' }).end('a response that is longer than 16 bytes')
  })
  const { post } = createSafePost({ allowOrigins: [server.url] })
  const response = await post(`${server.url}/hook?a=1#top`, message)
  expect(seen).toEqual(['POST', '/hook?a=1', 'application/json', '{}'])
  expect(response).toMatchObject({ status: 201, text: 'a response that ' })
  expect(response.headers['retry-after']).toBe('5')
})

test('does not follow a redirect', async () => {
  let requests = 0
  await using server = await receive((_request, response) => {
    requests += 1
    response.writeHead(307, { location: '/elsewhere' }).end()
  })
  const { post } = createSafePost({ allowOrigins: [server.url] })
  expect(await post(server.url, message)).toMatchObject({ status: 307 })
  expect(requests).toBe(1)
})

test('requires https, except of exempt origins and, in development, of this machine', async () => {
  await using server = await receive((_request, response) => response.end())
  const strict = createSafePost({ allowOrigins: [], requiresHttps: true })
  expect(() => strict.assertPermitted('http://example.com/')).toThrow('only https URLs are allowed')
  expect(() => strict.assertPermitted('https://example.com/')).not.toThrow()
  expect(() => strict.assertPermitted('https://example.com:22/')).toThrow('port 22 is not allowed')
  await expect(strict.post(server.url, message)).rejects.toMatchObject({ reason: 'blocked' })
  const { port } = new URL(server.url)
  const local = createSafePost({ allowOrigins: [], requiresHttps: true, exemptsLoopback: true })
  for (const host of ['127.0.0.1', 'localhost'])
    expect(await local.post(`http://${host}:${port}/`, message)).toMatchObject({ status: 200 })
  for (const host of ['127.0.0.2', '10.0.0.1', 'localhost.example.com'])
    expect(() => local.assertPermitted(`http://${host}:${port}/`)).toThrow('only https URLs are allowed')
})

test('a server that sends no status is given up', async () => {
  await using server = await receive((request) => request.socket.write('HTTP/1.1 200 OK\r\nx: '))
  const { post } = createSafePost({ allowOrigins: [server.url], totalTimeoutMs: 100 })
  await expect(post(server.url, message)).rejects.toMatchObject({ reason: 'timeout' })
})

test('a body that breaks off or does not end leaves the status as it is', async () => {
  await using server = await receive((request, response) => {
    response.writeHead(200, { 'content-length': '10' })
    response.write('half', () => request.url === '/break' && response.destroy())
  })
  const { post } = createSafePost({ allowOrigins: [server.url] })
  for (const path of ['/break', '/endless'])
    expect(await post(`${server.url}${path}`, message)).toMatchObject({ status: 200, text: 'half' })
})
