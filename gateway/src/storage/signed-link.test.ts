import fc from 'fast-check'
import { expect, test } from 'vitest'

import { uuidV7 } from '../platform/ids/uuid.ts'
import { Secret } from '../platform/secret.ts'
import { createLinkSigner } from './signed-link.ts'

const secret = new Secret('one')
const signer = createLinkSigner([secret], 'https://videos.example', 3_600)
const pathOf = (link: string) => link.slice('https://videos.example'.length)
const notFound = expect.objectContaining({ code: 'media_not_found' }) as Error

test('a link opens its own file', () => {
  const id = uuidV7()
  const link = signer.link(id, 'a whale?.mp4')
  expect(link).toContain(`https://videos.example/media/${id}/a%20whale%3F.mp4?`)
  expect(signer.mediaIdOfPath(pathOf(link))).toBe(id)
})

test('a link with any change is not found', () => {
  const good = pathOf(signer.link(uuidV7(), 'video.mp4'))
  const place = fc.nat({ max: good.length })
  fc.assert(
    fc.property(place, place, fc.string({ maxLength: 5 }), (one, other, inserted) => {
      const changed = good.slice(0, Math.min(one, other)) + inserted + good.slice(Math.max(one, other))
      fc.pre(changed !== good)
      expect(() => signer.mediaIdOfPath(changed)).toThrow(notFound)
    }),
  )
})

test('the id and the file name are signed separately', () => {
  const path = pathOf(signer.link('a', 'b/c'))
  expect(signer.mediaIdOfPath(path)).toBe('a')
  expect(() => signer.mediaIdOfPath(path.replace('a/b%2Fc', 'a%2Fb/c'))).toThrow(notFound)
  expect(() => signer.mediaIdOfPath(`/media/a/b?${signer.query('a')}`)).toThrow(notFound)
})

test('only a link with a valid signature is reported as expired', () => {
  const id = uuidV7()
  const expired = createLinkSigner([secret], '', -1).link(id, 'x')
  expect(() => signer.mediaIdOfPath(expired)).toThrow(expect.objectContaining({ code: 'link_expired' }))
  expect(() => signer.mediaIdOfPath(expired.replace(id, uuidV7()))).toThrow(notFound)
})

test('a signed query is valid for its subject only, and exactly as it was issued', () => {
  const query = signer.query('character 1')
  expect(() => signer.check('character 1', query)).not.toThrow()
  expect(() => signer.check('character 2', query)).toThrow(notFound)
  for (const changed of [`${query}=`, `${query}&a=1`, `a=1&${query}`, '']) {
    expect(() => signer.check('character 1', changed)).toThrow(notFound)
  }
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
  for (const changed of [
    link.replace('signature=', 'signature=A'),
    link.replace('video.mp4', 'other.mp4'),
    `${link}&a=1`,
    `${link}#a`,
  ]) {
    expect(() => signer.mediaIdOf(changed)).toThrow(notFound)
  }
  const below = createLinkSigner([secret], 'https://videos.example/api', 3_600)
  expect(below.mediaIdOf(below.link(id, 'video.mp4'))).toBe(id)
  expect(below.mediaIdOf(link)).toBeUndefined()
})
