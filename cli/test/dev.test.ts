import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { ask, form } from '../../gateway/test/kit/answers.ts'
import { listenForTest } from '../../gateway/test/kit/listen-for-test.ts'
import { reserveDevPorts, reservePorts } from '../../gateway/test/kit/reserve-ports.ts'
import { probe } from '../../gateway/test/kit/sample-video.ts'

const program = inject('command')
const idleSeconds = Number(process.env['IDLE_SECONDS'] ?? 6)
/** Times, and how idle it is, are only checked on an otherwise idle machine, in `npm run prove:idle`. */
const isTimed = process.env['IDLE_SECONDS'] !== undefined
const film = isTimed
  ? { seconds: 10, size: '1280x720', width: 1280, height: 720 }
  : { seconds: 4, size: '480x480', width: 480, height: 480 }

interface Dev extends AsyncDisposable {
  child: ChildProcess
  ready: { event: string; url: string; console: string | null; keys: Record<string, string> }
  readyMs: number
}

let directory: string
let port: number
let otherPort: number
let firstStart: Dev | undefined

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-dev-'))
  port = await reserveDevPorts(directory, join(directory, 'data'))
  ;({ otherPort } = await reservePorts(directory, ['otherPort']))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

/** Starts `dev` in an environment with Node and ffmpeg that names no other service. */
const startDev = async (): Promise<Dev> => {
  const startedMs = performance.now()
  const child = spawn(
    process.execPath,
    [
      program,
      'dev',
      '--json',
      '--no-models',
      '--no-open',
      '--port',
      String(port),
      '--data',
      join(directory, 'data'),
    ],
    {
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  let output = ''
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    output += chunk.toString()
    if (output.includes('\n')) break
  }
  return {
    child,
    ready: JSON.parse(output) as Dev['ready'],
    readyMs: performance.now() - startedMs,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

/** All descendants of a process, including itself. */
const processesBelow = (root: number): number[] => {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
    } catch {
      // The process ended in the meantime.
    }
  }
  const isBelow = (pid: number): boolean =>
    pid === root || (parents.has(pid) && isBelow(parents.get(pid) ?? 0))
  return [...parents.keys()].filter(isBelow)
}

/** CPU seconds used so far by a process and its descendants, including children that have ended. */
const processorSeconds = (root: number): number =>
  processesBelow(root).reduce((sum, pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const ticks = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 15)
    return sum + ticks.reduce((total, each) => total + Number(each), 0) / 100
  }, 0)

/** Processor time used since the previous call, in percent of one core. Not a number for an empty interval. */
const measureLoad = (root: number) => {
  let before = { seconds: processorSeconds(root), ms: performance.now() }
  return () => {
    const now = { seconds: processorSeconds(root), ms: performance.now() }
    const elapsedSeconds = (now.ms - before.ms) / 1000
    if (elapsedSeconds < idleSeconds) return Number.NaN
    const load = ((now.seconds - before.seconds) / elapsedSeconds) * 100
    before = now
    return load
  }
}

const stop = async (dev: Dev) => {
  const below = processesBelow(dev.child.pid ?? 0)
  dev.child.kill('SIGINT')
  const [code] = (await once(dev.child, 'exit')) as [number | null]
  const left = below.filter((pid) => processesBelow(1).includes(pid) && !isDefunct(pid))
  return { code, left }
}
const isDefunct = (pid: number) => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')

test('dev renders a video with only Node and ffmpeg installed, and Ctrl-C stops all processes', async () => {
  await using dev = await startDev()
  firstStart = dev
  console.log(`first start: ready in ${Math.round(dev.readyMs)} ms`)
  expect(dev.ready).toEqual({
    event: 'ready',
    url: `http://127.0.0.1:${port}`,
    console: expect.stringMatching(
      /^http:\/\/127\.0\.0\.1:\d+\/console\/sign-in\?next=%2Fstart#link=[\w-]{43}$/,
    ),
    keys: Object.fromEntries(
      ['payg', 'subscription', 'expired', 'restricted', 'addressBound', 'exhausted', 'limited', 'admin'].map(
        (name) => [name, expect.stringMatching(/^sk-(sub-|admin-)?[0-9A-Za-z]{36}$/)],
      ),
    ),
  })
  const { keys, url } = dev.ready
  const order = {
    model: 'vidB-2',
    seconds: String(film.seconds),
    size: film.size,
    prompt: 'A whale in a calm ocean at sunset',
  }
  const create = (key: string | undefined, model = 'vidB-2', more: Record<string, string> = {}) =>
    ask(`${url}/v1/videos`, key, { method: 'POST', body: form({ ...order, model, ...more }) })
  // A developer's receiver runs on the same machine.
  const received: unknown[] = []
  await using receiver = await listenForTest((_request, response, body) => {
    received.push(JSON.parse(body.toString()))
    response.end()
  })

  const startedMs = performance.now()
  const created = await create(keys['payg'], 'vidB-2', { webhook_url: receiver.url })
  expect(created.status).toBe(200)
  let video = created.body
  const readStatus = async () => {
    ;({ body: video } = await ask(`${url}/v1/videos/${String(created.body['id'])}`, keys['payg']))
    return video['status']
  }
  await expect.poll(readStatus, { interval: 250 }).toMatch(/^(completed|failed)$/)
  expect(video['status']).toBe('completed')
  const renderMs = performance.now() - startedMs
  console.log(`${film.seconds} s of ${film.size} completed in ${Math.round(renderMs)} ms`)

  await expect
    .poll(() => received)
    .toMatchObject([{ type: 'video.completed', data: { id: created.body['id'], status: 'completed' } }])

  const { seconds, ...format } = await probe(String(video['video_url']))
  expect(format).toEqual({ codec: 'h264', soundCodec: 'aac', width: film.width, height: film.height })
  expect(seconds).toBeCloseTo(film.seconds, 1)
  if (isTimed) expect(renderMs / 1000 / seconds).toBeLessThan(3)

  const codes = {
    expired: await create(keys['expired']),
    restricted: await create(keys['restricted'], 'vidB-2-pro'),
    addressBound: await create(keys['addressBound']),
    exhausted: await create(keys['exhausted']),
    admin: await create(keys['admin']),
  }
  expect(
    Object.entries(codes).map(([name, { body }]) => [name, (body['error'] as { code: string }).code]),
  ).toEqual([
    ['expired', 'expired_api_key'],
    ['restricted', 'model_access_denied'],
    ['addressBound', 'ip_not_allowed'],
    ['exhausted', 'quota_exceeded'],
    ['admin', 'access_denied'],
  ])
  const limited = []
  for (let index = 0; index < 6; index += 1)
    limited.push((await ask(`${url}/v1/models`, keys['limited'])).status)
  expect(limited).toEqual([200, 200, 200, 200, 200, 429])

  const second = spawn(
    process.execPath,
    [program, 'dev', '--json', '--no-models', '--port', String(otherPort), '--data', join(directory, 'data')],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  const [message] = (await once(second.stderr, 'data')) as [Buffer]
  expect(message.toString()).toContain('already uses')

  expect(await stop(dev)).toEqual({ code: 0, left: [] })
})

const measureIdle = () =>
  test(
    'a second start is faster than the first, and is almost idle without requests',
    { timeout: idleSeconds * 30_000 },
    async () => {
      await using dev = await startDev()
      console.log(`second start: ready in ${Math.round(dev.readyMs)} ms`)
      expect(dev.readyMs).toBeLessThan(firstStart?.readyMs ?? 0)

      const root = dev.child.pid ?? 0
      // The first intervals may still contain work of the start-up.
      const load = measureLoad(root)
      let loadPercent = Number.NaN
      const readLoad = () => (loadPercent = load())
      await expect
        .poll(readLoad, { interval: (idleSeconds * 1000) / 5, timeout: idleSeconds * 20_000 })
        .toBeLessThan(5)
      console.log(
        `idle for ${idleSeconds} s: ${processesBelow(root).length} processes used ${loadPercent.toFixed(1)} % of one core`,
      )
      expect(await stop(dev)).toEqual({ code: 0, left: [] })
    },
  )
if (isTimed) measureIdle()

test('dev fails without ffmpeg and names the package to install', async () => {
  const child = spawn(
    process.execPath,
    [program, 'dev', '--no-models', '--port', String(port), '--data', join(directory, 'without-ffmpeg')],
    {
      env: { PATH: process.env['PATH'], FFMPEG_PATH: '/nowhere/ffmpeg' },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  let message = ''
  child.stderr.on('data', (chunk: Buffer) => {
    message += chunk.toString()
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  expect(code).toBe(1)
  // It says so before it starts anything.
  expect(readdirSync(directory)).not.toContain('without-ffmpeg')
  expect(message).toContain('/nowhere/ffmpeg was not found: install it (apt-get install ffmpeg)')
})
