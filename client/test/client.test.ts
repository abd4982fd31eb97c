/** The client against a real gateway, through connections that break. */
import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test, onTestFinished } from 'vitest'

import { pixelBytes } from '../../gateway/test/kit/answers.ts'
import { completeTask, createAccount, createKey } from '../../gateway/test/kit/factories.ts'
import { brokenInvariants } from '../../gateway/test/kit/ledger.ts'
import { startGateway, type TestGateway } from '../../gateway/test/kit/start-gateway.ts'
import { startTaskLife, type TaskLife } from '../../gateway/test/kit/task-life.ts'
import { KinoraAdmin } from '../src/admin.ts'
import { Kinora, type CreateVideoParams, type VideoProgress } from '../src/index.ts'
import { startCuttingProxy, type Fate } from './cutting-proxy.ts'

/** `npm run prove:clients` sends 1,000. */
const lostCreates = Number(process.env['CLIENT_CREATES'] ?? '60')
const cutsMin = 20

let gateway: TestGateway
let life: TaskLife

beforeAll(async () => {
  gateway = await startGateway()
  life = startTaskLife(gateway)
})
afterAll(async () => {
  life.close()
  await gateway[Symbol.asyncDispose]()
})

const order: CreateVideoParams = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '1280x720' }

/** A new customer, so that its tasks can be counted. */
const customer = async (baseUrl = gateway.url) => {
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres, { balance: 100_000 })
  const { text } = await createKey(postgres, accountId)
  const countTasks = async (): Promise<{ tasks: number; holds: number }> => {
    const { rows } = await postgres.query<{ tasks: number; holds: number }>(
      `select (select count(*)::integer from video_tasks where account_id = $1) as tasks,
              (select count(*)::integer from ledger_entries
               where account_id = $1 and movement = 'hold' and amount_micros > 0) as holds`,
      [accountId],
    )
    return rows[0] ?? { tasks: 0, holds: 0 }
  }
  return { accountId, countTasks, kinora: new Kinora({ baseUrl, apiKey: text }) }
}

describe('a video', () => {
  test(`one run is one task, one charge and a finished file, although its connections break ${cutsMin} times`, async () => {
    let cuts = 0
    let id: string | undefined
    const decide = (requestLine: string): Fate => {
      const isCreate = requestLine.startsWith('POST')
      if (cuts >= cutsMin || (isCreate && cuts === 2)) return 'pass'
      cuts += 1
      return isCreate || cuts % 3 === 0 ? 'lose' : 'cut'
    }
    await using proxy = await startCuttingProxy(gateway.url, decide)
    const { accountId, kinora, countTasks } = await customer(proxy.url)
    const progress: VideoProgress[] = []
    let isCompleted = false
    let percent = 0
    // Without changes, a long poll would wait for its whole time.
    const advance = () => {
      if (id === undefined || isCompleted) return
      percent = Math.min(99, percent + 1)
      void life.progress(id, percent)
    }
    const advancing = setInterval(advance, 500)
    onTestFinished(() => clearInterval(advancing))
    const video = await kinora.videos.run({
      ...order,
      onProgress: (state) => {
        progress.push(state)
        if (id === undefined) {
          id = state.id
          void life.begin(id)
        } else if (cuts >= cutsMin && !isCompleted) {
          isCompleted = true
          void life.complete(id, accountId)
        }
      },
    })
    expect(cuts).toBe(cutsMin)
    expect(video).toMatchObject({ id, status: 'completed', url: expect.stringContaining('/media/') })
    expect(progress[0]).toMatchObject({ status: 'pending' })
    expect(await countTasks()).toEqual({ tasks: 1, holds: 1 })
    expect(JSON.parse(JSON.stringify(video))).not.toHaveProperty('url')
    // Each break is followed by a pause of the client.
  }, 180_000)

  test(`${lostCreates} creates whose first response is lost are charged once each`, async () => {
    const seen = new Set<string>()
    let lost = 0
    await using proxy = await startCuttingProxy(gateway.url, (_line, part) => {
      // The response to a repetition says so.
      if (/idempotent-replayed: true/i.test(part.toString('latin1'))) return 'pass'
      lost += 1
      return 'lose'
    })
    const { kinora, countTasks } = await customer(proxy.url)
    const create = async () => {
      const { id } = await kinora.videos.create(order)
      seen.add(id)
    }
    for (let sent = 0; sent < lostCreates; sent += 20)
      await Promise.all(Array.from({ length: Math.min(20, lostCreates - sent) }, create))
    expect(lost).toBe(lostCreates)
    expect(seen.size).toBe(lostCreates)
    expect(await countTasks()).toEqual({ tasks: lostCreates, holds: lostCreates })
    expect(await brokenInvariants(gateway.database.postgres)).toEqual([])
  })

  test('a video that fails is an error with the code and the task', async () => {
    const { kinora } = await customer()
    const { id } = await kinora.videos.create(order)
    const watched = kinora.videos.watch(id)
    await life.fail(id, 'content_policy_violation', 'Not that.')
    await expect(watched).rejects.toMatchObject({
      ...{ name: 'KinoraError', code: 'content_policy_violation', message: 'Not that.', taskId: id },
    })
  })

  test('a signal stops following, and the task goes on', async () => {
    const { kinora } = await customer()
    const stop = new AbortController()
    const reason = new Error('enough')
    let id = ''
    const run = kinora.videos.run({
      ...order,
      signal: stop.signal,
      onProgress: (video) => {
        id = video.id
        stop.abort(reason)
      },
    })
    await expect(run).rejects.toBe(reason)
    expect(await kinora.videos.get(id)).toMatchObject({ status: 'pending' })
  })

  test('a stream that does not come through is replaced by long polling', async () => {
    let streams = 0
    await using proxy = await startCuttingProxy(gateway.url, (requestLine) => {
      if (!requestLine.endsWith('/events')) return 'pass'
      streams += 1
      return 'lose'
    })
    const { accountId, kinora } = await customer(proxy.url)
    const { id } = await kinora.videos.create(order)
    const states: string[] = []
    const watched = kinora.videos.watch(id, { onProgress: ({ status }) => void states.push(status) })
    await life.begin(id)
    await expect.poll(() => states).toContain('processing')
    await life.complete(id, accountId)
    expect(await watched).toMatchObject({ status: 'completed' })
    expect(streams).toBe(3)
  })

  test('its events are an iterator that resumes', async () => {
    let cuts = 0
    await using proxy = await startCuttingProxy(gateway.url, (requestLine, part) => {
      if (!requestLine.endsWith('/events') || !part.includes('event: ') || cuts === 3) return 'pass'
      cuts += 1
      return 'cut'
    })
    const { accountId, kinora } = await customer(proxy.url)
    const { id } = await kinora.videos.create(order)
    const seen: [string, number][] = []
    const events = kinora.videos.events(id)
    for await (const { status, progress } of events) {
      seen.push([status, progress])
      if (seen.length === 1) await life.begin(id)
      if (seen.length === 2) await life.progress(id, 40)
      if (seen.length === 3) await life.complete(id, accountId)
    }
    expect(seen).toEqual([
      ['pending', 0],
      ['processing', 0],
      ['processing', 40],
      ['completed', 100],
    ])
    expect(events.lastEventId).toBe('4')
  })
})

describe('files', () => {
  test('a download that breaks continues where it was', async () => {
    let cuts = 0
    const ranges: string[] = []
    await using proxy = await startCuttingProxy(gateway.url, (requestLine, part) => {
      const range = /^content-range: (.*)\r$/im.exec(part.toString('latin1'))?.[1]
      if (range !== undefined) ranges.push(range)
      if (!requestLine.includes('/content') || part.length < 10_000 || cuts === 3) return 'pass'
      cuts += 1
      return 'cut'
    })
    const { accountId, kinora } = await customer(proxy.url)
    const { id } = await kinora.videos.create(order)
    const bytes = randomBytes(2_000_000)
    await completeTask(gateway, accountId, id, { bytes })
    const path = join(gateway.directory, 'saved.mp4')
    const video = await kinora.videos.watch(id)
    await video.save(path)
    expect(bytes.equals(await readFile(path))).toBe(true)
    expect(cuts).toBe(3)
    expect(ranges).toHaveLength(3)
    const file = await kinora.videos.content(id)
    expect(file).toMatchObject({ contentType: 'video/mp4', sizeBytes: 2_000_000 })
    expect(bytes.equals(await file.bytes())).toBe(true)
  })

  test('an image is uploaded from bytes, a Blob, a path and a stream', async () => {
    const { kinora } = await customer()
    const path = join(gateway.directory, 'pixel.png')
    await writeFile(path, pixelBytes)
    const uploads = [
      new Uint8Array(pixelBytes),
      new Blob([new Uint8Array(pixelBytes)]),
      { path },
      createReadStream(path),
      new Blob([new Uint8Array(pixelBytes)]).stream(),
    ]
    for (const input_reference of uploads) {
      const quote = await kinora.videos.create({ ...order, input_reference, dry_run: true })
      expect(quote).toMatchObject({ object: 'quote', fits: true })
    }
    const notAnImage = new Blob(['not an image'])
    await expect(kinora.videos.create({ ...order, input_reference: notAnImage })).rejects.toMatchObject({
      code: 'invalid_image',
    })
  })
})

test('a list is a page, or an iterator over all pages', async () => {
  const { kinora } = await customer()
  const ids: string[] = []
  for (const team of ['red', 'red', 'blue', 'red'])
    ids.unshift((await kinora.videos.create({ ...order, metadata: { team } })).id)
  const page = await kinora.videos.list({ limit: 3 })
  expect(page).toMatchObject({ object: 'list', has_more: true })
  const listed: string[] = []
  for await (const { id } of kinora.videos.list({ limit: 3 })) listed.push(id)
  expect(listed).toEqual(ids)
  const red: string[] = []
  for await (const { id } of kinora.videos.list({ limit: 1, metadata: { team: 'red' } })) red.push(id)
  expect(red).toHaveLength(3)
})

test('the event feed is followed through lost connections', async () => {
  let cuts = 0
  await using proxy = await startCuttingProxy(gateway.url, (requestLine, part) => {
    if (!requestLine.startsWith('GET /v1/events') || !part.includes('event: ') || cuts === 2) return 'pass'
    cuts += 1
    return 'cut'
  })
  const { kinora } = await customer(proxy.url)
  const { next } = await kinora.events.list({ limit: 1 })
  const { id } = await kinora.videos.create(order)
  await life.begin(id)
  const types: string[] = []
  for await (const { type } of kinora.events.list({ stream: true, after: next })) {
    types.push(type)
    if (types.length === 1) await life.progress(id, 50)
    if (types.length === 2) await life.fail(id)
    if (types.length === 3) break
  }
  expect(types).toEqual(['video.processing', 'video.progress', 'video.failed'])
})

test('an error has its code, parameter, hint and request id', async () => {
  const { kinora } = await customer()
  const seconds = 11 as 4
  await expect(kinora.videos.create({ ...order, seconds })).rejects.toMatchObject({
    ...{ name: 'KinoraError', status: 400, code: 'invalid_parameter', param: 'seconds' },
    ...{ hint: expect.any(String), requestId: expect.stringMatching(/^req_/) },
  })
})

test('operators use the admin API', async () => {
  const { postgres } = gateway.database
  const { text } = await createKey(postgres, '', { kind: 'admin' })
  const admin = new KinoraAdmin({ baseUrl: gateway.adminUrl, apiKey: text })
  const account = await admin.accounts.create({ name: 'Studio' })
  await admin.accounts.topUp(account.id, { amount_micros: 5_000_000, reason: 'Invoice 1' })
  const { secret } = await admin.keys.create(account.id, { name: 'main', kind: 'payg' })
  const kinora = new Kinora({ baseUrl: gateway.url, apiKey: secret })
  expect(await kinora.me.get()).toMatchObject({ balance: { available_micros: 5_000_000 } })
})
