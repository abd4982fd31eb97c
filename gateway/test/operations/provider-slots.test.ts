/** Synchronous calls share the slots of a provider fairly. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import type { Vendor } from '../../../dev/vendor/vendor.ts'
import { createDatabase } from '../kit/database.ts'
import { audioForm, wave } from '../kit/sound.ts'
import { createSpender, meteredRequestsOf } from '../kit/spender.ts'
import type { TestGateway } from '../kit/start-gateway.ts'
import { startVendorGateway } from '../kit/vendor-gateway.ts'

let parts: Pick<TestGateway, 'database' | 'directory'>

beforeAll(async () => {
  parts = { database: await createDatabase(), directory: await mkdtemp(join(tmpdir(), 'kinora-slots-')) }
})
afterAll(async () => {
  await parts.database[Symbol.asyncDispose]()
  await rm(parts.directory, { recursive: true, force: true })
})

const sound = wave(2)
const asJson = (body: object) => ({
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
})

/** The vendor never answers a request with the words `vendor:hang`. */
const operations = [
  {
    name: 'speech',
    path: '/v1/audio/speech',
    requestOf: (input: string) =>
      asJson({ model: 'chat-4o-mini-tts-2025-12-15', input: `Hello. ${input}`, voice: 'alloy' }),
    received: (vendor: Vendor) => vendor.speeches().length,
  },
  {
    name: 'transcription',
    path: '/v1/audio/transcriptions',
    requestOf: (prompt: string) => ({ headers: {}, body: audioForm(sound, { model: 'asr-1', prompt }) }),
    received: (vendor: Vendor) => vendor.transcriptions().length,
  },
  {
    name: 'translation',
    path: '/v1/audio/translations',
    requestOf: (prompt: string) => ({ headers: {}, body: audioForm(sound, { model: 'asr-1', prompt }) }),
    received: (vendor: Vendor) => vendor.transcriptions().length,
  },
  {
    name: 'audio chat',
    path: '/v1/chat/completions',
    requestOf: (text: string) => {
      const data = sound.toString('base64')
      const content = [
        { type: 'text', text: `Listen. ${text}` },
        { type: 'input_audio', input_audio: { data, format: 'wav' } },
      ]
      return asJson({ model: 'chat-4o-audio-preview', messages: [{ role: 'user', content }] })
    },
    received: (vendor: Vendor) => vendor.turns().length,
  },
]

test.each(operations)(
  'one account uses at most half of the slots of a provider, and a waiting call whose client leaves is dropped: $name',
  async ({ path, requestOf, received }) => {
    await using own = await startVendorGateway({}, {}, { concurrency: 4 }, parts)
    const { postgres } = parts.database
    const [one, other] = await Promise.all([createSpender(postgres, 100), createSpender(postgres, 100)])
    const waiting = new AbortController()
    const send = (text: string, words: string, signal?: AbortSignal) => {
      const { headers, body } = requestOf(words)
      const init = { method: 'POST', headers: { authorization: `Bearer ${text}`, ...headers }, body }
      return fetch(`${own.url}${path}`, signal === undefined ? init : { ...init, signal })
    }
    const outcomes = async () =>
      (await meteredRequestsOf(postgres, one.account)).map(({ outcome }) => outcome)
    const held = [send(one.text, 'vendor:hang'), send(one.text, 'vendor:hang')]
    try {
      await expect.poll(() => received(own.vendor)).toBe(2)
      const third = send(one.text, 'vendor:hang', waiting.signal)
      third.catch(() => undefined)
      await expect.poll(outcomes).toEqual(['open', 'open', 'open'])
      const answer = await send(other.text, '')
      await answer.arrayBuffer()
      expect(answer.status).toBe(200)
      waiting.abort()
      await expect.poll(outcomes).toEqual(['open', 'open', 'aborted'])
      expect((await meteredRequestsOf(postgres, one.account))[2]).toMatchObject({ captured: 0 })
      expect(received(own.vendor)).toBe(3)
    } finally {
      waiting.abort()
      await own.vendor.close()
      await Promise.allSettled(held)
    }
  },
)
