/** Uses the service as a customer does, and throws if an operation fails. */
import { expect } from 'vitest'

import { ask, askJson } from '../kit/answers.ts'
import { allEventsIn } from '../kit/event-reader.ts'
import { audioForm, wave } from '../kit/sound.ts'
import type { Customer } from './upgrade-stack.ts'

const speech = { model: 'chat-4o-mini-tts-2025-12-15', voice: 'alloy', response_format: 'pcm' }

/** Creates a video and follows it to its end, and uses every kind of operation once. */
export const useService = async ({ origins: [url], key }: Customer): Promise<void> => {
  const read = async (path: string) => {
    const answer = await ask(`${url}${path}`, key)
    expect.soft(answer, `GET ${path}`).toMatchObject({ status: 200 })
    return answer.body
  }
  const created = await askJson(`${url}/v1/videos`, key, {
    ...{ model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' },
  })
  expect(created, 'POST /v1/videos').toMatchObject({ status: 200 })
  const id = String(created.body['id'])
  const authorization = `Bearer ${key}`
  const followed = await fetch(`${url}/v1/videos/${id}/events`, { headers: { authorization } })
  expect(followed.status, 'the status of the events').toBe(200)
  expect((await allEventsIn(followed.body)).at(-1)).toMatchObject({ event: 'completed' })
  const task = await read(`/v1/videos/${id}`)
  expect(task).toMatchObject({ status: 'completed' })
  const { pathname, search } = new URL(String(task['video_url']))
  const video = await fetch(`${url}${pathname}${search}`)
  expect(video.status, 'the status of the video').toBe(200)
  expect((await video.arrayBuffer()).byteLength).toBeGreaterThan(1_000)
  expect((await read('/v1/videos?limit=100'))['data']).toContainEqual(expect.objectContaining({ id }))
  await read(`/v1/receipts/${id}`)

  const spoken = await fetch(`${url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ ...speech, input: 'A whale.' }),
  })
  expect(spoken.status).toBe(200)
  expect((await spoken.arrayBuffer()).byteLength).toBeGreaterThan(1_000)
  const transcribed = await ask(`${url}/v1/audio/transcriptions`, key, {
    method: 'POST',
    body: audioForm(wave(5), { model: 'asr-1' }),
  })
  expect(transcribed, 'POST /v1/audio/transcriptions').toMatchObject({ status: 200 })
  expect(await read('/v1/me')).toMatchObject({ balance: { available_micros: expect.any(Number) } })
  await read('/v1/usage')
}
