/** Media programs of the API process: no account keeps another one waiting, and nothing runs for a client that left. */
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { askJson, expectProblem, pixelBytes, type Answer } from '../kit/answers.ts'
import { askAlone } from '../kit/ask-alone.ts'
import { blockingProgram, withoutSandbox, type BlockingProgram } from '../kit/blocking-program.ts'
import { serveDns } from '../kit/dns-server.ts'
import { completeTask, createAccount, createKey } from '../kit/factories.ts'
import { makeVideo } from '../kit/sample-video.ts'
import { audioForm, encoded, wave } from '../kit/sound.ts'
import { recordOf, startGateway } from '../kit/start-gateway.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'

interface Customer {
  accountId: string
  key: string
}

const limits = {
  MEDIA_WORK_CONCURRENCY: '2',
  MEDIA_WORK_CONCURRENCY_PER_ACCOUNT: '1',
  LIMIT_MEDIA_WORK: 'account=3',
}
const samplesDirectory = mkdtemp(join(tmpdir(), 'kinora-samples-'))

let samples: string
let directory: string
let ffprobe: BlockingProgram
let ffmpeg: BlockingProgram
let gateway: VendorGateway
let videos: Server
let videosUrl: string
/** Requests for a video that never ends, and how many of them are and were open at once. */
let endless: { asked: number; open: number; openMost: number }
let video: Buffer
/** Measuring the first two blocks; the third is measured at once. */
let flac: Buffer
let mp3: Buffer
let ogg: Buffer
let a: Customer
let b: Customer

beforeAll(async () => {
  samples = await samplesDirectory
  const sound = wave(2)
  flac = await encoded(sound, 'out.flac')
  mp3 = await encoded(sound, 'out.mp3')
  ogg = await encoded(sound, 'out.ogg')
  video = await makeVideo(samples)
  videos = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'video/mp4' })
    if (request.url === '/pixel.png') return response.end(pixelBytes)
    if (request.url?.startsWith('/endless') !== true) return response.end(video)
    endless.asked += 1
    endless.open += 1
    endless.openMost = Math.max(endless.open, endless.openMost)
    // Fast enough not to be given up.
    const dripping = setInterval(() => response.write(Buffer.alloc(32_768)), 100)
    response.on('close', () => {
      clearInterval(dripping)
      endless.open -= 1
    })
    return response.flushHeaders()
  })
  await new Promise<void>((resolve) => {
    videos.listen(0, '127.0.0.1', resolve)
  })
  videosUrl = `http://127.0.0.1:${(videos.address() as AddressInfo).port}`
})
afterAll(async () => {
  videos.closeAllConnections()
  videos.close()
  await rm(samples, { recursive: true })
})

const customer = async (balance?: number): Promise<Customer> => {
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres, balance === undefined ? {} : { balance })
  return { accountId, key: (await createKey(postgres, accountId)).text }
}

const start = async (given: Record<string, string> = {}) => {
  gateway = await startVendorGateway({
    FFPROBE_PATH: ffprobe.path,
    FFMPEG_PATH: ffmpeg.path,
    ...withoutSandbox,
    FETCH_ALLOW_ORIGINS: videosUrl,
    ...limits,
    ...given,
  })
  a = await customer()
  b = await customer()
}

beforeEach(async () => {
  endless = { asked: 0, open: 0, openMost: 0 }
  directory = await mkdtemp(join(tmpdir(), 'kinora-programs-'))
  ffprobe = await blockingProgram(directory, 'ffprobe', ['_whitelist flac', '_whitelist mp3'])
  // The portrait of a clip from second 1 to second 3, and every sheet of frames.
  ffmpeg = await blockingProgram(directory, 'ffmpeg', ['-ss 2 ', 'tile='])
})
afterEach(async () => {
  // What a failed test has left blocked would keep the gateway from closing.
  await ffprobe.release()
  await ffmpeg.release()
  await gateway[Symbol.asyncDispose]()
  await ffprobe.close()
  await ffmpeg.close()
  await rm(directory, { recursive: true })
})

const transcribe = (who: Customer, sound: Buffer, init: RequestInit = {}, path = 'transcriptions') =>
  askAlone(`${gateway.url}/v1/audio/${path}`, who.key, {
    method: 'POST',
    body: audioForm(sound, { model: 'asr-1' }),
    ...init,
  })
const character = (who: Customer, body: Record<string, unknown>, init: RequestInit = {}) =>
  askAlone(`${gateway.url}/vidB/v1/characters`, who.key, {
    method: 'POST',
    body: JSON.stringify(body),
    ...init,
    headers: { 'content-type': 'application/json', ...(init.headers as Record<string, string>) },
  })
const completedTask = async (who: Customer) => {
  const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
  const { body } = await askJson(`${gateway.url}/v1/videos`, who.key, order)
  await completeTask(gateway, who.accountId, String(body['id']), { bytes: video })
  return String(body['id'])
}
const variant = (who: Customer, taskId: string, name: string, init: RequestInit = {}) =>
  askAlone(`${gateway.url}/v1/videos/${taskId}/content?variant=${name}`, who.key, init)

/** Waits as long as a test may, whatever else the machine does. */
const eventually = <Value>(read: () => Value | Promise<Value>) => expect.poll(read)

/** Requests that a client may leave all at once; leaving is no failure of the test. */
const openRequests = () => {
  const leaving = new AbortController()
  const sent: Promise<Answer | undefined>[] = []
  return {
    sent,
    signal: leaving.signal,
    send: (request: Promise<Answer>) => {
      sent.push(request.catch(() => undefined))
    },
    leave: async () => {
      leaving.abort()
      await Promise.all(sent)
    },
  }
}
const refusalsAmong = (answers: Promise<Answer | undefined>[], count: number) =>
  new Promise<Answer[]>((resolve, reject) => {
    const refused: Answer[] = []
    for (const each of answers) {
      each.then((answer) => {
        if (answer === undefined) return
        if (answer.status < 400) reject(new Error(`answered ${answer.status}`))
        refused.push(answer)
        if (refused.length === count) resolve(refused)
      }, reject)
    }
  })
const expectBusy = (answer: Answer | undefined, code: 'rate_limit_exceeded' | 'service_unavailable') => {
  if (answer === undefined) throw new Error('there was no answer')
  expectProblem(answer, code)
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
}

describe('an account at its limit', () => {
  test('delays no other account, is refused above its limit, and leaves no files', async () => {
    await start()
    const ofA = openRequests()
    for (let sent = 0; sent < 5; sent += 1) ofA.send(transcribe(a, flac, { signal: ofA.signal }))
    // The limit is three, so two are refused and the other three run or wait.
    for (const refused of await refusalsAmong(ofA.sent, 2)) expectBusy(refused, 'rate_limit_exceeded')
    await ffprobe.untilStarted(1)
    expect(await ffprobe.alive()).toHaveLength(1)

    expect((await transcribe(b, ogg)).status).toBe(200)
    expect((await character(b, { url: `${videosUrl}/b.mp4` })).status).toBe(200)
    expect((await character(b, { from_task: await completedTask(b) })).status).toBe(200)
    expect((await transcribe(b, ogg, {}, 'transcription-tasks')).status).toBe(200)
    expect((await variant(b, await completedTask(b), 'thumbnail')).status).toBe(200)
    expectBusy(await transcribe(a, ogg), 'rate_limit_exceeded')

    await ofA.leave()
    await ffprobe.untilAllEnded()
    // Every place and every count is free again: as many as the limit may come at once.
    await eventually(async () => (await transcribe(a, ogg)).status).toBe(200)
    const again = await Promise.all([transcribe(a, ogg), transcribe(a, ogg), transcribe(a, ogg)])
    expect(again.map(({ status }) => status)).toEqual([200, 200, 200])
  })

  test('is counted across all kinds of media work', async () => {
    await start()
    const [cut, sheet] = [await completedTask(a), await completedTask(a)]
    const ofA = openRequests()
    const { signal } = ofA
    ofA.send(transcribe(a, flac, { signal }))
    await ffprobe.untilStarted(1)
    ofA.send(character(a, { from_task: cut, timestamps: '1,3' }, { signal }))
    ofA.send(variant(a, sheet, 'spritesheet', { signal }))
    ofA.send(transcribe(a, flac, { signal }, 'transcription-tasks'))
    const audio = { data: mp3.toString('base64'), format: 'mp3' }
    const content = [{ type: 'input_audio', input_audio: audio }]
    const chat = {
      model: 'chat-4o-audio-preview',
      modalities: ['text'],
      messages: [{ role: 'user', content }],
    }
    ofA.send(
      askAlone(`${gateway.url}/v1/chat/completions`, a.key, {
        method: 'POST',
        signal,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(chat),
      }),
    )
    for (const refused of await refusalsAmong(ofA.sent, 2)) expectBusy(refused, 'rate_limit_exceeded')
    expect([...(await ffprobe.alive()), ...(await ffmpeg.alive())]).toHaveLength(1)
    // A plain wave file is measured without a program, so there is nothing to wait for.
    expect((await transcribe(a, wave(1))).status).toBe(200)
    await ofA.leave()
    await ffprobe.untilAllEnded()
    await ffmpeg.untilAllEnded()
  })
})

describe('other limits', () => {
  test.each([
    ['key', 'rate_limit_exceeded'],
    ['address', 'rate_limit_exceeded'],
    ['total', 'service_unavailable'],
  ] as const)('beyond %s a request is refused with %s', async (name, code) => {
    await start({ LIMIT_MEDIA_WORK: `account=10,${name}=2` })
    const open = openRequests()
    for (let sent = 0; sent < 3; sent += 1) open.send(transcribe(a, flac, { signal: open.signal }))
    const [refused] = await refusalsAmong(open.sent, 1)
    expectBusy(refused, code)
    const other = await transcribe(b, ogg)
    if (name === 'key') expect(other.status).toBe(200)
    else expectBusy(other, code)
    await open.leave()
  })

  test('do not apply without admission control', async () => {
    await start({ ADMISSION_CONTROL: 'false', LIMIT_MEDIA_WORK: 'total=1' })
    const ofA = openRequests()
    for (let sent = 0; sent < 5; sent += 1) ofA.send(transcribe(a, flac, { signal: ofA.signal }))
    await ffprobe.untilStarted(2)
    const ofB = transcribe(b, ogg)
    expect(await ffprobe.alive()).toHaveLength(2)
    await ffprobe.release()
    expect((await ofB).status).toBe(200)
    expect((await Promise.all(ofA.sent)).map((answer) => answer?.status)).toEqual([200, 200, 200, 200, 200])
  })
})

describe('a client that disconnects', () => {
  test('gets its response later with the same Idempotency-Key', async () => {
    await start()
    const headers = { 'idempotency-key': 'again' }
    const leaving = new AbortController()
    const first = transcribe(a, flac, { headers, signal: leaving.signal }).catch(() => undefined)
    await ffprobe.untilStarted(1)
    leaving.abort()
    await first
    await ffprobe.release()
    const second = await transcribe(a, flac, { headers })
    expect(second.status).toBe(200)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
  })

  test('aborts a character that no other client waits for, and the next request creates it', async () => {
    await start()
    const id = await completedTask(a)
    const before = await recordOf(gateway)
    const open = openRequests()
    const wanted = { from_task: id, timestamps: '1,3' }
    for (let sent = 0; sent < 2; sent += 1) open.send(character(a, wanted, { signal: open.signal }))
    await ffmpeg.untilStarted(1)
    await open.leave()
    await ffmpeg.untilAllEnded()
    expect(await recordOf(gateway)).toEqual(before)
    await ffmpeg.release()
    expect((await character(a, wanted)).status).toBe(200)
  })

  test('does not abort a character that another client waits for', async () => {
    await start()
    const wanted = { from_task: await completedTask(a), timestamps: '1,3' }
    const leaving = openRequests()
    leaving.send(character(a, wanted, { signal: leaving.signal }))
    await ffmpeg.untilStarted(1)
    const staying = character(a, wanted)
    await leaving.leave()
    await ffmpeg.release()
    expect((await staying).status).toBe(200)
  })

  test('aborts a spritesheet that no other client waits for', async () => {
    await start()
    const id = await completedTask(a)
    const leaving = new AbortController()
    const first = variant(a, id, 'spritesheet', { signal: leaving.signal }).catch(() => undefined)
    await ffmpeg.untilStarted(1)
    leaving.abort()
    await first
    await ffmpeg.untilAllEnded()
    await ffmpeg.release()
    expect((await variant(a, id, 'spritesheet')).status).toBe(200)
  })

  test('aborts the download of its video', async () => {
    await start()
    const before = await recordOf(gateway)
    const open = openRequests()
    open.send(character(a, { url: `${videosUrl}/endless` }, { signal: open.signal }))
    await eventually(() => endless.open).toBe(1)
    await open.leave()
    await eventually(() => endless.open).toBe(0)
    await eventually(() => recordOf(gateway)).toEqual(before)
  })
})

describe('a video from a URL', () => {
  test('uses no slot of media work during its download, and an account downloads two at once', async () => {
    await start({ LIMIT_MEDIA_WORK: 'account=16' })
    const open = openRequests()
    for (const name of ['1', '2', '3', '4']) {
      open.send(character(a, { url: `${videosUrl}/endless?${name}` }, { signal: open.signal }))
    }
    await eventually(() => endless.open).toBe(2)
    expect((await character(a, { from_task: await completedTask(a) })).status).toBe(200)
    expect((await transcribe(a, ogg)).status).toBe(200)
    expect((await character(b, { url: `${videosUrl}/b.mp4` })).status).toBe(200)
    expect(endless.openMost).toBe(2)
    await open.leave()
    await eventually(() => endless.open).toBe(0)
  })

  test('is not downloaded if the disk has too little space', async () => {
    await start({ DISK_FREE_BYTES_MIN: String(Number.MAX_SAFE_INTEGER) })
    expectBusy(await character(a, { url: `${videosUrl}/endless` }), 'service_unavailable')
    expect(endless.asked).toBe(0)
    expect((await character(a, { from_task: await completedTask(a) })).status).toBe(200)
  })

  test('is completed even if its request has timed out', async () => {
    await start()
    await using hurried = await startGateway(
      {
        FETCH_ALLOW_ORIGINS: videosUrl,
        CHARACTER_WAIT_SECONDS: '0',
        FFMPEG_PATH: ffmpeg.path,
        ...withoutSandbox,
        ...limits,
      },
      gateway,
    )
    const wanted = { from_task: await completedTask(a), timestamps: '1,3' }
    const first = await askJson(`${hurried.url}/vidB/v1/characters`, a.key, wanted)
    expectBusy(first, 'service_unavailable')
    await ffmpeg.untilStarted(1)
    await ffmpeg.release()
    await eventually(
      async () => (await askJson(`${hurried.url}/vidB/v1/characters`, a.key, wanted)).status,
    ).toBe(200)
    expect(await ffmpeg.started()).toHaveLength(1)
  })
})

describe('an image from a URL', () => {
  test('is downloaded while the DNS server of names that another account sent does not respond', async () => {
    await using dns = await serveDns(() => undefined)
    await start({ FETCH_DNS_SERVERS: dns.server })
    const poor = await customer(0.000001)
    const dryRun = (who: Customer, url: string, init: RequestInit = {}) =>
      askAlone(`${gateway.url}/v1/videos?dry_run=true`, who.key, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          ...{ model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' },
          input_reference: url,
        }),
        ...init,
      })
    const open = openRequests()
    for (let index = 0; index < 20; index += 1) {
      open.send(dryRun(poor, `http://name-${index}.example.com/`, { signal: open.signal }))
    }
    await eventually(() => new Set(dns.asked).size).toBeGreaterThanOrEqual(8)
    expect((await dryRun(b, `${videosUrl}/pixel.png`)).status).toBe(200)
    await open.leave()
  })
})
