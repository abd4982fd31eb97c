/** A model whose vendors make only some lengths: the charged length is the made length. */
import { afterAll, beforeAll, expect, test } from 'vitest'

import { askJson, pixelUri } from '../kit/answers.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'

let gateway: VendorGateway
let key: string

beforeAll(async () => {
  gateway = await startVendorGateway(
    {},
    {
      vidA_3_1: { routes: [{ provider: 'vendor', model: 'veo', seconds: [4, 6, 8] }] },
      'vidB-2': {
        sizes: ['1280x720', '480x480'],
        routes: [
          { provider: 'vendor', sizes: ['1280x720'], seconds: [4] },
          { provider: 'vendor', model: 'other', sizes: ['480x480'], seconds: [8] },
        ],
      },
    },
  )
  const { postgres } = gateway.database
  key = (await createKey(postgres, await createAccount(postgres, { balance: 1_000 }))).text
})
afterAll(() => gateway[Symbol.asyncDispose]())

const image = { input_reference: { image_url: pixelUri } }
const create = (order: object, query = '') => askJson(`${gateway.url}/v1/videos${query}`, key, order)

test.each([
  { asked: '4', made: '4' },
  { asked: '5', made: '6' },
  { asked: '7', made: '8' },
])('$asked seconds become $made, on the quote and on the task', async ({ asked, made }) => {
  const order = { model: 'vidA_3_1', prompt: 'A whale', seconds: asked, size: '16x9', ...image }
  const quote = await create(order, '?dry_run=true')
  expect(quote.body).toMatchObject({ parameters: { seconds: Number(made) } })
  const { body } = await create(order)
  const { rows } = await gateway.database.postgres.query(
    `select video_order ->> 'seconds' as seconds, hold_micros as hold from video_tasks where id = $1`,
    [body['id']],
  )
  expect(rows).toEqual([{ seconds: made, hold: Number(made) * 200_000 }])
})

test('an unsupported length is refused, and the message has the longest one', async () => {
  const { status, body } = await create({
    model: 'vidA_3_1',
    prompt: 'A whale',
    seconds: '9',
    size: '16x9',
    ...image,
  })
  expect(status).toBe(400)
  expect(body['error']).toMatchObject({
    code: 'invalid_parameter',
    param: 'seconds',
    message: expect.stringContaining('up to 8 seconds'),
  })
})

test('a size that no route makes in this length is refused', async () => {
  const { status, body } = await create({ model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '480x480' })
  expect(status).toBe(400)
  expect(body['error']).toMatchObject({ code: 'invalid_parameter', param: 'size' })
})
