import OpenAI from 'openai'
import { expect, test } from 'vitest'

import { startStack } from '../kit/stack.ts'

test('the official client library creates, polls, downloads, remixes, lists and deletes videos', async () => {
  await using stack = await startStack()
  const client = new OpenAI({ apiKey: stack.key, baseURL: `${stack.url}/openai/v1` })
  const finished = async (id: string) => {
    let video = await client.videos.retrieve(id)
    await stack.until('the video has ended', async () => {
      video = await client.videos.retrieve(id)
      return video.status === 'completed' || video.status === 'failed'
    })
    return video
  }

  const created = await client.videos.create({
    model: 'vidB-2',
    prompt: 'A whale at sunset',
    seconds: '4',
    size: '1280x720',
  })
  expect(created.status).toBe('queued')
  expect((await finished(created.id)).status).toBe('completed')

  const video = await client.videos.downloadContent(created.id)
  expect(Buffer.from(await video.arrayBuffer()).toString('latin1', 4, 8)).toBe('ftyp')
  const thumbnail = await client.videos.downloadContent(created.id, { variant: 'thumbnail' })
  expect(thumbnail.headers.get('content-type')).toBe('image/jpeg')

  const remix = await client.videos.remix(created.id, { prompt: 'The same at night' })
  expect((await finished(remix.id)).status).toBe('completed')

  const listed = []
  for await (const { id } of client.videos.list({ limit: 1 })) listed.push(id)
  expect(listed).toEqual([remix.id, created.id])
  expect(await client.videos.delete(created.id)).toMatchObject({ id: created.id, deleted: true })
  await expect(client.videos.retrieve(created.id)).rejects.toMatchObject({
    status: 404,
    code: 'task_not_found',
    requestID: expect.stringMatching(/^req_/),
  })
  await expect(client.videos.retrieve('nonsense')).rejects.toBeInstanceOf(OpenAI.NotFoundError)
})
