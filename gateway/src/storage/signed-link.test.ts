import fc from 'fast-check'
import { expect, test } from 'vitest'

import { Secret } from '../platform/secret.ts'
import { uuidV7 } from '../platform/uuid.ts'
import { createLinkSigner } from './signed-link.ts'

const secret = new Secret('one')
const signer = createLinkSigner([secret], 'https://videos.example', 3_600)
const queryOf = (link: string) => Object.fromEntries(new URL(link).searchParams)

test('a link opens its own file', () => {
  const id = uuidV7()
  const link = signer.link(id, 'a whale?.mp4')
  expect(link).toContain(`https://videos.example/media/${id}/a%20whale%3F.mp4?`)
  expect(() => signer.check(id, queryOf(link))).not.toThrow()
})

test('a link with any change to its query is not found', () => {
  const id = uuidV7()
  const good = queryOf(signer.link(id, 'video.mp4'))
  const part = fc.option(fc.string(), { nil: undefined })
  fc.assert(
    fc.property(fc.record({ expires: part, key: part, signature: part }), (given) => {
      const changes = Object.fromEntries(
        Object.entries(given).flatMap(([name, value]) =>
          value === undefined ? [] : [[name, value] as const],
        ),
      )
      fc.pre(Object.keys(changes).length > 0)
      fc.pre(Object.entries(changes).some(([name, value]) => good[name] !== value))
      let code: string | undefined
      try {
        signer.check(id, { ...good, ...changes })
      } catch (error) {
        code = (error as { code: string }).code
      }
      expect(code).toBe('media_not_found')
    }),
  )
})

test('only a link with a valid signature is reported as expired', () => {
  const id = uuidV7()
  const expired = queryOf(
    createLinkSigner([secret], '', -1).link(id, 'x').replace(/^/, 'https://videos.example'),
  )
  expect(() => signer.check(id, expired)).toThrow(expect.objectContaining({ code: 'link_expired' }))
  expect(() => signer.check(uuidV7(), expired)).toThrow(expect.objectContaining({ code: 'media_not_found' }))
})

test('a signer without a secret cannot be created', () => {
  expect(() => createLinkSigner([], '', 1)).toThrow(/at least one secret/)
})

test('only own links resolve to a media id', () => {
  const id = uuidV7()
  const link = signer.link(id, 'video.mp4')
  expect(signer.mediaIdOf(link)).toBe(id)
  for (const other of [
    link.replace('videos.example', 'videos.example.com'),
    link.replace('https:', 'http:'),
    link.replace('/media/', '/medias/'),
    'https://videos.example/',
    'nonsense',
  ]) {
    expect(signer.mediaIdOf(other)).toBeUndefined()
  }
  expect(() => signer.mediaIdOf(link.replace('signature=', 'signature=A'))).toThrow(
    expect.objectContaining({ code: 'media_not_found' }),
  )
  const below = createLinkSigner([secret], 'https://videos.example/api', 3_600)
  expect(below.mediaIdOf(below.link(id, 'video.mp4'))).toBe(id)
  expect(below.mediaIdOf(link)).toBeUndefined()
})
