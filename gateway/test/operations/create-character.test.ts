import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { insertCharacter } from '../../src/characters/character-store.ts'
import { uuidV7 } from '../../src/platform/ids/uuid.ts'
import type { StoredFile } from '../../src/storage/stored-file-store.ts'
import { ask, askJson, expectProblem, form, pixel, pixelBytes } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, endTask, type TestKey } from '../kit/factories.ts'
import { serveFiles, type FileServer } from '../kit/file-server.ts'
import { makeVideo, probe } from '../kit/sample-video.ts'
import { recordOf, startGateway, startProxy, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let files: FileServer
let accountId: string
let key: TestKey
let video: Buffer
let directory: string

const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
const create = async (changes: Record<string, unknown> = {}) =>
  String((await askJson(`${gateway.url}/v1/videos`, key.text, { ...order, ...changes })).body['id'])
const completed = async (changes: Record<string, unknown> = {}, bytes = video) => {
  const id = await create(changes)
  await completeTask(gateway, accountId, id, { bytes })
  return id
}
const make = (body: unknown, text = key.text, url = gateway.url) =>
  askJson(`${url}/vidB/v1/characters`, text, body)
const countOf = async (account = accountId) => {
  const { rows } = await gateway.database.postgres.query<{ count: number }>(
    'select count(*) from characters where account_id = $1',
    [account],
  )
  return rows[0]?.count
}
const probeClip = async (username: unknown) => {
  const { rows } = await gateway.database.postgres.query<{ storageKey: string }>(
    `select m.storage_key as "storageKey" from characters c join media m on m.id = c.clip_media_id where c.username = $1`,
    [username],
  )
  return gateway.mediaStore.withLocalPath(rows[0]?.storageKey ?? '', probe)
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-samples-'))
  video = await makeVideo(directory)
  files = await serveFiles({
    '/five.mp4': video,
    '/five.mp4?again': video,
    '/late.mp4': video,
    '/short.mp4': await makeVideo(directory, { seconds: 0.5 }),
    '/tall.mp4': await makeVideo(directory, { seconds: 2, size: '270x480' }),
    '/image.mp4': pixelBytes,
    '/text.mp4': Buffer.from('this is not a video '.repeat(1_000)),
    '/cut.mp4': video.subarray(0, 5_000),
    '/empty.mp4': Buffer.alloc(0),
  })
  gateway = await startGateway({ FETCH_ALLOW_ORIGINS: files.url })
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await files[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})

describe('200', () => {
  test('from a URL: four fields, a square portrait and a clip of three seconds', async () => {
    const { status, body } = await make({ url: `${files.url}/five.mp4` })
    expect(status).toBe(200)
    expect(body).toEqual({
      id: expect.stringMatching(/^char_[0-9a-f-]{36}$/),
      username: expect.stringMatching(/^[a-z0-9_.]{3,32}$/),
      permalink: expect.stringMatching(/\/characters\/[a-z0-9_.]+$/),
      profile_picture_url: expect.stringMatching(/\/media\/[0-9a-f-]{36}\/portrait\.jpg\?/),
    })
    const { pathname, search } = new URL(String(body['profile_picture_url']))
    const image = await fetch(`${gateway.url}${pathname}${search}`)
    expect(image.headers.get('content-type')).toBe('image/jpeg')
    const file = join(directory, 'portrait.jpg')
    await writeFile(file, Buffer.from(await image.arrayBuffer()))
    expect(await probe(file)).toMatchObject({ codec: 'mjpeg', width: 256, height: 256 })
    const clip = await probeClip(body['username'])
    expect(clip).toMatchObject({ codec: 'h264', width: 320, height: 180 })
    expect(clip.seconds).toBeCloseTo(3, 1)
  })

  test('the account has an event when a character is created, and when it is deleted', async () => {
    const owner = await createAccount(gateway.database.postgres)
    const { text } = await createKey(gateway.database.postgres, owner)
    const { body } = await make({ url: `${files.url}/five.mp4` }, text)
    await make({ url: `${files.url}/five.mp4` }, text)
    const { id } = body
    await ask(`${gateway.url}/vidB/v1/characters/${String(id)}`, text, { method: 'DELETE' })
    const { rows } = await gateway.database.postgres.query(
      'select type, object_id, data from account_events where account_id = $1 order by position, number',
      [owner],
    )
    expect(rows).toEqual([
      { type: 'character.created', object_id: id, data: { id, object: 'character' } },
      { type: 'character.deleted', object_id: id, data: { id, object: 'character', deleted: true } },
    ])
  })

  test('the same request returns the same character without a download; another span makes another one', async () => {
    const url = `${files.url}/five.mp4?again`
    const first = await make({ url, timestamps: '1,2.5' })
    const second = await make({ url, timestamps: ' 1.0 , 2.5', model: 'vidB-2' })
    expect(second.body).toMatchObject({ id: first.body['id'], username: first.body['username'] })
    expect(second.headers.get('x-ignored-params')).toBe('model')
    expect(files.asked.filter((path) => path === '/five.mp4?again')).toHaveLength(1)
    expect((await probeClip(first.body['username'])).seconds).toBeCloseTo(1.5, 1)
    const third = await make({ url, timestamps: '2,4' })
    expect(third.body['id']).not.toBe(first.body['id'])
    const stranger = await createKey(
      gateway.database.postgres,
      await createAccount(gateway.database.postgres),
    )
    const other = await make({ url, timestamps: '1,2.5' }, stranger.text)
    expect(other.body['id']).not.toBe(first.body['id'])
  })

  test('concurrent equal requests make one character', async () => {
    const before = await countOf()
    const answers = await Promise.all(Array.from({ length: 8 }, () => make({ url: `${files.url}/tall.mp4` })))
    expect(new Set(answers.map(({ body }) => body['id'])).size).toBe(1)
    expect(await countOf()).toBe(Number(before) + 1)
    expect((await probeClip(answers[0]?.body['username'])).seconds).toBeCloseTo(2, 1)
  })

  test('of two processes that make the same character, the second one leaves no files behind', async () => {
    const { postgres } = gateway.database
    const insert = async () => {
      const id = uuidV7()
      const buildFile = (kind: StoredFile['kind']): StoredFile => ({
        ...{ id: uuidV7(), accountId, taskId: id, kind, storageKey: uuidV7(), contentType: 'video/mp4' },
        ...{ sizeBytes: 1, sha256: 'ab', width: 1, height: 1, durationMs: null, expiresAt: null },
      })
      const [clip, portrait] = [buildFile('clip'), buildFile('portrait')]
      const character = {
        ...{ id, accountId, username: `twin_${id.slice(-12)}`, source: 'twins', isPrivate: false },
        ...{ clipMediaId: clip.id, portraitMediaId: portrait.id, files: [clip, portrait] },
      }
      const isInserted = await postgres.transaction((database) => insertCharacter(database, character, null))
      const { rowCount } = await postgres.query('select from media where task_id = $1', [id])
      return { isInserted, files: rowCount }
    }
    expect(await insert()).toEqual({ isInserted: true, files: 2 })
    expect(await insert()).toEqual({ isInserted: false, files: 0 })
  })

  test('a request that looked for the character just before it was stored does not download it again', async () => {
    const ready = Promise.withResolvers<void>()
    await using slow = await serveFiles({ '/slow.mp4': video }, ready.promise)
    await using proxy = await startProxy(gateway.database.url)
    const environment = { FETCH_ALLOW_ORIGINS: slow.url, DATABASE_URL: proxy.url }
    await using proxied = await startGateway(environment, gateway)
    const request = () => make({ url: `${slow.url}/slow.mp4` }, key.text, proxied.url)
    const first = request()
    await expect.poll(() => slow.asked).toHaveLength(1)
    const held = proxy.holdReplyTo('@start')
    const second = request()
    const release = await held
    ready.resolve()
    const { status, body } = await first
    expect(status).toBe(200)
    release()
    expect((await second).body['id']).toBe(body['id'])
    expect(slow.asked).toHaveLength(1)
  })

  test('a task and the link to its video give the same character without a download', async () => {
    const id = await completed()
    const downloads = files.asked.length
    const { status, body } = await make({ from_task: id, timestamps: '0,2' })
    expect(status).toBe(200)
    const { body: task } = await ask(`${gateway.url}/v1/videos/${id}`, key.text)
    const linked = await make({ url: task['video_url'], timestamps: '0,2' })
    expect(linked.body).toMatchObject({ id: body['id'] })
    expect(files.asked).toHaveLength(downloads)
  })

  test('the page of a character from a private task needs its signed link', async () => {
    const id = await completed({ private: true })
    const { body } = await make({ from_task: id })
    const { pathname, search } = new URL(String(body['permalink']))
    expect(search).toContain('signature=')
    expect((await fetch(`${gateway.url}${pathname}${search}`)).status).toBe(200)
    expectProblem(await ask(`${gateway.url}${pathname}`, undefined), 'character_not_found')
    expectProblem(
      await ask(`${gateway.url}${pathname}${search.replace('signature=', 'signature=A')}`, undefined),
      'character_not_found',
    )
  })
})

describe('409', () => {
  test('conflict: the library is full; the characters that it has are still returned', async () => {
    await using small = await startGateway(
      { FETCH_ALLOW_ORIGINS: files.url, CHARACTERS_PER_ACCOUNT: '1' },
      gateway,
    )
    const owner = await createKey(gateway.database.postgres, await createAccount(gateway.database.postgres))
    const request = (timestamps: string, query = '') =>
      askJson(`${small.url}/vidB/v1/characters${query}`, owner.text, {
        url: `${files.url}/five.mp4`,
        timestamps,
      })
    const expectFull = (answer: Awaited<ReturnType<typeof request>>) => {
      expectProblem(answer, 'conflict')
      expect(answer.body).toMatchObject({
        error: { message: expect.stringMatching(/has 1 characters.*DELETE \/vidB\/v1\/characters/) },
      })
    }
    // Of two at the same time, the one that is stored later is refused, and leaves no file behind.
    const answers = await Promise.all([request('0,1'), request('1,2')])
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]))
    for (const answer of answers) if (answer.status === 409) expectFull(answer)
    const span = answers[0].status === 200 ? '0,1' : '1,2'
    expect((await request(span)).status).toBe(200)
    expectFull(await request('2,3'))
    expectFull(await request('2,3', '?dry_run=true'))
    const saved = answers.find(({ status }) => status === 200)?.body
    await ask(`${small.url}/vidB/v1/characters/${String(saved?.['id'])}`, owner.text, { method: 'DELETE' })
    expect((await request('2,3')).status).toBe(200)
  })
})

describe('400', () => {
  test('missing_parameter with neither, invalid_parameter with both', async () => {
    expectProblem(await make({}), 'missing_parameter', 'url')
    expectProblem(await make({ url: '', from_task: ' ' }), 'missing_parameter', 'url')
    expectProblem(await make({ url: 'http://a.b/c', from_task: 'x' }), 'invalid_parameter', 'from_task')
  })

  test.each(['0,0.5', '0,4', '3,1', '1', 'a,b', '-1,1'])(
    'invalid_parameter for timestamps %s',
    async (given) => {
      const downloads = files.asked.length
      expectProblem(
        await make({ url: `${files.url}/five.mp4`, timestamps: given }),
        'invalid_parameter',
        'timestamps',
      )
      expect(files.asked).toHaveLength(downloads)
    },
  )

  test('invalid_parameter for a span outside of the video', async () => {
    const body = { url: `${files.url}/five.mp4`, timestamps: '4,6' }
    expectProblem(await make(body), 'invalid_parameter', 'timestamps')
  })

  test.each(['/image.mp4', '/text.mp4', '/cut.mp4', '/empty.mp4', '/short.mp4', '/gone.mp4'])(
    'invalid_parameter for %s, and nothing is left behind',
    async (path) => {
      const before = await recordOf(gateway)
      expectProblem(await make({ url: `${files.url}${path}` }), 'invalid_parameter', 'url')
      expect(await recordOf(gateway)).toEqual(before)
    },
  )

  test.each([
    'ftp://example.com/a.mp4',
    'file:///etc/passwd',
    'nonsense',
    'http://127.0.0.1:1/a.mp4',
    'http://169.254.169.254/latest',
    'http://localhost/a.mp4',
  ])('invalid_parameter for %s', async (url) => {
    expectProblem(await make({ url }), 'invalid_parameter', 'url')
  })

  test('invalid_parameter for an altered media link', async () => {
    const { body } = await ask(`${gateway.url}/v1/videos/${await completed()}`, key.text)
    const url = String(body['video_url']).replace('signature=', 'signature=A')
    expectProblem(await make({ url }), 'invalid_parameter', 'url')
  })

  test('invalid_parameter for a task of family A and for a task whose file is not a video', async () => {
    const { body } = await ask(`${gateway.url}/v1/videos`, key.text, {
      method: 'POST',
      body: form({
        ...{ model: 'vidA_3_1', prompt: 'A whale', seconds: '4', size: '16x9', input_reference: pixel },
      }),
    })
    await completeTask(gateway, accountId, String(body['id']), { bytes: video })
    expectProblem(await make({ from_task: body['id'] }), 'invalid_parameter', 'from_task')
    const broken = await completed({}, Buffer.from('no video'))
    expectProblem(await make({ from_task: broken }), 'invalid_parameter', 'from_task')
  })

  test('task_not_completed and task_failed', async () => {
    const id = await create()
    expectProblem(await make({ from_task: id }), 'task_not_completed', 'from_task')
    const failed = await create()
    await endTask(gateway.database.postgres, failed, { kind: 'failed', code: 'upstream_error', message: '' })
    expectProblem(await make({ from_task: failed }), 'task_failed', 'from_task')
  })
})

describe('404', () => {
  test('task_not_found for a task that is unknown or of another account', async () => {
    const { postgres } = gateway.database
    const stranger = await createKey(postgres, await createAccount(postgres))
    expectProblem(await make({ from_task: await completed() }, stranger.text), 'task_not_found')
    expectProblem(await make({ from_task: 'nonsense' }), 'task_not_found')
  })
})

describe('410', () => {
  test('media_expired for a task whose video has expired', async () => {
    const id = await create()
    await completeTask(gateway, accountId, id, { bytes: video, expiresAt: new Date(Date.now() - 1_000) })
    expectProblem(await make({ from_task: id }), 'media_expired', 'from_task')
    const removed = await create()
    const { storageKey } = await completeTask(gateway, accountId, removed, { bytes: video })
    await gateway.mediaStore.remove(storageKey)
    expectProblem(await make({ from_task: removed }), 'media_expired', 'from_task')
  })
})

describe('503', () => {
  test('service_unavailable with Retry-After while it is being made; a repeated request returns it', async () => {
    await using impatient = await startGateway(
      { FETCH_ALLOW_ORIGINS: files.url, CHARACTER_WAIT_SECONDS: '0' },
      gateway,
    )
    const url = `${files.url}/late.mp4`
    const first = await make({ url }, key.text, impatient.url)
    expectProblem(first, 'service_unavailable')
    expect(first.headers.get('retry-after')).toBe('10')
    await expect.poll(async () => (await make({ url }, key.text, impatient.url)).status).toBe(200)
    expect(files.asked.filter((path) => path === '/late.mp4')).toHaveLength(1)
  })
})
