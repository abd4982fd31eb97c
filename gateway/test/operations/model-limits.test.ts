/** The sizes and the images of a model bind every endpoint that serves it. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { askJson, expectProblem, pixelUri } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'

let gateway: VendorGateway
let accountId: string
let key: TestKey

const prices = [{ unit: 'second', micros: 1 }]
const model = { kind: 'video', seconds: [4], prices }

beforeAll(async () => {
  gateway = await startVendorGateway(
    {},
    {
      'tall-a': { ...model, family: 'A', sizes: ['360x640'], aspectRatios: ['16:9', '9:16'], images: 0 },
      'tall-b': { ...model, family: 'B', sizes: ['360x640'], images: 0 },
      'wide-b': { ...model, family: 'B', sizes: ['640x360', '1440x1080'], images: 2 },
      'square-b': { ...model, family: 'B', sizes: ['480x480'], images: 0 },
      'vidB-2': { sizes: ['1280x720'] },
    },
  )
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const send = (path: string, body: object) =>
  askJson(`${gateway.url}${path}`, key.text, { prompt: 'A whale', ...body })
const videos = (body: object) => send('/v1/videos', { seconds: 4, ...body })
const create = (body: object) => send('/v1/video/create', body)
const quoted = async (body: object) => {
  const answer = await create({ ...body, dry_run: true })
  expect(answer.body).toMatchObject({ object: 'quote' })
  return (answer.body['parameters'] as { size: string }).size
}
const chat = (body: object) =>
  send('/v1/chat/completions', { dry_run: true, messages: [{ role: 'user', content: 'A whale' }], ...body })

describe('a model without images', () => {
  test.each(['tall-a', 'tall-b'])('%s makes videos at every endpoint', async (name) => {
    expect((await videos({ model: name, size: '360x640' })).status).toBe(200)
    expect((await create({ model: name })).status).toBe(200)
    expect((await create({ model: name, images: [] })).status).toBe(200)
    expect((await chat({ model: name })).body).toMatchObject({ object: 'quote', model: name })
  })

  test.each(['tall-a', 'tall-b'])('%s refuses an image, and the message says so', async (name) => {
    const video = await videos({ model: name, size: '360x640', input_reference: { image_url: pixelUri } })
    expectProblem(video, 'invalid_parameter', 'input_reference')
    expect(video.body).toMatchObject({ error: { message: expect.stringContaining('no images') } })
    const task = await create({ model: name, images: [pixelUri] })
    expectProblem(task, 'invalid_parameter', 'images')
    expect(task.body).toMatchObject({ error: { message: expect.stringContaining('no images') } })
    const content = [
      { type: 'text', text: 'A whale' },
      { type: 'image_url', image_url: { url: pixelUri } },
    ]
    expectProblem(
      await chat({ model: name, messages: [{ role: 'user', content }] }),
      'invalid_parameter',
      'messages[0].content',
    )
  })

  test('a model with images still needs one where the reference says so', async () => {
    expectProblem(await create({ model: 'wide-b' }), 'missing_parameter', 'images')
  })
})

describe('the sizes of a model', () => {
  test('bind family A at /v1/video/create', async () => {
    expect(await quoted({ model: 'tall-a' })).toBe('360x640')
    expect(await quoted({ model: 'tall-a', aspect_ratio: '9:16' })).toBe('360x640')
    const wide = await create({ model: 'tall-a', aspect_ratio: '16:9' })
    expectProblem(wide, 'invalid_parameter', 'aspect_ratio')
    expect(wide.body).toMatchObject({ error: { message: expect.stringContaining('only 360x640') } })
    expectProblem(
      await create({ model: 'tall-a', enable_upsample: true }),
      'invalid_parameter',
      'enable_upsample',
    )
  })

  test('bind family B at /v1/video/create', async () => {
    const images = [pixelUri]
    expect(await quoted({ model: 'tall-b' })).toBe('360x640')
    expectProblem(
      await create({ model: 'tall-b', orientation: 'landscape' }),
      'invalid_parameter',
      'orientation',
    )
    expectProblem(await create({ model: 'tall-b', size: 'large' }), 'invalid_parameter', 'size')
    expect(await quoted({ model: 'wide-b', images })).toBe('640x360')
    expect(await quoted({ model: 'wide-b', images, size: 'large' })).toBe('1440x1080')
    expect(await quoted({ model: 'square-b' })).toBe('480x480')
  })

  test('bind chats, also if an image has another orientation', async () => {
    expect((await chat({ model: 'tall-b' })).body).toMatchObject({ parameters: { size: '360x640' } })
    expect((await chat({ model: 'square-b' })).body).toMatchObject({ parameters: { size: '480x480' } })
  })

  test('bind a model of the reference whose sizes were changed', async () => {
    expect(await quoted({ model: 'vidB-2', images: [pixelUri] })).toBe('1280x720')
    for (const change of [{ size: 'large' }, { orientation: 'portrait' }]) {
      const [param = ''] = Object.keys(change)
      expectProblem(
        await create({ model: 'vidB-2', images: [pixelUri], ...change }),
        'invalid_parameter',
        param,
      )
    }
  })

  test('bind remixes', async () => {
    const { body } = await videos({ model: 'tall-b', size: '360x640' })
    await completeTask(gateway, accountId, String(body['id']))
    const path = `/v1/videos/${String(body['id'])}/remix`
    expectProblem(await send(path, { size: '1280x720' }), 'invalid_parameter', 'size')
    expect((await send(path, { size: '360x640' })).status).toBe(200)
  })
})

describe('a voice that the provider does not have', () => {
  test.each(['openai', 'local'])('is our error, without the voices of a %s provider', async (kind) => {
    const error = { code: 'voice_not_supported', param: 'voice', message: '"voice" must be one of zelda.' }
    const server = createServer((request, response) => {
      request.resume().on('end', () => {
        response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const speech = { kind: 'speech', voices: ['Ann'], prices: [{ unit: 'million_characters', micros: 1 }] }
    const provider = kind === 'local' ? { kind, baseUrl, apiKey: undefined } : { kind, baseUrl }
    await using other = await startVendorGateway({}, { 'say-1': speech }, provider, gateway)
    const answer = await askJson(`${other.url}/v1/audio/speech`, key.text, {
      ...{ model: 'say-1', voice: 'Ann', input: 'Hello' },
    })
    expectProblem(answer, 'voice_not_supported', 'voice')
    expect(JSON.stringify(answer.body)).not.toContain('zelda')
    server.close()
  })
})
