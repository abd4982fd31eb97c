import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ask, askJson } from '../kit/answers.ts'
import { createOperator } from '../kit/operator.ts'
import { probe } from '../kit/sample-video.ts'
import { startStack, type Stack } from '../kit/stack.ts'

/** A model whose videos take little time to render. */
const small = { model: 'clip-1', seconds: '2', size: '320x320' }
const settingsOfSmall = {
  ...{ kind: 'video', family: 'B', seconds: [2], sizes: [small.size], routes: [{ provider: 'local' }] },
  prices: [{ unit: 'second', micros: 100_000 }],
}

describe('with the built-in provider', () => {
  let stack: Stack
  beforeAll(async () => {
    stack = await startStack({ provider: 'local', environment: { LOCAL_RENDERS: '1' } })
    const operator = await createOperator(stack)
    await operator.call('setModelEntry', { id: small.model, body: { settings: settingsOfSmall } })
  })
  afterAll(() => stack[Symbol.asyncDispose]())

  const create = (prompt: string, fields: Record<string, string> = {}) =>
    stack.create(prompt, { ...small, ...fields })

  test('a video, its remix, a character from it and a video with that character are playable', async () => {
    const { url, key } = stack
    const completed = async (id: string) => {
      const startedMs = performance.now()
      await stack.until(`${id} has ended`, async () => {
        const { body } = await ask(`${url}/v1/videos/${id}`, key)
        return body['status'] === 'completed' || body['status'] === 'failed'
      })
      const { body } = await ask(`${url}/v1/videos/${id}`, key)
      expect(body).toMatchObject({ status: 'completed', progress: 100 })
      const file = join(stack.directory, 'download.mp4')
      const download = await fetch(String(body['video_url']))
      const bytes = Buffer.from(await download.arrayBuffer())
      await writeFile(file, bytes)
      const probed = await probe(file)
      expect(probed).toMatchObject({ codec: 'h264', width: 320, height: 320 })
      expect(probed.seconds).toBeCloseTo(2, 1)
      return { bytes, ms: Math.round(performance.now() - startedMs) }
    }

    const sourceId = await create('A whale swimming through a calm ocean at sunset')
    const source = await completed(sourceId)

    const { body: remixed } = await askJson(`${url}/v1/videos/${sourceId}/remix`, key, {
      prompt: 'The same at night, under stars',
    })
    const remix = await completed(String(remixed['id']))
    expect(remix.bytes.equals(source.bytes)).toBe(false)

    const startedMs = performance.now()
    const { status, body: character } = await askJson(`${url}/vidB/v1/characters`, key, {
      from_task: sourceId,
      timestamps: '0.5,1.5',
    })
    const characterMs = Math.round(performance.now() - startedMs)
    expect(status).toBe(200)
    const portrait = await fetch(String(character['profile_picture_url']))
    expect(portrait.headers.get('content-type')).toBe('image/jpeg')
    expect((await fetch(String(character['permalink']))).status).toBe(200)

    const plain = await completed(await create('Golden dunes in the desert'))
    const starringId = await create(`@${String(character['username'])} in golden dunes in the desert`)
    const starring = await completed(starringId)
    expect(starring.bytes.equals(plain.bytes)).toBe(false)

    const ownId = await create('A quiet pine forest', { character_from_task: sourceId })
    const own = await completed(ownId)
    await stack.until('the unsaved character was deleted with the task', async () => {
      const { rows } = await stack.database.postgres.query<{ count: number }>(
        'select count(*) from characters',
      )
      return rows[0]?.count === 1
    })

    console.log(
      `render ${source.ms} ms, remix ${remix.ms} ms, character ${characterMs} ms, ` +
        `video with a character ${starring.ms} ms, with one of its own ${own.ms} ms`,
    )
    await stack.assertLedger({ completed: 5, failed: 0 })
  })

  test('a cancelled task is not charged and its render stops', async () => {
    const { url, key } = stack
    const before = (await stack.states())['completed'] ?? 0
    // Not recursive, because a job's directory may be deleted while it is listed.
    const names = () => readdir(join(stack.directory, 'local'))
    const earlier = new Set(await names())
    const added = async () => (await names()).filter((name) => !earlier.has(name))
    const id = await stack.create('A dragon over snowy mountains', { seconds: '25', size: '1280x720' })
    await stack.until('it is rendering', async () => {
      const { body } = await ask(`${url}/v1/videos/${id}`, key)
      return body['status'] === 'processing' && Number(body['progress']) > 0
    })
    expect(await added()).not.toEqual([])
    const { body } = await ask(`${url}/v1/videos/${id}/cancel`, key, { method: 'POST' })
    expect(body).toMatchObject({ status: 'failed', error: { code: 'task_cancelled' } })
    const ms = await stack.until('its job is gone', async () => (await added()).length === 0)
    console.log(`cancelled: the render was gone ${Math.round(ms)} ms later`)
    await stack.assertLedger({ completed: before, failed: 1 })

    // The only render slot is free again, and the run that waited found nothing to do.
    const next = await create('Northern lights over ice')
    await stack.until('the next is completed', async () => (await stack.states())['completed'] === before + 1)
    await stack.assertLedger({ completed: before + 1, failed: 1 })
    expect((await ask(`${url}/v1/videos/${next}`, key)).body).toMatchObject({ status: 'completed' })
  })
})

test('a cancel after the vendor has finished has no effect: the video is completed and charged', async () => {
  // The job would be polled only after ten minutes.
  await using stack = await startStack({
    vendorDurationMs: 100,
    providerSettings: { pollIntervalMsMin: 600_000, pollIntervalMsMax: 600_000 },
  })
  const { url, key, vendor } = stack
  const id = await stack.create('A whale')
  await stack.until('the vendor has finished', async () => {
    const { body } = await ask(`${url}/v1/videos/${id}`, key)
    return body['status'] === 'processing' && vendor.jobs()[0]?.state === 'completed'
  })
  const { status, body } = await ask(`${url}/v1/videos/${id}/cancel`, key, { method: 'POST' })
  expect(status).toBe(200)
  expect(body).not.toHaveProperty('error')
  await stack.until('it is completed', async () => (await stack.states())['completed'] === 1)
  await stack.assertLedger({ completed: 1, failed: 0 })
})

test('a vendor remixes its retained job, and a job cancelled during its submit is cancelled at the vendor', async () => {
  await using stack = await startStack()
  const { url, key, vendor } = stack
  const jobs = () => vendor.jobs()
  const sourceId = await stack.create('A whale')
  await stack.until('the source is completed', async () => (await stack.states())['completed'] === 1)
  const { body } = await askJson(`${url}/v1/videos/${sourceId}/remix`, key, { prompt: 'At night' })
  await stack.until('the remix is completed', async () => (await stack.states())['completed'] === 2)
  expect(jobs()).toMatchObject([
    { idempotencyKey: sourceId, state: 'completed', remixOf: undefined },
    { idempotencyKey: body['id'], state: 'completed', remixOf: jobs()[0]?.id, prompt: 'At night' },
  ])

  const id = await stack.create('vendor:slow-reply=1500ms vendor:never')
  await stack.until('the vendor has the job and has not responded', async () => jobs().length === 3)
  await ask(`${url}/v1/videos/${id}/cancel`, key, { method: 'POST' })
  expect(jobs()[2]?.state).not.toBe('deleted')
  await stack.until('the job was cancelled', async () => jobs()[2]?.state === 'deleted')
  await stack.assertLedger({ completed: 2, failed: 1 })
})
