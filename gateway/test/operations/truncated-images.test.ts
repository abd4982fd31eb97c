import { execFileSync } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ask, askJson, expectProblem, form } from '../kit/answers.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { recordOf, startGateway, type TestGateway } from '../kit/start-gateway.ts'

const program = 'ffmpeg'

/** Noise, so that the images are large enough to be spooled to disk. */
const drawn = (args: string[], size = '512x512') =>
  execFileSync(
    program,
    [
      ...['-v', 'error', '-f', 'lavfi', '-i', `nullsrc=size=${size},geq=random(1)*255:128:128`],
      ...['-frames:v', '1', ...args, 'pipe:1'],
    ],
    { maxBuffer: 10_000_000 },
  )

const encodings = {
  png: ['-c:v', 'png', '-f', 'image2pipe'],
  jpeg: ['-c:v', 'mjpeg', '-q:v', '2', '-f', 'image2pipe'],
  webp: ['-c:v', 'libwebp', '-lossless', '1', '-f', 'webp'],
  gif: ['-f', 'gif'],
}
type Kind = keyof typeof encodings
const kinds = Object.keys(encodings) as Kind[]
const images = new Map(kinds.map((kind) => [kind, drawn(encodings[kind])]))
const imageOf = (kind: Kind): Buffer => images.get(kind) ?? Buffer.alloc(0)
const cut = (image: Buffer, share: number): Buffer => image.subarray(0, Math.floor(image.length * share))
const uriOf = (kind: Kind, image: Buffer) => `data:image/${kind};base64,${image.toString('base64')}`

let gateway: TestGateway
let key: TestKey
let server: Server
let serverUrl: string
let served: Buffer

beforeAll(async () => {
  server = createServer((_request, response) => response.end(served))
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve))
  serverUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  gateway = await startGateway({ FETCH_ALLOW_ORIGINS: serverUrl })
  const account = await createAccount(gateway.database.postgres, { balance: 1_000_000 })
  key = await createKey(gateway.database.postgres, account)
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  server.close()
})

const order = { model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '480x480' }
const createJson = (input_reference: unknown) =>
  askJson(`${gateway.url}/v1/videos`, key.text, { ...order, input_reference })
const createForm = (input_reference: string | Blob) =>
  ask(`${gateway.url}/v1/videos`, key.text, { method: 'POST', body: form({ ...order, input_reference }) })
const blobOf = (image: Buffer) => new Blob([new Uint8Array(image)])

/** Each way to send an image, and the parameter named in its error. */
const ways: [string, string, (kind: Kind, image: Buffer) => ReturnType<typeof ask>][] = [
  ['a file of a form', 'input_reference', (_, image) => createForm(blobOf(image))],
  ['a data URI in a form', 'input_reference', (kind, image) => createForm(uriOf(kind, image))],
  ['a data URI in JSON', 'input_reference', (kind, image) => createJson(uriOf(kind, image))],
  ['an image_url in JSON', 'input_reference', (kind, image) => createJson({ image_url: uriOf(kind, image) })],
  [
    'a URL',
    'input_reference',
    (_, image) => {
      served = image
      return createJson(`${serverUrl}/image`)
    },
  ],
  [
    'a list of images',
    'images[1]',
    (kind, image) =>
      askJson(`${gateway.url}/v1/video/create`, key.text, {
        model: 'vidB-2',
        prompt: 'A whale',
        images: [uriOf('gif', imageOf('gif')), uriOf(kind, image)],
      }),
  ],
  [
    'chat',
    'messages[0].content[1].image_url',
    (kind, image) =>
      askJson(`${gateway.url}/v1/chat/completions?dry_run=true`, key.text, {
        model: 'vidB-2',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'A whale' },
              { type: 'image_url', image_url: { url: uriOf(kind, image) } },
            ],
          },
        ],
      }),
  ],
]

describe.each(ways)('%s', (_, param, send) => {
  test.each(kinds)('a complete %s is accepted', async (kind) => {
    expect((await send(kind, imageOf(kind))).status).toBe(200)
  })

  test.each(kinds)('a truncated %s is refused and leaves nothing behind', async (kind) => {
    const before = await recordOf(gateway)
    for (const share of [0.1, 0.5, 0.999]) {
      expectProblem(await send(kind, cut(imageOf(kind), share)), 'invalid_image', param)
    }
    expectProblem(await send(kind, cut(drawn(encodings[kind], '16x16'), 0.7)), 'invalid_image', param)
    expect(await recordOf(gateway)).toEqual(before)
  })
})
