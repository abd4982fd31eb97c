import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { startVendor, type Vendor } from './vendor.ts'

let vendor: Vendor

beforeEach(async () => {
  vendor = await startVendor({ durationMs: 0 })
})
afterEach(() => vendor.close())

const headers = { authorization: 'Bearer any' }
const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${vendor.url}/v1/videos${path}`, { headers, redirect: 'manual', ...init })
const submit = (prompt: string): Promise<Response> =>
  ask('', { method: 'POST', body: JSON.stringify({ prompt }) })
const idOf = async (answer: Response): Promise<string> => ((await answer.json()) as { id: string }).id
const statusOf = async (id: string): Promise<string> =>
  ((await (await ask(`/${id}`)).json()) as { status: string }).status

/** A raw response without decoding. */
async function open(path: string): Promise<IncomingMessage> {
  const [answer] = (await once(get(`${vendor.url}/v1/videos${path}`, { headers }), 'response')) as [
    IncomingMessage,
  ]
  return answer
}

test.each([
  ['500', 500, 'application/json', 0],
  ['502-html', 502, 'text/html', 1],
  ['429', 429, 'application/json', 0],
  ['429-retry-after', 429, 'application/json', 0],
  ['garbage', 200, 'text/html', 1],
  ['wrong-type', 200, 'text/plain', 1],
  ['redirect-inside', 302, null, 0],
])('%s at a submit', async (fault, status, type, booked) => {
  const answer = await submit(`a vendor:fault=${fault}@submit`)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([status, type])
  expect(answer.headers.get('retry-after')).toBe(fault === '429-retry-after' ? '7' : null)
  expect(answer.headers.get('location')?.startsWith('http://169.254.169.254/')).toBe(
    status === 302 ? true : undefined,
  )
  expect(vendor.jobs()).toHaveLength(booked)
  expect((await submit(`a vendor:fault=${fault}@submit`)).status).toBe(200)
})

test('faults happen at the requested point and as often as requested, by prompt or by control', async () => {
  const id = await idOf(await submit('a vendor:fault=500@pollx2 vendor:fault=429@download'))
  const statuses = [
    await ask(`/${id}`),
    await ask(`/${id}`),
    await ask(`/${id}`),
    await ask(`/${id}/content`),
  ]
  expect(statuses.map(({ status }) => status)).toEqual([500, 500, 200, 429])
  vendor.faults.fault = '500x2'
  for (const status of [500, 500, 200]) expect((await submit('b')).status).toBe(status)
  vendor.faults.fault = '429@pollxall'
  for (const _ of [1, 2, 3]) expect((await ask(`/${id}`)).status).toBe(429)
  await expect(submit('a vendor:fault=tea-break')).rejects.toThrow('fetch failed')
})

test('silence and drip start, and stop when the client disconnects', async () => {
  const id = await idOf(await submit('a vendor:fault=silence@poll vendor:fault=drip@poll'))
  for (const bytes of [0, 1]) {
    const answer = await open(`/${id}`)
    expect(answer.statusCode).toBe(200)
    if (bytes > 0) expect(((await once(answer, 'data')) as [Buffer])[0]).toHaveLength(bytes)
    answer.on('error', () => {}).destroy()
    await expect.poll(() => vendor.counts().underWay, { interval: 5 }).toBe(0)
  }
})

test('a vendor with silent or dripping responses can be closed at any time', async () => {
  const path = new URL('main.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [path, '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const { url } = JSON.parse(String((await once(child.stdout, 'data'))[0])) as { url: string }
  const answers = ['silence', 'drip'].map((fault) =>
    fetch(`${url}/v1/videos`, { method: 'POST', headers, body: `{"prompt":"vendor:fault=${fault}"}` }),
  )
  await Promise.all(answers)
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
})

test('a body is truncated, or far too large', async () => {
  const id = await idOf(await submit('a vendor:fault=truncated-json@poll vendor:fault=huge@poll'))
  expect(await (await ask(`/${id}`)).text()).toMatch(/^\{"id":"video_\w+".*[^}]$/)
  let size = 0
  for await (const chunk of (await open(`/${id}`)) as AsyncIterable<Buffer>) size += chunk.length
  expect(size).toBeGreaterThan(50 * 1024 * 1024)
})

test('a gzip bomb is small on the wire and a gigabyte when decompressed', async () => {
  const id = await idOf(await submit('a vendor:fault=gzip-bomb@poll'))
  const answer = await open(`/${id}`)
  expect(answer.headers['content-encoding']).toBe('gzip')
  const packed = Buffer.concat(await answer.toArray())
  expect(packed.length).toBeLessThan(2 * 1024 * 1024)
  const unpacked = Readable.from([packed.subarray(0, packed.length / 64)]).pipe(createGunzip())
  let bytes = 0
  for await (const chunk of unpacked as AsyncIterable<Buffer>) bytes += chunk.length
  expect(bytes * 64).toBe(1024 * 1024 * 1024)
})

test('a connection is cut after the job is accepted', async () => {
  await expect(submit('a vendor:fault=drop@submit')).rejects.toThrow('fetch failed')
  expect(vendor.jobs()).toHaveLength(1)
})

test('a second job can have the first one’s id, go backwards, or vanish when completed', async () => {
  const first = await idOf(await submit('a'))
  expect(await idOf(await submit('b vendor:fault=duplicate-id'))).toBe(first)
  expect(vendor.jobs()).toHaveLength(2)

  const moody = await idOf(await submit('c vendor:fault=backwards'))
  const said = [await statusOf(moody), await statusOf(moody), await statusOf(moody), await statusOf(moody)]
  expect(said).toEqual(['completed', 'in_progress', 'queued', 'completed'])
  const notYet = await idOf(await submit('e vendor:fault=backwards'))
  expect([await statusOf(notYet), await statusOf(notYet)]).toEqual(['completed', 'in_progress'])
  const download = async () => (await ask(`/${notYet}/content`)).status
  expect([await download(), await download(), await download()]).toEqual([409, 409, 200])

  const lost = await idOf(await submit('d vendor:fault=done-then-404'))
  expect(await statusOf(lost)).toBe('completed')
  expect([(await ask(`/${lost}`)).status, (await ask(`/${lost}/content`)).status]).toEqual([404, 404])
})

test('directives change the status of a job', async () => {
  const odd = await idOf(await submit('a vendor:odd-status'))
  expect(await statusOf(odd)).toBe('daydreaming')
  const told = await (await submit('b vendor:tells-too-much vendor:reject')).text()
  expect(told).toContain(new URL(vendor.url).host)
})
