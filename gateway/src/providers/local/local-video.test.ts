import { Readable } from 'node:stream'

import { expect, test } from 'vitest'

import { failureOf, listenForTest } from '../../../test/kit/listen-for-test.ts'
import type { VideoJob } from '../port/video.ts'
import { localVideo } from './local-video.ts'

const soon = (): AbortSignal => AbortSignal.timeout(120_000)

const job: VideoJob = {
  taskId: 'task/1',
  model: 'sketch-1',
  prompt: 'a cat',
  seconds: 5,
  width: 640,
  height: 360,
  watermark: true,
  isPrivate: false,
  style: undefined,
  references: [
    {
      role: 'style',
      contentType: 'image/webp',
      sizeBytes: 4,
      open: async () => Readable.from([Buffer.from('webp')]),
    },
  ],
  referenceVideo: undefined,
  referenceAudio: undefined,
  sound: undefined,
  source: undefined,
  characters: [],
  webhookUrl: undefined,
}

test('a job is stored under our task id', async () => {
  let seen = ''
  await using server = await listenForTest((request, response, body) => {
    const boundary = request.headers['content-type']?.split('boundary=')[1] ?? ''
    seen = `${request.method} ${request.url}\n${body.toString().replaceAll(boundary, '=')}`
    response.writeHead(201).end('{"id":"task/1","state":"queued","progress":0}')
  })
  const provider = localVideo({ baseUrl: server.url })
  expect(provider.submitsAreIdempotent).toBe(true)
  expect(await provider.submit(job, soon())).toEqual({ id: 'task/1' })
  const described =
    '{"model":"sketch-1","prompt":"a cat","seconds":5,"width":640,"height":360,"watermark":true}'
  expect(seen).toBe(
    'PUT /jobs/task%2F1\n' +
      `--=\r\nContent-Disposition: form-data; name="job"\r\n\r\n${described}\r\n` +
      '--=\r\nContent-Disposition: form-data; name="reference"; filename="reference-1.webp"\r\n' +
      'Content-Type: image/webp\r\n\r\nwebp\r\n--=--\r\n',
  )
})

test('source, characters and the role of references are sent', async () => {
  let seen = ''
  await using server = await listenForTest((request, response, body) => {
    const boundary = request.headers['content-type']?.split('boundary=')[1] ?? ''
    seen = body.toString().replaceAll(boundary, '=')
    response.writeHead(201).end('{"state":"queued"}')
  })
  const provider = localVideo({ baseUrl: server.url })
  expect(provider.canRemix).toBe(true)
  const file = (contentType: string, content: string) => ({
    contentType,
    sizeBytes: content.length,
    open: async () => Readable.from([Buffer.from(content)]),
  })
  await provider.submit(
    {
      ...job,
      references: job.references.map((image) => ({ ...image, role: 'first_frame' })),
      sound: false,
      referenceAudio: file('audio/mpeg', 'song'),
      characters: [
        { username: 'anna', image: file('image/jpeg', 'face') },
        { username: 'bob', image: file('image/png', 'nose') },
      ],
      source: { ...file('video/mp4', 'film'), ref: { id: 'earlier' } },
    },
    soon(),
  )
  const part = (name: string, filename: string, contentType: string, content: string) =>
    `--=\r\nContent-Disposition: form-data; name="${name}"; filename="${filename}"\r\n` +
    `Content-Type: ${contentType}\r\n\r\n${content}\r\n`
  expect(seen).toContain('"referenceMode":"frames","sound":false,"characters":["anna","bob"]}')
  expect(seen).toContain(
    part('character', 'character-1.jpg', 'image/jpeg', 'face') +
      part('character', 'character-2.png', 'image/png', 'nose') +
      part('source', 'source.mp4', 'video/mp4', 'film') +
      part('soundtrack', 'reference.mpeg', 'audio/mpeg', 'song'),
  )
})

test.each([
  [429, '', { kind: 'busy', retryAfterMs: 2000 }],
  [503, '', { kind: 'busy', retryAfterMs: 2000 }],
  [400, '{"error":{"code":"invalid_image"}}', { kind: 'rejected', code: 'invalid_image' }],
  [400, '{"error":{"code":"invalid_parameter"}}', { kind: 'rejected', code: 'invalid_parameter' }],
  [500, '', { kind: 'unknown' }],
  [200, '', { kind: 'unknown' }],
])('a submit with response %i %s fails', async (status, reply, failure) => {
  await using server = await listenForTest((_request, response) => {
    response.writeHead(status, { 'retry-after': '2' }).end(reply)
  })
  expect(await failureOf(localVideo({ baseUrl: server.url }).submit(job, soon()))).toMatchObject(failure)
})

test.each([
  ['{"state":"queued","progress":0}', { kind: 'running', progress: 0 }],
  ['{"state":"running","progress":40}', { kind: 'running', progress: 40 }],
  ['{"state":"done","progress":100}', { kind: 'done', result: null }],
  [
    '{"state":"failed","error":{"code":"invalid_image","message":"not an image"}}',
    { kind: 'refused', code: 'invalid_image', message: 'failed: invalid_image: not an image' },
  ],
  [
    '{"state":"failed","error":{"code":"ffmpeg_failed","message":"exit 1"}}',
    { kind: 'refused', code: 'upstream_error', message: 'failed: ffmpeg_failed: exit 1' },
  ],
  ['{"state":"failed"}', { kind: 'refused', code: 'upstream_error', message: 'failed' }],
])('a poll that returns %s', async (reply, status) => {
  await using server = await listenForTest((_request, response) => response.end(reply))
  expect(await localVideo({ baseUrl: server.url }).poll({ id: 'task/1' }, soon())).toEqual(status)
})

test('an unknown job is missing for polls, and ignored by discards and cancels', async () => {
  const seen: string[] = []
  await using server = await listenForTest((request, response) => {
    seen.push(`${request.method} ${request.url}`)
    response.writeHead(404).end('{"error":{"code":"job_not_found"}}')
  })
  const provider = localVideo({ baseUrl: server.url })
  expect(await provider.poll({ id: 'a' }, soon())).toEqual({ kind: 'missing' })
  expect(await failureOf(provider.poll(null, soon()))).toMatchObject({ kind: 'rejected' })
  await provider.discard?.({ id: 'a' }, soon())
  await provider.cancel?.({ id: 'b' }, soon())
  expect(seen).toEqual(['GET /jobs/a', 'DELETE /jobs/a', 'DELETE /jobs/b'])
})

test('the result is streamed', async () => {
  await using server = await listenForTest((request, response) => response.end(`bytes of ${request.url}`))
  const stream = await localVideo({ baseUrl: server.url }).openResult({ id: 'a' }, null, soon())
  expect(Buffer.concat(await stream.toArray()).toString()).toBe('bytes of /jobs/a/result')
})
