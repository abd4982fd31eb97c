/** The pages without a key: `/`, `/docs`, and the texts for language models. */
import { operations } from '@kinora/contract/operations'
import Schema from 'typebox/schema'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startGateway({ PUBLIC_URL: 'https://videos.example/' })
})
afterAll(() => gateway[Symbol.asyncDispose]())

const asBrowser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const get = (path: string, headers: Record<string, string> = {}) => fetch(gateway.url + path, { headers })
const policyOf = ({ headers }: Response) => headers.get('content-security-policy')

describe('/', () => {
  test('is JSON with both base URLs, the version and the state', async () => {
    const body = (await (await get('/')).json()) as object
    expect(Schema.Errors(operations.getService.answer.schema, body)).toEqual([true, []])
    expect(body).toMatchObject({
      name: 'Kinora',
      base_url: 'https://videos.example',
      openai_base_url: 'https://videos.example/openai/v1',
      docs_url: 'https://videos.example/docs',
    })
  })

  test('is a page without scripts for a browser', async () => {
    const response = await get('/', asBrowser)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(policyOf(response)).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'/)
    const page = await response.text()
    expect(page).toContain('https://videos.example/openai/v1')
    expect(page).not.toContain('<script')
  })
})

describe('/docs', () => {
  test('is the OpenAPI document for other clients, compressed, with an ETag', async () => {
    const document = await get('/docs', { 'accept-encoding': 'br' })
    expect(document.headers.get('content-encoding')).toBe('br')
    const text = await document.text()
    expect(JSON.parse(text)).toMatchObject({ openapi: '3.1.0', servers: [{ url: 'https://videos.example' }] })
    expect(await (await get('/openapi.json', { 'accept-encoding': 'gzip' })).text()).toBe(text)
    expect(await (await get('/openapi.json', { 'accept-encoding': 'br;q=0' })).text()).toBe(text)
    const tag = document.headers.get('etag') ?? ''
    expect((await get('/openapi.json', { 'if-none-match': tag })).status).toBe(304)
  })

  test('runs only scripts of this host, which browsers may keep', async () => {
    const response = await get('/docs', asBrowser)
    expect(policyOf(response)).toMatch(/script-src 'self' 'sha256-[^']+';/)
    const [, path = ''] = /modulepreload" href="([^"]+)"/.exec(await response.text()) ?? []
    const script = await get(path)
    expect(script.status).toBe(200)
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    await script.body?.cancel()
  })

  test('has no files but those of the reference', async () => {
    const [, folder = ''] =
      /modulepreload" href="([^"]+\/)/.exec(await (await get('/docs', asBrowser)).text()) ?? []
    for (const name of ['nothing.js', 'standalone.js', '../../package.json', '..%2f..%2fpackage.json']) {
      const response = await get(folder + name)
      expect(response.status).toBe(404)
      expect(await response.json()).toMatchObject({ error: { code: 'endpoint_not_found' } })
    }
  })
})

test('/llms.txt begins as the convention says and links to the full text, which has every operation', async () => {
  const overview = await get('/llms.txt')
  expect(overview.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  const text = await overview.text()
  expect(text).toMatch(/^# Kinora\n\n> \S/)
  expect(text).toContain('(https://videos.example/llms-full.txt)')
  const full = await (await get('/llms-full.txt')).text()
  for (const { id, method, path } of Object.values(operations)) {
    expect(text).toContain(`[${method} ${path}]`)
    expect(full).toContain(`#### ${id}\n\n\`${method} ${path}\``)
  }
  // The guides.
  expect(full).toContain('## API guide')
})
