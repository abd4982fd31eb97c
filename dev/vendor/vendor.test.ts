import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'

import { afterEach, expect, test } from 'vitest'

import { findJobOfVideo } from './job-video.ts'
import { startVendor, type Vendor, type VendorOptions } from './vendor.ts'

let vendor: Vendor

async function start(options: VendorOptions = {}): Promise<void> {
  vendor = await startVendor({ durationMs: 0, ...options })
}

afterEach(() => vendor.close())

async function submit(
  prompt: string,
  key?: string,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${vendor.url}/v1/videos`, {
    method: 'POST',
    headers: {
      authorization: 'Bearer any',
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    body: JSON.stringify({ model: 'm', prompt, seconds: 8, size: '1x1' }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

const poll = (id: unknown, part = ''): Promise<Response> =>
  fetch(`${vendor.url}/v1/videos/${String(id)}${part}`, { headers: { authorization: 'Bearer any' } })

test('a job is accepted as JSON or multipart, and ends by the clock', async () => {
  await start()
  const long = await submit('a whale vendor:duration=3600000ms')
  expect(long.body).toMatchObject({ object: 'video', status: 'queued', progress: 0, seconds: '8' })
  const { body } = await submit('a cat')
  await expect
    .poll(async () => (await poll(body['id'])).json(), { interval: 10 })
    .toMatchObject({ status: 'completed', progress: 100, error: null })
  expect((await poll(body['id'], '/content')).headers.get('content-type')).toBe('video/mp4')

  const form = new FormData()
  form.set('prompt', 'a dog')
  form.set('input_reference', new Blob(['abc'], { type: 'image/png' }), 'a.png')
  const headers = { authorization: 'Bearer any' }
  await fetch(`${vendor.url}/v1/videos`, { method: 'POST', headers, body: form })
  expect(vendor.jobs()).toMatchObject([
    { prompt: expect.stringContaining('a whale') },
    { prompt: 'a cat', state: 'completed' },
    { prompt: 'a dog', referenceBytes: 3 },
  ])
})

test('the idempotency key makes one job of many submits, unless disabled', async () => {
  await start()
  const first = await submit('a cat', 'k')
  expect((await submit('a cat', 'k')).body['id']).toBe(first.body['id'])
  await submit('a cat')
  expect(vendor.counts()).toMatchObject({ submits: 3, accepted: 2, repeated: 1 })
  await vendor.close()

  await start({ honoursIdempotencyKey: false })
  for (const _ of [1, 2]) await submit('a cat', 'k')
  expect(vendor.jobs()).toHaveLength(2)
})

test('fault counts decrease as they are used', async () => {
  await start()
  Object.assign(vendor.faults, { busySubmits: 1, failedSubmits: 1, failCode: 'server_error' })
  expect([(await submit('a')).status, (await submit('a')).status]).toEqual([429, 500])
  const { body } = await submit('a vendor:whatever=1')
  expect(await (await poll(body['id'])).json()).toMatchObject({
    status: 'failed',
    error: { code: 'server_error' },
  })
  vendor.faults.droppedReplies = 1
  await expect(submit('b', 'k')).rejects.toThrow('fetch failed')
  expect((await submit('b', 'k')).status).toBe(200)
  vendor.faults.down = true
  await expect(submit('c')).rejects.toThrow('fetch failed')
  expect(vendor.counts().accepted).toBe(2)
})

test('a request without a token or a prompt is refused', async () => {
  await start({ apiKey: 'right' })
  expect((await submit('a cat')).status).toBe(401)
  await vendor.close()
  await start()
  expect(await submit('')).toMatchObject({ status: 400, body: { error: { param: 'prompt' } } })
})

test('many concurrent jobs are accepted', async () => {
  await start()
  const submitMany = async (): Promise<void> => {
    for (let count = 0; count < 25; count += 1) await submit('a cat')
  }
  await Promise.all(Array.from({ length: 20 }, submitMany))
  expect(vendor.jobs()).toHaveLength(500)
})

test('the vendor runs as a process and is controlled over HTTP', async () => {
  await start()
  const path = new URL('main.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [path, '--port', '0', '--duration-ms', '5'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output] = (await once(child.stdout, 'data')) as [Buffer]
  const { url } = JSON.parse(output.toString()) as { url: string }
  const faults = await fetch(`${url}/_vendor/faults`, { method: 'PUT', body: '{"busySubmits":2}' })
  expect(await faults.json()).toMatchObject({ busySubmits: 2 })
  expect((await fetch(`${url}/_vendor/faults`, { method: 'PUT', body: '{"bussy":2}' })).status).toBe(400)
  const headers = { authorization: 'Bearer any' }
  await fetch(`${url}/v1/videos`, { method: 'POST', headers, body: '{"prompt":"a"}' })
  expect(await (await fetch(`${url}/_vendor/counts`)).json()).toMatchObject({
    submits: 1,
    busy: 1,
    accepted: 0,
  })
  expect(await (await fetch(`${url}/_vendor/jobs`)).json()).toEqual([])
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
})

test('with distinct videos, each job has a playable video that names it', async () => {
  await start({ hasDistinctVideos: true })
  const videoOf = async (prompt: string) => {
    const { body } = await submit(prompt)
    const video = Buffer.from(await (await poll(body['id'], '/content')).arrayBuffer())
    return { id: body['id'], video }
  }
  const sample = await readFile(new URL('sample.mp4', import.meta.url))
  const [one, two] = [await videoOf('a whale'), await videoOf('ein Wal – größer')]
  expect(findJobOfVideo(sample, one.video)).toEqual({ id: one.id, prompt: 'a whale' })
  expect(findJobOfVideo(sample, two.video)).toEqual({ id: two.id, prompt: 'ein Wal – größer' })
  const changed = Buffer.from(two.video)
  changed[1_000] = ~(changed[1_000] ?? 0) & 0xff
  for (const wrong of [sample, one.video.subarray(0, 1), changed, Buffer.concat([one.video, one.video])])
    expect(findJobOfVideo(sample, wrong)).toBeUndefined()
  const program = 'ffmpeg'
  const decoding = spawn(program, ['-v', 'error', '-i', 'pipe:0', '-f', 'null', '-'], {
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  const problems = decoding.stderr.toArray()
  decoding.stdin.end(two.video)
  expect(await once(decoding, 'exit')).toEqual([0, null])
  expect(Buffer.concat((await problems) as Buffer[]).toString()).toBe('')
})

test('a vendor that is closed refuses connections, and knows its jobs afterwards', async () => {
  await start()
  const { body } = await submit('a whale')
  await fetch(`${vendor.url}/_vendor/closed`, { method: 'PUT', body: JSON.stringify({ forMs: 300 }) })
  const refused = await poll(body['id']).catch((error: Error) => error.cause)
  expect(refused).toMatchObject({ code: 'ECONNREFUSED' })
  await expect.poll(async () => (await poll(body['id']).catch(() => undefined))?.status).toBe(200)
})
