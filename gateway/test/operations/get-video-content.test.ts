import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { Call } from '../../src/http/call.ts'
import { createLog } from '../../src/platform/log.ts'
import { createMakeVariant } from '../../src/storage/make-variant.ts'
import { findStoredFile } from '../../src/storage/stored-file-store.ts'
import { markProcessing } from '../../src/tasks/task-store.ts'
import { imageTypeOf } from '../../src/videos/images/image-scan.ts'
import { createModelTaskId, dayOfTaskId } from '../../src/videos/task-id.ts'
import { videoTables } from '../../src/videos/task.ts'
import { ask, askJson, expectProblem, pixelUri } from '../kit/answers.ts'
import { blockingProgram, withoutSandbox } from '../kit/blocking-program.ts'
import { completeTask, createAccount, createKey, endTask, type TestKey } from '../kit/factories.ts'
import { mediaPrograms } from '../kit/media-programs.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'
import { putBytes } from '../kit/stored-media.ts'
import { minutes } from '../kit/time-limits.ts'

const sample = await readFile(new URL('../../../dev/vendor/sample.mp4', import.meta.url))

let gateway: TestGateway
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startGateway({ PUBLIC_URL: 'https://videos.example' })
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const familyB = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '1280x720' }
const familyA = { model: 'vidA_3_1', prompt: 'A whale', seconds: 5, size: '16x9', input_reference: pixelUri }

const create = async (order: object = familyB) => {
  const answer = await askJson(`${gateway.url}/v1/videos`, key.text, order)
  return String(answer.body['id'])
}
const complete = async (options?: Parameters<typeof completeTask>[3], order?: object) => {
  const id = await create(order)
  return { id, video: await completeTask(gateway, accountId, id, options) }
}

const urlOf = (id: string, search = '') => `${gateway.url}/v1/videos/${id}/content${search}`
const read = (id: string, headers: Record<string, string> = {}, search = '') =>
  ask(urlOf(id, search), key.text, { headers })
const open = async (id: string, headers: Record<string, string> = {}, search = '', method = 'GET') => {
  const response = await fetch(urlOf(id, search), {
    method,
    headers: { authorization: `Bearer ${key.text}`, ...headers },
  })
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  }
}
const asBytes = { accept: 'application/binary' }

describe('200 as JSON', () => {
  test.each([
    ['A', familyA],
    ['B', familyB],
  ])('a completed task of family %s has exactly the five fields', async (_, order) => {
    const { id, video } = await complete({}, order)
    for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json, video/mp4' }]) {
      const answer = await read(id, headers)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(answer.headers.get('x-media-expires-at')).toBe(video.expiresAt.toISOString())
      expect(answer.headers.get('vary')).toBe('Accept')
      expect(answer.body).toEqual({
        id,
        status: 'completed',
        video_url: expect.stringContaining(`https://videos.example/media/${video.mediaId}/video.mp4?`),
        enhanced_prompt: 'A whale',
        status_update_time: expect.closeTo(Date.now() / 1000, -1),
      })
    }
  })
})

describe('200 as bytes', () => {
  test('if the client prefers them or names the variant', async () => {
    const { id, video } = await complete()
    for (const [headers, search] of [
      [asBytes, ''],
      [{ accept: 'application/octet-stream' }, ''],
      [{ accept: 'video/*' }, ''],
      [{ accept: 'application/json' }, '?variant=video'],
      [asBytes, '?variant='],
    ] as const) {
      const { status, headers: got, bytes } = await open(id, headers, search)
      expect(status).toBe(200)
      expect(bytes).toEqual(video.bytes)
      expect(got.get('content-type')).toBe('video/mp4')
      expect(got.get('content-length')).toBe('1000')
      expect(got.get('accept-ranges')).toBe('bytes')
      expect(got.get('etag')).toMatch(/^"[0-9a-f]{64}"$/)
      expect(got.get('x-media-expires-at')).toBe(video.expiresAt.toISOString())
    }
  })

  test('with a file name that is valid on any system', async () => {
    const { id } = await complete()
    expect((await open(id, asBytes)).headers.get('content-disposition')).toBe(
      `attachment; filename="${id.replace(':', '-')}.mp4"`,
    )
  })

  test('HEAD returns the length without the bytes', async () => {
    const { id } = await complete()
    const { status, headers, bytes } = await open(id, asBytes, '', 'HEAD')
    expect(status).toBe(200)
    expect(headers.get('content-length')).toBe('1000')
    expect(bytes).toHaveLength(0)
  })
})

describe('200 as an image', () => {
  test.each(['thumbnail', 'spritesheet'])('a %s is made once and expires with its video', async (variant) => {
    const { id, video } = await complete({ bytes: sample })
    const several = await Promise.all([1, 2, 3].map(() => open(id, {}, `?variant=${variant}`)))
    const [first] = several
    for (const { status, headers, bytes } of several) {
      expect(status).toBe(200)
      expect(headers.get('content-type')).toBe('image/jpeg')
      expect(headers.get('content-disposition')).toBe(
        `attachment; filename="${id.replace(':', '-')}-${variant}.jpg"`,
      )
      expect(imageTypeOf(bytes)).toBe('image/jpeg')
      expect(bytes).toEqual(first?.bytes)
    }
    const { rows } = await gateway.database.postgres.query<Record<string, unknown>>(
      'select kind, expires_at from media where task_id = $1 and kind = $2',
      [id, variant],
    )
    expect(rows).toEqual([{ kind: variant, expires_at: video.expiresAt }])
    const part = await open(id, { range: 'bytes=0-2' }, `?variant=${variant}`)
    expect(part.status).toBe(206)
    expect(part.bytes).toEqual(Buffer.from([0xff, 0xd8, 0xff]))
  })
})

describe('206', () => {
  test('a range', async () => {
    const { id, video } = await complete()
    const { status, headers, bytes } = await open(id, { ...asBytes, range: 'bytes=10-19' })
    expect(status).toBe(206)
    expect(headers.get('content-range')).toBe('bytes 10-19/1000')
    expect(bytes).toEqual(video.bytes.subarray(10, 20))
  })
})

describe('304', () => {
  test('a client that has the bytes already', async () => {
    const { id } = await complete()
    const etag = String((await open(id, asBytes)).headers.get('etag'))
    expect((await open(id, { ...asBytes, 'if-none-match': etag })).status).toBe(304)
  })
})

describe('400 task_not_completed', () => {
  test('has the status and a hint for the next poll', async () => {
    const id = await create()
    for (const headers of [{}, asBytes]) {
      const answer = await read(id, headers)
      expectProblem(answer, 'task_not_completed')
      expect(answer.body).toMatchObject({ error: { message: expect.stringContaining('pending') } })
      expect(answer.headers.get('retry-after')).toBe('1')
    }
    await markProcessing(gateway.database.postgres, videoTables, [{ day: dayOfTaskId(id) ?? '', id }])
    await expect
      .poll(async () => (await read(id)).body)
      .toMatchObject({ error: { message: expect.stringContaining('processing') } })
  })
})

describe('400 task_failed', () => {
  test('has the error of the task', async () => {
    const id = await create()
    await endTask(gateway.database.postgres, id, {
      kind: 'failed',
      code: 'upstream_error',
      message: 'It broke.',
    })
    const answer = await read(id)
    expectProblem(answer, 'task_failed')
    expect(answer.body).toMatchObject({
      error: { message: 'This task has failed (upstream_error): It broke.' },
    })
  })
})

describe('400 invalid_parameter', () => {
  test.each(['?variant=poster', '?variant=video&variant=thumbnail'])('%s', async (search) => {
    const { id } = await complete()
    expectProblem(await read(id, {}, search), 'invalid_parameter', 'variant')
  })
})

describe('404 task_not_found', () => {
  test('an unknown id and a task of another account', async () => {
    const { postgres } = gateway.database
    const stranger = await createKey(postgres, await createAccount(postgres))
    const { id } = await complete()
    expectProblem(await ask(urlOf(id), stranger.text), 'task_not_found')
    expectProblem(await read(createModelTaskId('vidB-2', Date.now())), 'task_not_found')
    expectProblem(await read('nonsense'), 'task_not_found')
  })
})

describe('404 variant_not_available', () => {
  test('for a file that has no video stream', async () => {
    const { id } = await complete()
    expectProblem(await read(id, {}, '?variant=thumbnail'), 'variant_not_available', 'variant')
    expectProblem(await read(id, {}, '?variant=spritesheet'), 'variant_not_available', 'variant')
  })

  test('without ffmpeg', async () => {
    await using without = await startGateway({ FFMPEG_PATH: '/nowhere/ffmpeg' }, gateway)
    const { id } = await complete({ bytes: sample })
    const answer = await ask(`${without.url}/v1/videos/${id}/content?variant=thumbnail`, key.text)
    expectProblem(answer, 'variant_not_available', 'variant')
  })
})

describe('503 service_unavailable', () => {
  test('a variant that is not ready in time can be requested again', async () => {
    const { video } = await complete({ bytes: sample })
    const stored = await findStoredFile(gateway.database.postgres, video.mediaId)
    if (stored === undefined) throw new Error('The video is not stored.')
    const directory = await mkdtemp(join(tmpdir(), 'kinora-programs-'))
    const ffmpeg = await blockingProgram(directory, 'ffmpeg', ['tile='])
    const makeVariant = createMakeVariant({
      database: gateway.database.postgres,
      mediaStore: gateway.mediaStore,
      programs: mediaPrograms({ FFMPEG_PATH: ffmpeg.path, ...withoutSandbox }),
      log: createLog({ level: 'silent' }, 'test'),
      timeoutMs: 50,
    })
    const call = {
      signal: AbortSignal.timeout(minutes(1)),
      mediaWork: async (work) => work(call.signal),
    } as Pick<Call, 'signal' | 'mediaWork'>
    await expect(makeVariant(stored, 'spritesheet', call)).rejects.toMatchObject({
      code: 'service_unavailable',
      headers: { 'retry-after': '10' },
    })
    await ffmpeg.close()
    await rm(directory, { recursive: true })
  })
})

describe('410 media_expired', () => {
  test('an expired video, in every form', async () => {
    const { id } = await complete({ bytes: sample, expiresAt: new Date(Date.now() - 1_000) })
    expectProblem(await read(id), 'media_expired')
    expectProblem(await read(id, asBytes), 'media_expired')
    expectProblem(await read(id, {}, '?variant=thumbnail'), 'media_expired')
  })

  test('a video whose file or record is missing', async () => {
    const { id, video } = await complete()
    await gateway.mediaStore.remove(video.storageKey)
    expectProblem(await read(id, asBytes), 'media_expired')
    const other = await complete()
    await gateway.database.postgres.query('delete from media where id = $1', [other.video.mediaId])
    expectProblem(await read(other.id, asBytes), 'media_expired')
    expectProblem(await read(other.id), 'media_expired')
  })
})

describe('416', () => {
  test('a range beyond the end', async () => {
    const { id } = await complete()
    const answer = await read(id, { ...asBytes, range: 'bytes=1000-' })
    expectProblem(answer, 'range_not_satisfiable')
    expect(answer.headers.get('content-range')).toBe('bytes */1000')
  })
})

describe('200, status_update_time', () => {
  test('status_update_time is an integer of seconds', async () => {
    const { id } = await complete()
    expect(Number.isInteger((await read(id)).body['status_update_time'])).toBe(true)
  })
})

describe('a file that is shorter than recorded', () => {
  test('ends the connection, so that the client does not wait for the rest', async () => {
    const { id, video } = await complete()
    await putBytes(gateway.mediaStore, video.storageKey, video.bytes.subarray(0, 1))
    // A bucket tells before the response begins.
    for (const headers of [{}, { range: 'bytes=0-99' }]) {
      const outcome = await open(id, { ...asBytes, ...headers }).then(
        ({ status }) => status,
        (error: Error) => error.message,
      )
      expect(['terminated', 500]).toContain(outcome)
    }
    expect((await open(id, { ...asBytes, range: 'bytes=500-' })).status).toBe(500)
  })
})
