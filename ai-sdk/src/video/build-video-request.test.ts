import { UnsupportedFunctionalityError, type Experimental_VideoModelV4CallOptions } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'

import { presentModel } from '../../../gateway/src/models/present-model.ts'
import { referenceCatalog } from '../../../gateway/test/kit/reference-catalog.ts'
import { buildVideoRequest } from './build-video-request.ts'

type Options = Partial<Experimental_VideoModelV4CallOptions>

const catalog = referenceCatalog()

/** What the service says about the model. */
const factsOf = (id: string) =>
  presentModel(catalog.find(id), { engine: undefined, prices: [], currency: 'EUR' })

const build = (id: string, options: Options) => {
  const { body, ...request } = buildVideoRequest(id, factsOf(id), {
    ...{ prompt: 'A kite', n: 1, aspectRatio: undefined, resolution: undefined, duration: undefined },
    ...{ fps: undefined, seed: undefined, image: undefined, frameImages: undefined },
    ...{ inputReferences: undefined, generateAudio: undefined, providerOptions: {} },
    ...options,
  })
  const {
    model: _,
    prompt: __,
    ...fields
  } = body instanceof FormData ? Object.fromEntries(body.entries()) : body
  return { ...request, fields }
}

const link = { type: 'url', url: 'https://example.com/a.png' } as const
const file = { type: 'file', mediaType: 'image/png', data: 'AAAA' } as const

describe('the size', () => {
  test.each<[string, Options, object]>([
    ['vidB-2', {}, {}],
    ['vidB-2', { resolution: '1280x720' }, { size: '1280x720' }],
    ['vidB-2', { aspectRatio: '9:16' }, { size: '720x1280' }],
    ['vidB-2', { aspectRatio: '1:1' }, { size: '480x480' }],
    ['vidB-2', { aspectRatio: 'adaptive' }, {}],
    ['vidA_3_1', { resolution: '1280x720' }, { size: '16x9' }],
    ['vidA_3_1', { aspectRatio: '16:9', duration: 7 }, { size: '16x9', seconds: '7' }],
    ['vidA3', { aspectRatio: '9:16' }, { aspect_ratio: '9:16' }],
  ])('of %s for %o', (id, options, fields) => {
    expect(build(id, options).fields).toEqual(fields)
  })

  test.each<[string, Options]>([
    ['vidB-2', { resolution: '640x480' }],
    ['vidB-2', { aspectRatio: '3:1' }],
    ['vidB-2', { resolution: '1280x720', aspectRatio: '9:16' }],
    ['vidA3', { duration: 12 }],
    ['vidB-2', { n: 2 }],
  ])('%s does not make %o, and nothing near it', (id, options) => {
    expect(() => build(id, options)).toThrow(UnsupportedFunctionalityError)
  })
})

describe('images', () => {
  test('one is sent where the model is served, as a link or as a file', () => {
    expect(build('vidB-2', { image: link })).toMatchObject({
      path: '/videos',
      fields: { input_reference: link.url },
    })
    expect(build('vidB-2', { image: file }).fields['input_reference']).toBeInstanceOf(Blob)
  })

  test('a first and a last frame have their roles', () => {
    const frameImages = [
      { image: link, frameType: 'first_frame' },
      { image: file, frameType: 'last_frame' },
    ] as const
    expect(build('vidA2-fast-frames', { image: link, frameImages: [...frameImages] })).toMatchObject({
      path: '/video/create',
      fields: {
        images: [link.url, 'data:image/png;base64,AAAA'],
        image_roles: ['first_frame', 'last_frame'],
      },
      warnings: [],
    })
    expect(() => build('vidA3-pro-frames', { image: link, frameImages: [...frameImages] })).toThrow(
      UnsupportedFunctionalityError,
    )
  })

  test('a role that the model does not have is a warning', () => {
    expect(build('vidA2-fast-components', { image: link }).warnings).toMatchObject([{ type: 'other' }])
  })
})

test('options of our own become parameters, and what has no effect becomes a warning', () => {
  const kinora = { idempotencyKey: 'k', watermark: false, webhookEvents: ['video.failed', 'video.completed'] }
  const { fields, idempotencyKey, warnings } = build('vidB-2', {
    providerOptions: { kinora: { ...kinora, metadata: { team: 'red' } }, other: { loop: true } },
    ...{ seed: 1, fps: 30 },
  })
  expect(fields).toEqual({
    watermark: 'false',
    webhook_events: 'video.failed,video.completed',
    metadata: '{"team":"red"}',
  })
  expect(idempotencyKey).toBe('k')
  expect(warnings.map((warning) => 'feature' in warning && warning.feature)).toEqual(['fps', 'seed'])
})

test.each([
  [{ watermrak: false }, /no option 'providerOptions.kinora.watermrak'/],
  [{ watermark: 'no' }, /must be of type boolean/],
  [{ webhookEvents: 'video.failed' }, /must be a list of strings/],
])('%o is refused', (kinora, message) => {
  expect(() => build('vidB-2', { providerOptions: { kinora } })).toThrow(message)
})
