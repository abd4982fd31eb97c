/** An account with data of every kind, all of it marked with a unique word. */
import { randomBytes } from 'node:crypto'

import { keyScopes } from '@kinora/contract/key-scope'
import { expect } from 'vitest'

import { ask, askJson } from './answers.ts'
import { completeTask, createAccount, createKey, endTask, subscribe, type TestKey } from './factories.ts'
import type { Transcriber } from './recording.ts'
import { audioForm, wave } from './sound.ts'
import type { VendorGateway } from './vendor-gateway.ts'

/** The ids and names of an account that a request can contain. */
export interface Named {
  pending: string
  completed: string
  failed: string
  transcriptions: { pending: string; completed: string; failed: string }
  character: { id: string; username: string }
  privateCharacter: { id: string; username: string }
  media: string
  portrait: string
  /** The id of a metered request, for its receipt. */
  request: string
  /** The id of a key. */
  key: string
  /** The id of an audio response, as later messages refer to it. */
  reply: string
  /** The id of a webhook endpoint. */
  endpoint: string
  /** The id of a delivery to it. */
  delivery: string
}

export interface PlantedAccount {
  accountId: string
  key: TestKey
  subscriber: TestKey
  word: string
  named: Named
  /** Tasks that their own account may cancel. */
  spare: {
    pending: string
    completed: string
    transcription: string
    character: string
    keys: [string, string]
    endpoint: string
  }
}

export const plantAccount = async (
  gateway: VendorGateway,
  transcriber: Transcriber,
  film: Buffer,
): Promise<PlantedAccount> => {
  const { url } = gateway
  const { postgres } = gateway.database
  const word = `q${randomBytes(7).toString('hex')}`
  const accountId = await createAccount(postgres, { balance: 100_000 })
  await postgres.query('update accounts set name = $2 where id = $1', [accountId, `${word} & sons`])
  await subscribe(postgres, accountId)
  const key = await createKey(postgres, accountId, { name: `${word} payg`, scopes: [...keyScopes] })
  const subscriber = await createKey(postgres, accountId, { name: `${word} plan`, kind: 'subscription' })

  const make = async (path: string, body: object) => {
    const answer = await askJson(`${url}${path}`, key.text, body)
    expect(answer.body).toMatchObject({ id: expect.any(String) })
    return answer
  }
  const video = async (more: object = {}) => {
    const order = { model: 'vidB-2', prompt: `A whale ${word}`, seconds: 4, size: '480x480' }
    return String((await make('/v1/videos', { ...order, metadata: { note: word }, ...more })).body['id'])
  }
  const completed = async (more: object = {}) => {
    const id = await video(more)
    return { id, ...(await completeTask(gateway, accountId, id, { bytes: film })) }
  }
  const character = async (from: string, timestamps: string, username?: string) => {
    const { body } = await make('/vidB/v1/characters', { from_task: from, timestamps })
    const id = String(body['id'])
    if (username === undefined) return { id, username: String(body['username']), body }
    const renamed = await ask(`${url}/vidB/v1/characters/${id}`, key.text, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username }),
    })
    expect(renamed.status).toBe(200)
    return { id, username, body: renamed.body }
  }
  const manager = async () => (await createKey(postgres, accountId, { scopes: ['account'] })).id
  const endpoint = async () => {
    const order = { url: `https://example.com/${word}`, name: word, events: ['webhook_endpoint.disabled'] }
    return String((await make('/v1/webhook_endpoints', order)).body['id'])
  }
  const endpointId = await endpoint()
  const recording = async (fields: Record<string, string> = {}) => {
    const answer = await ask(`${url}/v1/audio/transcription-tasks`, key.text, {
      method: 'POST',
      body: audioForm(wave(1), { model: 'asr-1', prompt: word, ...fields }, `${word}.wav`),
    })
    expect(answer.status).toBe(200)
    return String(answer.body['id'])
  }

  const pending = String(
    (await make('/v1/video/create', { model: 'vidA3.1', prompt: `Waiting ${word}` })).body['id'],
  )
  const [open, hidden, spare] = [await completed(), await completed({ private: true }), await completed()]
  const failed = await video()
  await endTask(postgres, failed, { kind: 'failed', code: 'upstream_error', message: `It broke: ${word}.` })
  const seen = await character(open.id, '0,1', `shown.${word}`)
  const unseen = await character(hidden.id, '1,2', `hidden.${word}`)

  const written = await recording()
  const refused = await recording({ prompt: `vendor:moderated ${word}` })
  await transcriber.work()
  // The vendor's text does not contain the marker, so it is added to the transcript.
  await postgres.query(
    `update transcription_segments set transcript = replace(transcript::text, 'vendor transcript', $2)::jsonb where task_id = $1`,
    [written, `They said ${word}`],
  )

  const speech = await fetch(`${url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.text}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat-4o-mini-tts-2025-12-15', input: `Say ${word}`, voice: 'alloy' }),
  })
  expect(speech.status).toBe(200)
  await speech.arrayBuffer()
  const talk = await askJson(`${url}/v1/chat/completions`, key.text, {
    model: 'chat-4o-audio-preview',
    messages: [{ role: 'user', content: `Hello ${word}` }],
    modalities: ['text', 'audio'],
    audio: { voice: 'alloy', format: 'wav' },
  })
  const [choice] = talk.body['choices'] as { message: { audio: { id: string } } }[]

  return {
    ...{ accountId, key, subscriber, word },
    named: {
      pending,
      completed: open.id,
      failed,
      transcriptions: { pending: await recording(), completed: written, failed: refused },
      character: { id: seen.id, username: seen.username },
      privateCharacter: { id: unseen.id, username: unseen.username },
      media: hidden.mediaId,
      portrait: /\/media\/([^/]+)\//.exec(String(unseen.body['profile_picture_url']))?.[1] ?? '',
      key: key.id,
      request: String(speech.headers.get('x-request-id')),
      endpoint: endpointId,
      delivery: String((await make(`/v1/webhook_endpoints/${endpointId}/test`, {})).body['id']),
      reply: choice?.message.audio.id ?? '',
    },
    spare: {
      pending: await video(),
      completed: spare.id,
      transcription: await recording(),
      character: (await character(spare.id, '2,3')).id,
      keys: [await manager(), await manager()],
      endpoint: await endpoint(),
    },
  }
}

/** Ids of the same format and time, adjacent in any order, that never existed. */
export const neverNamed = (named: Named): Named =>
  JSON.parse(JSON.stringify(named), (_, value: unknown) =>
    typeof value === 'string' ? value.replace(/..$/, (end) => end.replace(/./g, otherDigit)) : value,
  ) as Named
const otherDigit = (digit: string) => (digit === '0' ? '1' : '0')

/** All strings in a value. */
export const textsIn = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(textsIn)
      : []
