import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { uuidV7 } from '../../src/platform/ids/uuid.ts'
import { Secret } from '../../src/platform/secret.ts'
import { createLinkSigner } from '../../src/storage/signed-link.ts'
import { ask, askJson, expectProblem } from '../kit/answers.ts'
import {
  completeTask,
  createAccount,
  createKey,
  linkSecret,
  type TestKey,
  type TestVideo,
} from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

const newerSecret = 'another secret for signing links in tests'

let gateway: TestGateway
let accountId: string
let key: TestKey
let taskId: string
let video: TestVideo
let link: string

const complete = async (options?: Parameters<typeof completeTask>[3]) => {
  const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
  const { body } = await askJson(`${gateway.url}/v1/videos`, key.text, order)
  const id = String(body['id'])
  return { id, video: await completeTask(gateway, accountId, id, options) }
}

/** The path and query of the link in the response for a task. */
const linkOf = async (id: string, url = gateway.url) => {
  const { body } = await ask(`${url}/v1/videos/${id}`, key.text)
  const { pathname, search } = new URL(String(body['video_url']))
  return `${pathname}${search}`
}

beforeAll(async () => {
  gateway = await startGateway()
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
  const completed = await complete()
  taskId = completed.id
  video = completed.video
  link = await linkOf(taskId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const open = async (
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
  url = gateway.url,
) => {
  const response = await fetch(`${url}${path}`, { headers, method })
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  }
}
const problem = async (path: string, url = gateway.url) => ask(`${url}${path}`, undefined)

const sign = (mediaId: string, { secret = linkSecret, seconds = 3_600 } = {}) =>
  createLinkSigner([new Secret(secret)], '', seconds).link(mediaId, 'video.mp4')

describe('200', () => {
  test('a link opens without a key', async () => {
    const { status, headers, bytes } = await open(link)
    expect(status).toBe(200)
    expect(bytes).toEqual(video.bytes)
    expect(headers.get('content-type')).toBe('video/mp4')
    expect(headers.get('content-length')).toBe('1000')
    expect(headers.get('accept-ranges')).toBe('bytes')
    expect(headers.get('etag')).toMatch(/^"[0-9a-f]{64}"$/)
    expect(headers.get('x-request-id')).toMatch(/^req_/)
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  test('HEAD returns the length without the bytes', async () => {
    const { status, headers, bytes } = await open(link, {}, 'HEAD')
    expect(status).toBe(200)
    expect(headers.get('content-length')).toBe('1000')
    expect(headers.get('content-type')).toBe('video/mp4')
    expect(bytes).toHaveLength(0)
  })

  test('an outdated If-Range, another unit and an invalid range return the whole file', async () => {
    for (const headers of [
      { range: 'bytes=0-9', 'if-range': '"something else"' },
      { range: 'bytes=0-9', 'if-range': 'Wed, 21 Oct 2015 07:28:00 GMT' },
      { range: 'lines=0-9' },
      { range: 'bytes=9-0' },
      { range: 'bytes=-' },
      { range: 'bytes=a-b' },
      { range: 'bytes=0-1,5-9' },
    ]) {
      const { status, bytes } = await open(link, headers)
      expect(status).toBe(200)
      expect(bytes).toEqual(video.bytes)
    }
  })
})

describe('206', () => {
  test.each([
    ['bytes=0-99', 0, 99],
    ['bytes=990-', 990, 999],
    ['bytes=-10', 990, 999],
    ['bytes=-5000', 0, 999],
    ['bytes=999-999', 999, 999],
    ['bytes=500-99999999999999999999', 500, 999],
  ])('%s', async (range, first, last) => {
    const { status, headers, bytes } = await open(link, { range })
    expect(status).toBe(206)
    expect(headers.get('content-range')).toBe(`bytes ${first}-${last}/1000`)
    expect(headers.get('content-length')).toBe(String(last - first + 1))
    expect(bytes).toEqual(video.bytes.subarray(first, last + 1))
  })

  test('a range with a matching If-Range', async () => {
    const etag = String((await open(link)).headers.get('etag'))
    const { status, bytes } = await open(link, { range: 'bytes=1-2', 'if-range': etag })
    expect(status).toBe(206)
    expect(bytes).toEqual(video.bytes.subarray(1, 3))
  })

  test('HEAD of a range returns its length', async () => {
    const { status, headers } = await open(link, { range: 'bytes=0-99' }, 'HEAD')
    expect(status).toBe(206)
    expect(headers.get('content-length')).toBe('100')
    expect(headers.get('content-range')).toBe('bytes 0-99/1000')
  })
})

describe('304', () => {
  test('a matching If-None-Match', async () => {
    const etag = String((await open(link)).headers.get('etag'))
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const { status, headers, bytes } = await open(link, { 'if-none-match': known })
      expect(status).toBe(304)
      expect(headers.get('etag')).toBe(etag)
      expect(bytes).toHaveLength(0)
    }
    expect((await open(link, { 'if-none-match': '"other"' })).status).toBe(200)
  })
})

describe('400 invalid_parameter', () => {
  test('a repeated query parameter', async () => {
    expectProblem(await problem(`${link}&expires=9999999999`), 'invalid_parameter', 'expires')
  })
})

describe('404 media_not_found', () => {
  test('a link that was altered in any part', async () => {
    const altered = (part: string, change: (value: string) => string) => {
      const url = new URL(link, gateway.url)
      url.searchParams.set(part, change(url.searchParams.get(part) ?? ''))
      return `${url.pathname}${url.search}`
    }
    const flipped = (text: string) => (text.startsWith('A') ? 'B' : 'A') + text.slice(1)
    for (const path of [
      altered('signature', flipped),
      altered('signature', (text) => text.slice(0, -4)),
      altered('signature', () => ''),
      altered('expires', (text) => String(Number(text) + 1)),
      altered('expires', () => 'never'),
      altered('key', () => 'deadbeef'),
      altered('key', () => '__proto__'),
      link.replace(video.mediaId, uuidV7()),
      link.replace(video.mediaId, 'nonsense'),
      link.split('?')[0] ?? '',
      `/media/${video.mediaId}/video.mp4?signature=`,
    ]) {
      expectProblem(await problem(path), 'media_not_found')
    }
  })

  test('a link whose file name was changed, or written differently', async () => {
    for (const name of [
      'whale.mp4',
      'video.mp3',
      'video.mp',
      'VIDEO.mp4',
      'video%2Emp4',
      '%76ideo.mp4',
      '.mp4',
    ]) {
      expectProblem(await problem(link.replace('video.mp4', name)), 'media_not_found')
    }
  })

  test.each([
    ['a slash after the file name', (text: string) => text.replace('video.mp4?', 'video.mp4/?')],
    ['text after the file name', (text: string) => text.replace('video.mp4?', 'video.mp4%00?')],
    ['parameters of the path', (text: string) => text.replace('video.mp4?', 'video.mp4;a=1?')],
    ['a slash after the signature', (text: string) => `${text}/`],
    ['a path after the signature', (text: string) => `${text}/../other`],
    ['padding of the signature', (text: string) => `${text}=`],
    ['a character after the signature', (text: string) => `${text}A`],
    ['a character that base64 ignores', (text: string) => `${text}!`],
    ['such a character within the signature', (text: string) => text.replace('signature=', 'signature=.')],
    ['white space', (text: string) => `${text}%20`],
    ['a second question mark', (text: string) => `${text}?`],
    ['an empty parameter', (text: string) => `${text}&`],
    ['another parameter after the signature', (text: string) => `${text}&download=1`],
    ['another parameter before it', (text: string) => text.replace('?', '?utm_source=mail&')],
    ['a percent-encoded parameter', (text: string) => text.replace('signature=', 'signatur%65=')],
    [
      'a percent-encoded value',
      (text: string) =>
        text.replace(/key=(.)/, (_, digit: string) => `key=%${digit.charCodeAt(0).toString(16)}`),
    ],
    ['parameters in another order', (text: string) => text.replace(/(expires=\d+)&(key=\w+)/, '$2&$1')],
    ['leading zeros', (text: string) => text.replace('expires=', 'expires=0')],
  ])('a link with %s', async (_change, change) => {
    expect(change(link)).not.toBe(link)
    expectProblem(await problem(change(link)), 'media_not_found')
  })

  test('an extra segment is a path without an endpoint', async () => {
    expectProblem(await problem(link.replace('video.mp4?', 'video.mp4/other?')), 'endpoint_not_found')
  })

  test('no other last character of the signature is accepted, although base64 does not use all its bits', async () => {
    const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    for (const digit of digits) {
      if (!link.endsWith(digit)) expectProblem(await problem(link.slice(0, -1) + digit), 'media_not_found')
    }
  })

  test('a link signed with an unknown secret', async () => {
    const secret = 'a secret that this gateway has never seen'
    expectProblem(await problem(sign(video.mediaId, { secret })), 'media_not_found')
  })

  test('a validly signed link to an unknown file', async () => {
    expectProblem(await problem(sign(uuidV7())), 'media_not_found')
  })
})

describe('410', () => {
  test('link_expired for an expired link, although the file is available', async () => {
    expectProblem(await problem(sign(video.mediaId, { seconds: -1 })), 'link_expired')
    expect((await open(await linkOf(taskId))).status).toBe(200)
  })

  test('media_expired for an expired file; its task stays completed', async () => {
    const { id, video: old } = await complete({ expiresAt: new Date(Date.now() - 1_000) })
    const path = await linkOf(id)
    expect(path).toContain(old.mediaId)
    expectProblem(await problem(path), 'media_expired')
    expect((await ask(`${gateway.url}/v1/videos/${id}`, key.text)).body).toMatchObject({
      status: 'completed',
    })
  })

  test('media_expired for a file that was removed', async () => {
    const { id, video: removed } = await complete()
    await gateway.mediaStore.remove(removed.storageKey)
    expectProblem(await problem(await linkOf(id)), 'media_expired')
  })
})

describe('416', () => {
  test.each(['bytes=1000-', 'bytes=1000-2000', 'bytes=-0'])('%s', async (range) => {
    const { status, headers, bytes } = await open(link, { range })
    const body = JSON.parse(bytes.toString()) as Record<string, unknown>
    expectProblem({ status, headers, body }, 'range_not_satisfiable')
    expect(headers.get('content-range')).toBe('bytes */1000')
    const head = await open(link, { range }, 'HEAD')
    expect([head.status, head.bytes.length]).toEqual([416, 0])
  })
})

describe('secret rotation', () => {
  test('a link signed with the older secret opens only while both are configured', async () => {
    await using both = await startGateway({ LINK_SECRETS: `${newerSecret},${linkSecret}` }, gateway)
    expect((await open(link, {}, 'GET', both.url)).status).toBe(200)
    const newer = await linkOf(taskId, both.url)
    expect(new URL(newer, gateway.url).searchParams.get('key')).not.toBe(
      new URL(link, gateway.url).searchParams.get('key'),
    )
    expect((await open(newer, {}, 'GET', both.url)).status).toBe(200)

    await using onlyNewer = await startGateway({ LINK_SECRETS: newerSecret }, gateway)
    expect((await open(newer, {}, 'GET', onlyNewer.url)).status).toBe(200)
    expectProblem(await problem(link, onlyNewer.url), 'media_not_found')
  })
})
