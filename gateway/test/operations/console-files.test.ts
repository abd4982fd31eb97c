/** The files of the console, and the headers that confine its page. */
import { mkdir, mkdtempDisposable, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { openConsoleFiles } from '../../src/console/console-files.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let built: Awaited<ReturnType<typeof mkdtempDisposable>>

beforeAll(async () => {
  gateway = await startGateway({ ADMIN_PORT: '4' })
  built = await mkdtempDisposable(join(tmpdir(), 'kinora-console-'))
  await mkdir(join(built.path, 'assets'))
  await writeFile(join(built.path, 'index.html'), '<!doctype html><div id="root"></div>')
  await writeFile(join(built.path, 'favicon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
  await writeFile(join(built.path, 'assets/index-4f2a.js'), `document.title = '${'Kinora '.repeat(500)}'`)
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await built.remove()
})

const openFiles = (mediaOrigins: string[] = []) =>
  openConsoleFiles({
    findDirectory: () => pathToFileURL(`${built.path}/`),
    findMediaOrigins: async () => mediaOrigins,
  })
const read = async (name: string, headers: Record<string, string> = {}, origins?: string[]) =>
  openFiles(origins)(name)?.((header) => headers[header])

describe('the page', () => {
  test.for(['', 'sign-in', 'tasks/vidB-2:17-ab', 'admin/providers/a.b', 'index.html'])(
    'is at every path that is no file: %s',
    async (name) => {
      const page = await read(name)
      expect(page?.body?.toString()).toContain('id="root"')
      expect(page?.headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; worker-src 'self' blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        'permissions-policy': expect.stringMatching(/^microphone=\(self\), /),
      })
    },
  )

  test('may load media from the bucket that downloads are redirected to', async () => {
    const policy = (await read('', {}, ['https://bucket.example']))?.headers['content-security-policy']
    for (const part of ["connect-src 'self'", "img-src 'self' blob: data:", "media-src 'self' blob:"])
      expect(policy).toContain(`${part} https://bucket.example;`)
    expect(policy).toContain("script-src 'self';")
  })
})

describe('files', () => {
  test('are kept forever by browsers if their name has a hash, and are compressed', async () => {
    const script = await read('assets/index-4f2a.js', { 'accept-encoding': 'gzip, br' })
    expect(script?.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-encoding': 'br',
    })
    expect(script?.body?.length).toBeLessThan(200)
    expect((await read('assets/index-4f2a.js', { 'accept-encoding': 'gzip' }))?.headers).toMatchObject({
      'content-encoding': 'gzip',
    })
    const { etag = '' } = script?.headers ?? {}
    expect(await read('assets/index-4f2a.js', { 'if-none-match': etag })).toMatchObject({ status: 304 })
    const icon = await read('favicon.svg')
    expect(icon?.headers).toMatchObject({ 'content-type': 'image/svg+xml', 'cache-control': 'no-cache' })
  })

  test('that do not exist are no page', () => {
    for (const name of ['assets/nothing.js', 'assets/../favicon.svg', 'assets/../../package.json'])
      expect(openFiles()(name)).toBeUndefined()
  })
})

describe('a new build', () => {
  test('is served without a restart, and the earlier one while it is made', async () => {
    const later = await mkdtempDisposable(join(tmpdir(), 'kinora-console-'))
    const page = join(later.path, 'index.html')
    const script = (name: string) => join(later.path, 'assets', name)
    await mkdir(join(later.path, 'assets'))
    let isBuilt = false
    const find = openConsoleFiles({
      findDirectory: () => (isBuilt ? pathToFileURL(`${later.path}/`) : undefined),
      findMediaOrigins: async () => [],
    })
    const textOf = async (name: string) => (await find(name)?.(() => undefined))?.body?.toString()
    expect(await textOf('')).toContain('npm run build:console')
    await writeFile(page, 'first')
    await writeFile(script('first.js'), '1')
    await writeFile(script('unread.js'), '1')
    isBuilt = true
    expect([await textOf(''), await textOf('assets/first.js')]).toEqual(['first', '1'])
    await rm(page)
    expect([await textOf('tasks'), await textOf('assets/first.js')]).toEqual(['first', '1'])
    await rm(script('unread.js'))
    await writeFile(script('second.js'), '2')
    await writeFile(page, 'second')
    await utimes(page, new Date(), new Date(Date.now() + 5_000))
    // Another process has served the page.
    expect([await textOf('assets/second.js'), await textOf('')]).toEqual(['2', 'second'])
    expect(find('assets/unread.js')).toBeUndefined()
    await later.remove()
  })
})

describe('both servers', () => {
  test.for(['url', 'adminUrl'] as const)(
    'serve the page and not the paths of the API: %s',
    async (server) => {
      const at = async (path: string) => fetch(gateway[server] + path)
      for (const path of ['/console', '/console/', '/console/sign-in', '/console/tasks/1']) {
        const response = await at(path)
        expect(response.status).toBe(200)
        expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
        expect(response.headers.get('content-security-policy')).toMatch(
          /^default-src 'none'; script-src 'self'/,
        )
        expect(response.headers.get('x-content-type-options')).toBe('nosniff')
        expect(response.headers.get('access-control-allow-origin')).toBeNull()
        // Without built files it says how to build them.
        expect(await response.text()).toMatch(/npm run build:console|id="root"/)
      }
      for (const path of [
        '/console/v1/nothing',
        '/console/assets/nothing.js',
        '/console/assets/..%2f..%2fpackage.json',
      ]) {
        const response = await at(path)
        expect(response.status).toBe(404)
        expect(await response.json()).toMatchObject({ error: { code: 'endpoint_not_found' } })
      }
    },
  )

  test('lead to it from the page at /', async () => {
    expect(await (await fetch(gateway.url)).json()).toMatchObject({
      console_url: 'http://127.0.0.1:8787/console',
    })
    const page = await fetch(gateway.url, { headers: { accept: 'text/html' } })
    expect(await page.text()).toContain('<a href="http://127.0.0.1:8787/console">Console</a>')
  })
})
