/** Existing characters: reading, renaming, deleting, their page, and orders that use them. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ask, askJson, expectProblem, form, pixelUri } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { makeVideo } from '../kit/sample-video.ts'
import { recordOf, startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let accountId: string
let key: TestKey
let stranger: TestKey
let taskId: string
let link: string
/** In order of creation. */
const made: { id: string; username: string }[] = []

const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
const create = (changes: Record<string, unknown> = {}, text = key.text) =>
  askJson(`${gateway.url}/v1/videos`, text, { ...order, ...changes })
const make = async (timestamps: string, text = key.text) => {
  const body = { url: link, timestamps }
  const answer = await askJson(`${gateway.url}/vidB/v1/characters`, text, body)
  return { id: String(answer.body['id']), username: String(answer.body['username']) }
}
const call = (method: string, id: string, text = key.text) =>
  ask(`${gateway.url}/vidB/v1/characters/${id}`, text, { method })
const rename = (id: string, username: unknown, text = key.text) =>
  ask(`${gateway.url}/vidB/v1/characters/${id}`, text, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username }),
  })
const list = (query: string, text = key.text) => ask(`${gateway.url}/vidB/v1/characters${query}`, text)
const orderOf = async (id: unknown) => {
  const { rows } = await gateway.database.postgres.query<{ order: Record<string, unknown> }>(
    'select video_order as "order" from video_tasks where id = $1',
    [id],
  )
  return rows[0]?.order
}
const namedBy = async (prompt: string, text = key.text) => {
  const { body } = await create({ prompt }, text)
  const { characters = [] } = (await orderOf(body['id'])) as { characters?: { username: string }[] }
  return characters.map(({ username }) => username)
}

beforeAll(async () => {
  gateway = await startGateway()
  const { postgres } = gateway.database
  accountId = await createAccount(postgres)
  key = await createKey(postgres, accountId)
  stranger = await createKey(postgres, await createAccount(postgres))
  const directory = await mkdtemp(join(tmpdir(), 'kinora-samples-'))
  const bytes = await makeVideo(directory)
  await rm(directory, { recursive: true })
  taskId = String((await create()).body['id'])
  await completeTask(gateway, accountId, taskId, { bytes })
  link = String((await ask(`${gateway.url}/v1/videos/${taskId}`, key.text)).body['video_url'])
  for (const timestamps of ['0,1', '1,2', '2,3', '3,4', '0,2']) made.push(await make(timestamps))
})
afterAll(() => gateway[Symbol.asyncDispose]())

const idsOf = (body: Record<string, unknown>) => (body['data'] as { id: string }[]).map(({ id }) => id)
const [anna, bob] = [() => made[0]!, () => made[1]!]

describe('reading', () => {
  test('one by its id', async () => {
    const { status, body } = await call('GET', anna().id)
    expect(status).toBe(200)
    expect(body).toEqual({
      ...anna(),
      permalink: expect.stringContaining(`/characters/${anna().username}`),
      profile_picture_url: expect.stringContaining('/portrait.jpg?'),
    })
  })

  test('a list, newest first, with pages without gaps', async () => {
    const newest = made.map(({ id }) => id).toReversed()
    const whole = await list('')
    expect(whole.body).toMatchObject({ object: 'list', has_more: false, last_id: newest.at(-1) })
    expect(idsOf(whole.body)).toEqual(newest)
    const first = await list('?limit=2')
    expect(idsOf(first.body)).toEqual(newest.slice(0, 2))
    expect(first.body).toMatchObject({ has_more: true, last_id: newest[1] })
    const second = await list(`?limit=2&after=${newest[1]}`)
    expect(idsOf(second.body)).toEqual(newest.slice(2, 4))
    const third = await list(`?limit=2&after=${newest[3]}`)
    expect(idsOf(third.body)).toEqual(newest.slice(4))
    expect(third.body).toMatchObject({ has_more: false })
    expect(idsOf((await list(`?order=asc&after=${made[0]?.id}`)).body)).toEqual(
      made.slice(1).map(({ id }) => id),
    )
    expect((await list('', stranger.text)).body).toEqual({
      ...{ object: 'list', data: [], has_more: false, last_id: null },
    })
  })

  test('invalid list parameters are invalid_parameter', async () => {
    expectProblem(await list('?limit=0'), 'invalid_parameter', 'limit')
    expectProblem(await list('?limit=101'), 'invalid_parameter', 'limit')
    expectProblem(await list('?order=up'), 'invalid_parameter', 'order')
    expectProblem(await list('?after=nobody'), 'invalid_parameter', 'after')
    expectProblem(await list(`?after=${anna().id}`, stranger.text), 'invalid_parameter', 'after')
  })

  test('404 character_not_found for an id that is unknown, malformed or of another account', async () => {
    // The last digit must differ from that of the existing id.
    const unknown = anna().id.slice(0, -1) + (anna().id.endsWith('0') ? '1' : '0')
    for (const method of ['GET', 'DELETE']) {
      expectProblem(await call(method, anna().id, stranger.text), 'character_not_found')
      expectProblem(await call(method, 'nonsense'), 'character_not_found')
      expectProblem(await call(method, unknown), 'character_not_found')
    }
    expectProblem(await rename(anna().id, 'mine', stranger.text), 'character_not_found')
    expectProblem(await rename('nonsense', 'mine'), 'character_not_found')
  })
})

describe('renaming', () => {
  test('changes the name', async () => {
    const { status, body } = await rename(anna().id, 'anna_1.x')
    expect(status).toBe(200)
    expect(body).toMatchObject({ id: anna().id, username: 'anna_1.x' })
    expect((await rename(anna().id, 'anna_1.x')).status).toBe(200)
    expect((await rename(anna().id, anna().username)).body).toMatchObject({ username: anna().username })
  })

  test('400 for a name that is in use, missing or malformed', async () => {
    expectProblem(await rename(anna().id, bob().username), 'invalid_parameter', 'username')
    expectProblem(await rename(anna().id, ''), 'missing_parameter', 'username')
    for (const name of ['ab', 'Anna', 'an na', 'änna', 'x'.repeat(33), '@anna', 7])
      expectProblem(await rename(anna().id, name), 'invalid_parameter', 'username')
  })

  test('of concurrent requests for the same name, one succeeds', async () => {
    const answers = await Promise.all(made.map(({ id }) => rename(id, 'the.one')))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    await Promise.all(made.map(({ id, username }) => rename(id, username)))
  })
})

describe('the page', () => {
  const open = async (path: string) => {
    const response = await fetch(`${gateway.url}${path}`)
    return { status: response.status, headers: response.headers, text: await response.text() }
  }

  test('shows name, portrait and clip, but no script and no owner', async () => {
    const { status, headers, text } = await open(`/characters/${anna().username}`)
    expect(status).toBe(200)
    expect(headers.get('content-type')).toMatch(/^text\/html/)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toContain(`default-src 'none'`)
    expect(policy).not.toContain('unsafe')
    expect(policy).not.toContain('script-src')
    expect(text).toContain(`<h1>@${anna().username}</h1>`)
    expect(text).not.toContain('<script')
    for (const secret of [accountId, key.id, taskId, anna().id.slice(5)]) expect(text).not.toContain(secret)
    const links = [...text.matchAll(/src="([^"]+)"/g)].map(([, url = '']) => url.replaceAll('&amp;', '&'))
    expect(links).toHaveLength(2)
    for (const url of links) {
      const { pathname, search } = new URL(url)
      const file = await fetch(`${gateway.url}${pathname}${search}`)
      expect(file.status).toBe(200)
      expect(file.headers.get('content-type')).toMatch(/^(video\/mp4|image\/jpeg)$/)
    }
  })

  test('404 for an unknown name', async () => {
    for (const name of ['nobody', 'Nobody', '%00', '%F0%9F%98%80', "';--"])
      expectProblem(await ask(`${gateway.url}/characters/${name}`, undefined), 'character_not_found')
  })
})

describe('an order that mentions characters', () => {
  test('finds characters of the account in order, each once', async () => {
    const [first, second] = [anna().username, bob().username]
    expect(await namedBy(`@${second} meets @${first} and @${second}.`)).toEqual([second, first])
    expect(await namedBy(`(@${first.toUpperCase()})`)).toEqual([first])
  })

  test('ignores all other mentions', async () => {
    expect(await namedBy(`@nobody.here mails x@${anna().username}`)).toEqual([])
    expect(await namedBy(`@${anna().username}`, stranger.text)).toEqual([])
  })

  test('uses at most four', async () => {
    const all = made.map(({ username }) => username)
    expect(await namedBy(all.map((name) => `@${name}`).join(' '))).toEqual(all.slice(0, 4))
  })

  test('works at every endpoint', async () => {
    const { username } = anna()
    const task = await askJson(`${gateway.url}/v1/video/create`, key.text, {
      ...{ model: 'vidB-2', prompt: `@${username} swims`, images: [link] },
    })
    // The link leads to a video, which is not an image.
    expectProblem(task, 'invalid_image', 'images[0]')
    const image = (await call('GET', anna().id)).body['profile_picture_url']
    const created = await askJson(`${gateway.url}/v1/video/create`, key.text, {
      ...{ model: 'vidB-2', prompt: `@${username} swims`, images: [image] },
    })
    expect(await orderOf(created.body['id'])).toMatchObject({ characters: [{ username }] })
    const remix = await askJson(`${gateway.url}/v1/videos/${taskId}/remix`, key.text, {
      prompt: `with @${username}`,
    })
    expect(await orderOf(remix.body['id'])).toMatchObject({ characters: [{ username }] })
  })
})

describe('an order with a new character', () => {
  const charactersOf = async (id: unknown) => {
    const { rows } = await gateway.database.postgres.query<{ id: string; taskId: string | null }>(
      `select c.id, c.task_id as "taskId" from characters c
         join video_tasks t on t.video_order->'characters' @> jsonb_build_array(jsonb_build_object('id', c.id))
        where t.id = $1`,
      [id],
    )
    return rows
  }

  test('for one video: it is in no list and is removed with the task', async () => {
    const before = await recordOf(gateway)
    const { status, body } = await create({ character_url: link, character_timestamps: '1.5,3' })
    expect(status).toBe(200)
    expect(await charactersOf(body['id'])).toEqual([{ id: expect.any(String), taskId: body['id'] }])
    expect(((await list('')).body['data'] as unknown[]).length).toBe(made.length)
    await ask(`${gateway.url}/v1/videos/${String(body['id'])}/cancel`, key.text, { method: 'POST' })
    expect(await charactersOf(body['id'])).toEqual([])
    const after = await recordOf(gateway)
    expect(after.files).toEqual(before.files)
    expect(after).toMatchObject({ characters: (before as Record<string, unknown>)['characters'] })
  })

  test('is also accepted by POST /v1/video/create, with its own parameter names in errors', async () => {
    const orderTask = (changes: Record<string, unknown>) =>
      askJson(`${gateway.url}/v1/video/create`, key.text, {
        ...{ model: 'vidB-2', prompt: 'A whale', images: [pixelUri], ...changes },
      })
    const { status, body } = await orderTask({ character_url: link, character_timestamps: '1,3' })
    expect(status).toBe(200)
    expect(await charactersOf(body['id'])).toEqual([{ id: expect.any(String), taskId: body['id'] }])
    expectProblem(await orderTask({ character_url: 'nonsense' }), 'invalid_parameter', 'character_url')
    for (const character_timestamps of ['0,0.9', '0,3.1', '4,6', 'a,b'])
      expectProblem(
        await orderTask({ character_url: link, character_timestamps }),
        'invalid_parameter',
        'character_timestamps',
      )
  })

  test.each([
    ['an object', { save_to_library: true }],
    ['JSON text', '{"create_self_portrait":true,"save_to_library":true}'],
    ['one boolean', true],
    ['one boolean as text', 'TRUE'],
  ])('is saved to the library by %s', async (_, given) => {
    const { body } = await create({
      ...{ character_from_task: taskId, character_timestamps: '0,1', character_create: given },
    })
    expect(await charactersOf(body['id'])).toEqual([{ id: anna().id.slice(5), taskId: null }])
  })

  test('is saved to the library by fields in brackets', async () => {
    const { body } = await ask(`${gateway.url}/v1/videos`, key.text, {
      method: 'POST',
      body: form({
        ...{ model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '480x480' },
        ...{ character_from_task: taskId, character_timestamps: '0,1' },
        'character_create[save_to_library]': 'true',
        'character_create[create_self_portrait]': 'false',
      }),
    })
    expect(await charactersOf(body['id'])).toEqual([{ id: anna().id.slice(5), taskId: null }])
  })

  test('lists character_create as ignored if there is no source video', async () => {
    const answer = await create({ character_create: { save_to_library: true } })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-ignored-params')).toBe('character_create')
  })

  test('400 names the parameter and leaves nothing behind', async () => {
    const before = await recordOf(gateway)
    const cases: [Record<string, unknown>, string][] = [
      [{ character_url: link, character_from_task: taskId }, 'character_from_task'],
      [{ character_timestamps: '0,2' }, 'character_timestamps'],
      [{ character_url: link, character_timestamps: '0,9' }, 'character_timestamps'],
      [{ character_url: link, character_timestamps: '4,6' }, 'character_timestamps'],
      [{ character_url: 'nonsense' }, 'character_url'],
      [{ character_url: link, character_create: 'perhaps' }, 'character_create'],
      [{ character_url: link, character_create: '{' }, 'character_create'],
      [{ character_url: link, character_create: [true] }, 'character_create'],
      [{ character_url: link, character_create: { save_to_library: 'x' } }, 'character_create'],
    ]
    for (const [changes, param] of cases) {
      expectProblem(await create(changes), 'invalid_parameter', param)
    }
    expectProblem(await create({ character_from_task: 'nonsense' }), 'task_not_found')
    expect(await recordOf(gateway)).toEqual(before)
  })

  test('402 removes the files of the character', async () => {
    const { postgres } = gateway.database
    const poor = await createKey(postgres, await createAccount(postgres, { balance: 0 }))
    const before = await recordOf(gateway)
    expectProblem(await create({ character_url: link }, poor.text), 'insufficient_balance')
    expect(await recordOf(gateway)).toEqual(before)
  })
})

describe('deleting', () => {
  test('removes the character, its files and its page; its name is no longer a mention', async () => {
    const { id, username } = await make('2.5,4')
    const before = (await recordOf(gateway)).files.length
    const { status, body } = await call('DELETE', id)
    expect(status).toBe(200)
    expect(body).toEqual({ id, object: 'character.deleted', deleted: true })
    expect((await recordOf(gateway)).files).toHaveLength(before - 2)
    expectProblem(await call('GET', id), 'character_not_found')
    expectProblem(await call('DELETE', id), 'character_not_found')
    expectProblem(await ask(`${gateway.url}/characters/${username}`, undefined), 'character_not_found')
    expect(await namedBy(`@${username}`)).toEqual([])
  })

  test('a list can continue after a deleted character', async () => {
    const { id } = await make('1.5,4')
    const later = await make('1.4,4')
    const older = idsOf((await list(`?after=${id}`)).body)
    await call('DELETE', id)
    expect(idsOf((await list(`?after=${id}`)).body)).toEqual(older)
    expect(idsOf((await list(`?order=asc&after=${id}`)).body)).toEqual([later.id])
    expectProblem(await list(`?after=${id}`, stranger.text), 'invalid_parameter', 'after')
  })
})
