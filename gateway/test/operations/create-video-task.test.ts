import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import type { ErrorCode } from '@kinora/contract/errors'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { createLog } from '../../src/platform/log.ts'
import { Secret } from '../../src/platform/secret.ts'
import { createLinkSigner } from '../../src/storage/signed-link.ts'
import { enhancePrompt, needsEnhancing } from '../../src/videos/prompts/enhance-prompt.ts'
import { ruleEnhancer } from '../../src/videos/prompts/rule-enhancer.ts'
import { dayOfTaskId } from '../../src/videos/task-id.ts'
import { findTask } from '../../src/videos/task-store.ts'
import { ask, askJson, expectProblem, form, pixelBytes, pixelUri, type Answer } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, linkSecret, type TestKey } from '../kit/factories.ts'
import { dispatchTick } from '../kit/queue.ts'
import { recordOf, startGateway, type TestGateway } from '../kit/start-gateway.ts'

const publicUrl = 'https://videos.example'
const megabyte = 1_048_576

let gateway: TestGateway
let accountId: string
let key: TestKey
let images: Server
let imagesUrl: string
let fetched: string[]

beforeAll(async () => {
  fetched = []
  images = createServer((request, response) => {
    fetched.push(request.url ?? '')
    if (request.url === '/large.png') {
      response.writeHead(200).end(Buffer.concat([pixelBytes, Buffer.alloc(20 * megabyte)]))
      return
    }
    response.writeHead(request.url === '/pixel.png' ? 200 : 404).end(pixelBytes)
  })
  await new Promise<void>((resolve) => images.listen({ host: '127.0.0.1', port: 0 }, resolve))
  imagesUrl = `http://127.0.0.1:${(images.address() as AddressInfo).port}`
  gateway = await startGateway({ FETCH_ALLOW_ORIGINS: imagesUrl, PUBLIC_URL: publicUrl })
  accountId = await createAccount(gateway.database.postgres, { balance: 100_000 })
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  images.close()
})

const familyA = { model: 'vidA3', prompt: 'A whale at sunset' }
const familyB = { model: 'vidB-2', prompt: 'A whale at sunset', images: [pixelUri] }

const create = (body: unknown, { text = key.text, headers = {} } = {}) =>
  askJson(`${gateway.url}/v1/video/create`, text, body, headers)

const taskOf = async (answer: Answer) => {
  expect(answer.body).toHaveProperty('id')
  const id = String(answer.body['id'])
  const task = await findTask(gateway.database.postgres, dayOfTaskId(id) ?? '', id)
  if (task === undefined) throw new Error(`${id} is not recorded`)
  return task
}

const referencesOf = async (answer: Answer) => {
  const { rows } = await gateway.database.postgres.query<Record<string, unknown>>(
    `select content_type, size_bytes from media where task_id = $1 and kind = 'reference' order by id`,
    [answer.body['id']],
  )
  return rows
}

const expectRefused = async (send: () => Promise<Answer>, code: ErrorCode, param?: string) => {
  const before = await recordOf(gateway)
  const answer = await send()
  expectProblem(answer, code, param)
  expect(await recordOf(gateway)).toEqual(before)
  return answer
}

describe('200', () => {
  test.each([
    ['A', familyA, /^vidA3:\d{10}-[0-9A-Za-z]{14}$/],
    ['B', familyB, /^vidB-2:\d{10}-[0-9A-Za-z]{14}$/],
  ])('a task of family %s is pending and has exactly the four fields', async (family, order, shape) => {
    const answer = await create(order)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-ignored-params')).toBeNull()
    expect(answer.body).toEqual({
      id: expect.stringMatching(shape),
      status: 'pending',
      status_update_time: expect.closeTo(Date.now() / 1000, -1),
      enhanced_prompt: 'A whale at sunset',
    })
    expect(await taskOf(answer)).toMatchObject({ family, createdVia: 'create', state: 'pending' })
  })

  test('dialects do not change its status names', async () => {
    const answer = await create(familyA, { headers: { 'x-api-dialect': 'openai' } })
    expect(answer.body['status']).toBe('pending')
  })

  test.each([
    [{}, { size: '1280x720', width: 1280, height: 720 }],
    [{ aspect_ratio: '16:9' }, { size: '1280x720', width: 1280, height: 720 }],
    [{ aspect_ratio: '9:16' }, { size: '720x1280', width: 720, height: 1280 }],
    [{ enable_upsample: true }, { size: '1920x1080', width: 1920, height: 1080 }],
    [
      { enable_upsample: 'true', aspect_ratio: '9:16' },
      { size: '1080x1920', width: 1080, height: 1920 },
    ],
  ])('family A makes eight seconds, and %j determines the size', async (given, frame) => {
    const { order, holdMicros } = await taskOf(await create({ ...familyA, ...given }))
    expect(order).toMatchObject({ ...frame, seconds: 8 })
    expect(holdMicros).toBe(8 * 200_000)
  })

  test.each([
    [{}, { size: '1280x720', seconds: 10, watermark: true, isPrivate: false }],
    [
      { orientation: 'portrait', duration: 15 },
      { size: '720x1280', seconds: 15 },
    ],
    [
      { size: 'large', duration: '25' },
      { size: '1920x1080', seconds: 25 },
    ],
    [
      { size: 'large', orientation: 'portrait' },
      { size: '1080x1920', width: 1080, height: 1920 },
    ],
    [
      { watermark: false, private: true },
      { watermark: false, isPrivate: true },
    ],
  ])('family B fills in the defaults of %j', async (given, order) => {
    const answer = await create({ ...familyB, ...given })
    expect((await taskOf(answer)).order).toMatchObject(order)
    const shown = await ask(`${gateway.url}/v1/videos/${String(answer.body['id'])}`, key.text)
    if ('size' in order) expect(shown.body['size']).toBe(order.size)
  })

  test.each(['vidA3', 'vidA3-fast', 'vidA3-pro', 'vidA3-pro-frames', 'vidA3.1', 'vidA3.1-fast'])(
    '%s applies the aspect ratio',
    async (model) => {
      const answer = await create({ ...familyA, model, aspect_ratio: '9:16' })
      expect((await taskOf(answer)).order.size).toBe('720x1280')
      expect(answer.headers.get('x-ignored-params')).toBeNull()
    },
  )

  test.each(['vidA2', 'vidA2-fast', 'vidA2-pro', 'vidA2-fast-frames', 'vidA2-fast-components'])(
    '%s ignores the aspect ratio, even an invalid one, and lists it as ignored',
    async (model) => {
      for (const aspect_ratio of ['9:16', '1:1']) {
        const answer = await create({ ...familyA, model, aspect_ratio })
        expect((await taskOf(answer)).order.size).toBe('1280x720')
        expect(answer.headers.get('x-ignored-params')).toBe('aspect_ratio')
      }
    },
  )

  test('unknown parameters and those of the other family are ignored and listed', async () => {
    const answer = await create({ ...familyA, orientation: 'portrait', duration: 99, wings: 2 })
    expect(answer.headers.get('x-ignored-params')).toBe('orientation, duration, wings')
  })

  test('images are accepted as data URIs and URLs, in their order', async () => {
    const answer = await create({ ...familyB, images: [pixelUri, `${imagesUrl}/pixel.png`] })
    const one = { content_type: 'image/png', size_bytes: pixelBytes.length }
    expect(await referencesOf(answer)).toEqual([one, one])
  })

  test.each([
    ['vidA2-fast-frames', 2, ['first_frame', 'last_frame']],
    ['vidA3-pro-frames', 1, ['first_frame']],
    ['vidA2-fast-components', 3, ['reference', 'reference', 'reference']],
    ['vidA2', 3, ['style', 'style', 'style']],
    ['vidB-2-pro', 3, ['style', 'style', 'style']],
  ])('%s accepts up to %i images, as %s', async (model, count, roles) => {
    const answer = await create({ ...familyA, model, images: Array.from({ length: count }, () => pixelUri) })
    expect(await referencesOf(answer)).toHaveLength(count)
    expect((await taskOf(answer)).order.imageRoles).toEqual(roles)
  })

  test('family A needs no image, and an empty list counts as none', async () => {
    const answer = await create({ ...familyA, model: 'vidA2-fast-frames', images: [] })
    expect(await referencesOf(answer)).toEqual([])
    expect((await taskOf(answer)).order).not.toHaveProperty('imageRoles')
  })

  test('a request may choose among the roles of the model', async () => {
    const images = [pixelUri, pixelUri]
    const of = { ...familyA, model: 'vidA2-fast-frames', images }
    const answer = await create({ ...of, image_roles: ['last_frame', 'first_frame'] })
    expect((await taskOf(answer)).order.imageRoles).toEqual(['last_frame', 'first_frame'])
    for (const [roles, message] of [
      [['last_frame'], 'one role for each of the 2 images'],
      [['first_frame', 'style'], 'first_frame, last_frame'],
      [['first_frame', 'first_frame'], 'only once'],
      ['last_frame', 'one role for each'],
    ] as const) {
      const refused = await create({ ...of, image_roles: roles })
      expect(refused.status).toBe(400)
      expect(refused.body).toMatchObject({
        error: {
          ...{ code: 'invalid_parameter', param: 'image_roles', message: expect.stringContaining(message) },
        },
      })
    }
    const last = await create({ ...of, images: [pixelUri], image_roles: ['last_frame'] })
    expect(last.body).toMatchObject({
      error: { message: expect.stringContaining("must have a 'first_frame'") },
    })
    const fixed = await create({ ...familyA, model: 'vidA2', images, image_roles: ['style', 'style'] })
    expect(fixed.headers.get('x-ignored-params')).toContain('image_roles')
  })
})

describe('200, with a prompt to enhance', () => {
  test('the response has the prompt as given, and later reads have the prompt that the run enhanced once', async () => {
    const { postgres } = gateway.database
    const answer = await create({ ...familyA, enhance_prompt: true })
    const id = String(answer.body['id'])
    expect(answer.headers.get('x-ignored-params')).toBeNull()
    expect(answer.body['enhanced_prompt']).toBe(familyA.prompt)
    expect(needsEnhancing(await taskOf(answer))).toBe(true)

    const { starts: runs } = await dispatchTick(postgres, { provider: 'local' })
    const run = runs.find(({ taskId }) => taskId === id)?.run ?? 0
    const log = createLog({ level: 'silent' }, 'test')
    await enhancePrompt({ postgres, enhancer: ruleEnhancer, log }, id, run)
    const enhanced = await ruleEnhancer.enhance(familyA.prompt, AbortSignal.timeout(120_000))
    expect(enhanced).not.toBe(familyA.prompt)
    const task = await taskOf(answer)
    expect(task).toMatchObject({ enhancedPrompt: enhanced, order: { prompt: familyA.prompt } })
    expect(needsEnhancing(task)).toBe(false)

    // A repeated step finds the recorded result and does not call the enhancer.
    const never = { canEnhance: () => true, enhance: () => Promise.resolve('something else') }
    await enhancePrompt({ postgres, enhancer: never, log }, id, run)
    const query = await ask(`${gateway.url}/v1/video/query?id=${id}`, key.text)
    expect(query.body['enhanced_prompt']).toBe(enhanced)
  })

  test.each([
    ['fails', () => Promise.reject(new Error('unavailable'))],
    ['returns blank text', () => Promise.resolve(' ')],
    ['returns too much text', () => Promise.resolve('x'.repeat(32_001))],
  ])('an enhancer that %s leaves the prompt unchanged, and the task continues', async (_, enhance) => {
    const { postgres } = gateway.database
    const answer = await create({ ...familyA, enhance_prompt: true })
    const id = String(answer.body['id'])
    const { starts: runs } = await dispatchTick(postgres, { provider: 'local' })
    const run = runs.find(({ taskId }) => taskId === id)?.run ?? 0
    const log = createLog({ level: 'silent' }, 'test')
    await enhancePrompt({ postgres, enhancer: { canEnhance: () => true, enhance }, log }, id, run)
    const task = await taskOf(answer)
    expect(task.enhancedPrompt).toBe(familyA.prompt)
    expect(needsEnhancing(task)).toBe(false)
  })

  test('a prompt that needs a translation stays unchanged, and enhance_prompt is listed as ignored', async () => {
    const answer = await create({ ...familyA, prompt: '日落时的鲸鱼', enhance_prompt: true })
    expect(answer.headers.get('x-ignored-params')).toBe('enhance_prompt')
    expect(needsEnhancing(await taskOf(answer))).toBe(false)
  })
})

describe('200, with a link to a stored file', () => {
  const linkTo = (mediaId: string, secret = linkSecret, url = publicUrl) =>
    createLinkSigner([new Secret(secret)], url, 3_600).link(mediaId, 'image.png')

  const storedImage = async (bytes = pixelBytes) => {
    const answer = await create(familyA)
    return completeTask(gateway, accountId, String(answer.body['id']), { bytes })
  }

  test('the file is read from storage and never fetched', async () => {
    const { mediaId } = await storedImage()
    const answer = await create({ ...familyB, images: [linkTo(mediaId)] })
    expect(answer.status).toBe(200)
    expect(await referencesOf(answer)).toEqual([{ content_type: 'image/png', size_bytes: pixelBytes.length }])
  })

  test('a link that is forged, expired or not to an image is refused without a fetch', async () => {
    await using own = await startGateway({ FETCH_ALLOW_ORIGINS: imagesUrl, PUBLIC_URL: imagesUrl }, gateway)
    const { mediaId } = await storedImage(Buffer.from('not an image at all'))
    const before = fetched.length
    for (const link of [
      linkTo(mediaId, linkSecret, imagesUrl),
      linkTo(mediaId, 'a secret of another gateway', imagesUrl),
      `${imagesUrl}/media/${mediaId}/image.png`,
      createLinkSigner([new Secret(linkSecret)], imagesUrl, -1).link(mediaId, 'image.png'),
    ]) {
      const answer = await askJson(`${own.url}/v1/video/create`, key.text, { ...familyB, images: [link] })
      expectProblem(answer, 'invalid_image', 'images[0]')
    }
    expect(fetched).toHaveLength(before)
    const elsewhere = { ...familyB, images: [`${imagesUrl}/pixel.png`] }
    expect((await askJson(`${own.url}/v1/video/create`, key.text, elsewhere)).status).toBe(200)
    expect(fetched).toHaveLength(before + 1)
  })
})

describe('400 invalid_request', () => {
  test('only JSON is accepted', async () => {
    await expectRefused(
      () =>
        ask(`${gateway.url}/v1/video/create`, key.text, {
          method: 'POST',
          body: form({ model: 'vidA3', prompt: 'A whale' }),
        }),
      'invalid_request',
    )
    await expectRefused(() => create('{'), 'invalid_request')
    await expectRefused(() => create('[]'), 'invalid_request')
  })
})

describe('400 missing_parameter', () => {
  test.each([
    ['model', { prompt: 'A whale' }],
    ['prompt', { model: 'vidA3' }],
    ['prompt', { model: 'vidA3', prompt: '  ' }],
    ['images', { model: 'vidB-2', prompt: 'A whale' }],
    ['images', { model: 'vidB-2', prompt: 'A whale', images: [] }],
    ['images', { model: 'vidB-2', prompt: 'A whale', images: null }],
  ])('%s in %j', async (param, body) => {
    await expectRefused(() => create(body), 'missing_parameter', param)
  })
})

describe('400 invalid_parameter', () => {
  test.each([
    ['model', { model: 7 }],
    ['model', { model: 'vidA_3_1' }],
    ['model', { model: 'asr-1' }],
    ['prompt', { prompt: 'x'.repeat(32_001) }],
    ['aspect_ratio', { aspect_ratio: '1:1' }],
    ['enhance_prompt', { enhance_prompt: 'ture' }],
    ['enable_upsample', { enable_upsample: 1 }],
    ['images', { images: pixelUri }],
    ['images', { images: { 0: pixelUri } }],
    ['images[1]', { images: [pixelUri, 7] }],
    ['images', { model: 'vidA2-fast-frames', images: [pixelUri, pixelUri, pixelUri] }],
    ['images', { model: 'vidA3-pro-frames', images: [pixelUri, pixelUri] }],
    ['images', { model: 'vidA2-fast-components', images: Array.from({ length: 4 }, () => pixelUri) }],
    ['images', { images: Array.from({ length: 4 }, () => pixelUri) }],
  ])('%s of family A in %j', async (param, given) => {
    await expectRefused(() => create({ ...familyA, ...given }), 'invalid_parameter', param)
  })

  test.each([
    ['orientation', { orientation: 'square' }],
    ['size', { size: '1280x720' }],
    ['duration', { duration: 4 }],
    ['duration', { duration: 12.5 }],
    ['watermark', { watermark: 'no' }],
    ['private', { private: 0 }],
    ['images', { images: Array.from({ length: 4 }, () => pixelUri) }],
  ])('%s of family B in %j', async (param, given) => {
    await expectRefused(() => create({ ...familyB, ...given }), 'invalid_parameter', param)
  })
})

describe('400 invalid_image', () => {
  test.each([
    ['text that is no address', 'nonsense'],
    ['another kind of data URI', 'data:text/plain;base64,aGVsbG8='],
    ['broken base64', 'data:image/png;base64,%%%'],
    ['bytes that are not an image', `data:image/png;base64,${Buffer.from('hello').toString('base64')}`],
    ['a private address', 'http://10.0.0.1/pixel.png'],
    ['a loopback port that is not allowed', 'http://127.0.0.1:1/pixel.png'],
    ['a file', 'file:///etc/passwd'],
  ])('%s', async (_, image) => {
    await expectRefused(() => create({ ...familyB, images: [pixelUri, image] }), 'invalid_image', 'images[1]')
  })

  test('a URL that responds with 404, and an image of more than 20 MB', async () => {
    for (const path of ['/missing.png', '/large.png']) {
      await expectRefused(
        () => create({ ...familyB, images: [`${imagesUrl}${path}`] }),
        'invalid_image',
        'images[0]',
      )
    }
    const large = Buffer.concat([pixelBytes, Buffer.alloc(20 * megabyte)]).toString('base64')
    await expectRefused(
      () => create({ ...familyB, images: [`data:image/png;base64,${large}`] }),
      'invalid_image',
      'images[0]',
    )
  })
})

describe('402 insufficient_balance', () => {
  test('an account without balance, whose images are deleted', async () => {
    const poor = await createKey(
      gateway.database.postgres,
      await createAccount(gateway.database.postgres, { balance: 0 }),
    )
    await expectRefused(() => create(familyB, { text: poor.text }), 'insufficient_balance')
  })
})

describe('403 model_access_denied', () => {
  test('a model that the key may not use', async () => {
    const { text } = await createKey(gateway.database.postgres, accountId, { models: ['vidB-2'] })
    await expectRefused(() => create(familyA, { text }), 'model_access_denied', 'model')
    expect((await create(familyB, { text })).status).toBe(200)
  })
})

describe('404 model_not_found', () => {
  test('an unknown model', async () => {
    await expectRefused(() => create({ ...familyA, model: 'vidA4' }), 'model_not_found', 'model')
  })
})

describe('413 request_too_large', () => {
  test('a body of more than 88 MiB', async () => {
    const body = JSON.stringify({ ...familyA, padding: 'x'.repeat(88 * megabyte) })
    await expectRefused(() => create(body), 'request_too_large')
  })
})

describe('200, value by value', () => {
  test.each([
    ...['vidA2', 'vidA2-fast', 'vidA2-pro', 'vidA2-fast-frames', 'vidA2-fast-components'],
    ...['vidA3', 'vidA3-fast', 'vidA3-pro', 'vidA3-pro-frames', 'vidA3.1', 'vidA3.1-fast'],
    ...['vidB-2', 'vidB-2-pro'],
  ])('the task id contains the model %s and can be read', async (model) => {
    const { body } = await create({ ...familyB, model })
    const id = String(body['id'])
    expect(id.startsWith(`${model}:`)).toBe(true)
    expect(id.slice(model.length)).toMatch(/^:\d{10}-[0-9A-Za-z]{14}$/)
    expect(Number.isInteger(body['status_update_time'])).toBe(true)
    expect((await ask(`${gateway.url}/v1/video/query?id=${id}`, key.text)).body).toMatchObject({ id })
  })

  test.each([
    ['landscape', 'small', '1280x720'],
    ['portrait', 'small', '720x1280'],
    ['landscape', 'large', '1920x1080'],
    ['portrait', 'large', '1080x1920'],
  ])('family B in %s and %s has the size %s, in each length', async (orientation, size, made) => {
    for (const duration of [10, 15, 25]) {
      const answer = await create({ ...familyB, orientation, size, duration })
      expect((await taskOf(answer)).order).toMatchObject({ size: made, seconds: duration })
    }
  })

  test('family B supports exactly 10, 15 and 25 seconds', async () => {
    const accepted: number[] = []
    for (let duration = 0; duration <= 30; duration += 1) {
      const answer = await create({ ...familyB, duration })
      if (answer.status === 200) accepted.push(duration)
      else expectProblem(answer, 'invalid_parameter', 'duration')
    }
    expect(accepted).toEqual([10, 15, 25])
  })

  test('a prompt is enhanced and a video upscaled only on request', async () => {
    for (const given of [{}, { enhance_prompt: false, enable_upsample: false }]) {
      const task = await taskOf(await create({ ...familyA, ...given }))
      expect(needsEnhancing(task)).toBe(false)
      expect(task.order.size).toBe('1280x720')
    }
  })

  test.each([
    [true, false],
    [false, true],
  ])('family B with watermark %s and private %s', async (watermark, isPrivate) => {
    const answer = await create({ ...familyB, watermark, private: isPrivate })
    expect((await taskOf(answer)).order).toMatchObject({ watermark, isPrivate })
  })
})

describe('400 invalid_parameter, types', () => {
  test.each([
    ['prompt', { prompt: 7 }],
    ['prompt', { prompt: ['A whale'] }],
    ['images', { images: pixelUri }],
    ['orientation', { orientation: 7 }],
    ['size', { size: 7 }],
    ['duration', { duration: 'ten' }],
    ['duration', { duration: [10] }],
    ['character_url', { character_url: 7 }],
    ['character_timestamps', { character_url: 'https://example.com/a.mp4', character_timestamps: 7 }],
    ['character_timestamps', { character_url: 'https://example.com/a.mp4', character_timestamps: '1-2' }],
  ])('%s of family B in %j', async (param, given) => {
    await expectRefused(() => create({ ...familyB, ...given }), 'invalid_parameter', param)
  })
})
