import { expect, test } from 'vitest'

import { Secret } from '../platform/secret.ts'
import { createReplyIds } from './reply-id.ts'

const older = new Secret('an older secret')
const newer = new Secret('a newer secret')

test('an id opens only for its account and its provider', () => {
  const ids = createReplyIds([newer])
  const id = ids.seal('account-1', 'vendor', 'audio_abc')
  expect(id).toMatch(/^audio_[\w-]+$/)
  expect(id).not.toContain('abc')
  expect(ids.seal('account-1', 'vendor', 'audio_abc')).not.toBe(id)
  expect(ids.open('account-1', 'vendor', id)).toBe('audio_abc')
  expect(ids.open('account-2', 'vendor', id)).toBeUndefined()
  expect(ids.open('account-1', 'other', id)).toBeUndefined()
})

test('an id of an older secret opens as long as the secret is configured', () => {
  const id = createReplyIds([older]).seal('account-1', 'vendor', 'audio_abc')
  expect(createReplyIds([newer, older]).open('account-1', 'vendor', id)).toBe('audio_abc')
  expect(createReplyIds([newer]).open('account-1', 'vendor', id)).toBeUndefined()
})

test.each(['', 'audio_', 'audio_abc', 'video_abc', `audio_${'A'.repeat(60)}`, 'audio_é😀'])(
  '%j does not open',
  (text) => {
    expect(createReplyIds([newer]).open('account-1', 'vendor', text)).toBeUndefined()
  },
)
