/** The examples of the README and the guide, run in order against an instance that was started as the README says. */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { reserveDevPorts } from '../../gateway/test/kit/reserve-ports.ts'
import { probe } from '../../gateway/test/kit/sample-video.ts'
import { linkRecognitionSets } from '../../local/test/kit/model-directory.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const snippets = join(root, 'docs/snippets')
/** `.ci/run` runs install.sh. The test itself provides what environment.sh sets, and tools/clients/python.ts the same for Python. */
const runElsewhere = ['install.sh', 'environment.sh', 'openai-environment.sh']

let directory: string
let dev: ChildProcess
const environment: Record<string, string> = {
  PATH: process.env['PATH'] ?? '',
  HOME: process.env['HOME'] ?? '',
}
const executed = new Set(runElsewhere)
const largeVideo = "seconds: '10',\n  size: '1280x720'"
const smallVideo = "seconds: '4',\n  size: '480x480'"

/** What a program prints until it has printed this; what follows is read and dropped. */
const outputUntil = async (child: ChildProcess, pattern: RegExp): Promise<string> => {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString()
    if (pattern.test(output)) resolve(output)
  })
  child.once('exit', () => reject(new Error(`It ended before it printed ${String(pattern)}:\n${output}`)))
  return await promise
}

/** Runs a snippet in the test's directory and returns what it prints. */
const run = async (name: string, given: Record<string, string> = {}): Promise<string> => {
  executed.add(name)
  const file = join(directory, name)
  // JavaScript finds its packages from the directory it lies in. Its video is smaller: create-video.sh renders the same.
  if (name.endsWith('.mjs'))
    await writeFile(file, (await readFile(join(snippets, name), 'utf8')).replace(largeVideo, smallVideo))
  const [program, path] = name.endsWith('.mjs') ? [process.execPath, file] : ['sh', join(snippets, name)]
  const { stdout } = await promisify(execFile)(program, [path], {
    cwd: directory,
    env: { ...environment, ...given },
  })
  return stdout
}

const runJson = async (name: string, given: Record<string, string> = {}) =>
  JSON.parse(await run(name, given)) as Record<string, unknown>

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-snippets-'))
  environment['MODEL_DIR'] = linkRecognitionSets(join(directory, 'models'))
  // The data directory lies where the command is run, so it is run where nobody else's data is.
  for (const name of ['cli', 'node_modules']) await symlink(join(root, name), join(directory, name))
  await copyFile(join(root, 'package.json'), join(directory, 'package.json'))
  executed.add('start.sh')
  const command = (await readFile(join(snippets, 'start.sh'), 'utf8')).trim()
  const port = await reserveDevPorts(directory, join(directory, '.kinora'))
  dev = spawn('sh', ['-c', `${command} --port ${port} --no-models`], {
    cwd: directory,
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  const printed = await outputUntil(dev, /Ctrl-C/)
  environment['KINORA_URL'] = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)?.[0] ?? ''
  environment['KINORA_API_KEY'] = /sk-[A-Za-z0-9]+/.exec(printed)?.[0] ?? ''
  const image = [
    '-f',
    'lavfi',
    '-i',
    'color=teal:s=1280x720',
    '-frames:v',
    '1',
    join(directory, 'island.png'),
  ]
  await promisify(execFile)('ffmpeg', ['-loglevel', 'error', ...image])
})

afterAll(async () => {
  if (dev.pid !== undefined && dev.exitCode === null) {
    const exited = once(dev, 'exit')
    process.kill(-dev.pid, 'SIGINT')
    await exited
  }
  await rm(directory, { recursive: true, force: true })
})

/** Creates a video. It is cancelled, because its render would only take time. */
const runCreate = async (name: string, given: Record<string, string> = {}) => {
  const video = await runJson(name, given)
  await run('cancel-video.sh', { TASK_ID: String(video['id']) })
  return video
}

let taskId: string

test('a video is created, followed, awaited and downloaded', async () => {
  const created = await runJson('create-video.sh')
  expect(created).toMatchObject({ object: 'video', status: 'pending' })
  taskId = String(created['id'])
  const events = await run('follow-video.sh', { TASK_ID: taskId })
  expect(events).toMatch(/event: accepted[^]*event: completed/)
  expect(await runJson('wait-for-video.sh', { TASK_ID: taskId })).toMatchObject({ status: 'completed' })
  await run('download-video.sh', { TASK_ID: taskId })
  expect(await probe(join(directory, 'whale.mp4'))).toMatchObject({ codec: 'h264', width: 1280, height: 720 })
})

test('the command and the client make a video and save it', async () => {
  // The command finds the service by its directory.
  const nothing = { KINORA_URL: '', KINORA_API_KEY: '', XDG_CONFIG_HOME: directory }
  expect(await run('command-video.sh', nothing)).toBe('whale.mp4\n')
  await run('client-video.mjs')
  expect(await probe(join(directory, 'whale.mp4'))).toMatchObject({ codec: 'h264', width: 1280, height: 720 })
})

test('an image, the other request style and chat make videos too', async () => {
  expect(await runCreate('create-video-from-image.sh')).toMatchObject({ status: 'pending' })
  expect(await runCreate('create-video-with-webhook.sh')).toMatchObject({ status: 'pending' })
  const { id } = await runJson('create-video-task.sh')
  expect(await runJson('query-video-task.sh', { TASK_ID: String(id) })).toMatchObject({ id })
  expect(await runJson('cancel-video.sh', { TASK_ID: String(id) })).toMatchObject({ status: 'failed' })
  expect(await run('chat-video.sh')).toMatch(/task_id: [^]*video\.mp4[^]*\[DONE\]/)
})

test('a video is remixed, and a character is cut from it and used', async () => {
  expect(await runCreate('remix-video.sh', { TASK_ID: taskId })).toMatchObject({ status: 'pending' })
  const { username } = await runJson('create-character.sh', { TASK_ID: taskId })
  const starring = await runCreate('use-character.sh', { USERNAME: String(username) })
  expect(starring).toMatchObject({ object: 'video' })
})

test('a text is spoken, and the speech is transcribed at once and by a task', async () => {
  await run('create-speech.sh')
  expect((await stat(join(directory, 'ships.mp3'))).size).toBeGreaterThan(1_000)
  expect(await run('create-transcription.sh')).toMatch(/-->[^]*first light/i)
  const { id } = await runJson('create-transcription-task.sh')
  await expect
    .poll(() => runJson('get-transcript.sh', { TASK_ID: String(id) }))
    .toMatchObject({ text: expect.stringMatching(/first light/i) })
})

test('a chat is answered', async () => {
  expect(await runJson('audio-chat.sh')).toMatchObject({
    object: 'chat.completion',
    choices: [{ message: { role: 'assistant', content: expect.any(String) } }],
  })
})

test('a quote costs nothing, and a receipt shows what a video cost', async () => {
  expect(await runJson('quote.sh')).toMatchObject({ object: 'quote', fits: true, total_micros: 1_000_000 })
  expect(await runJson('receipt.sh', { TASK_ID: taskId })).toMatchObject({ captured_micros: 1_000_000 })
})

test('an error has a status, a code and a parameter', async () => {
  expect(await run('error.sh')).toMatch(/400 Bad Request[^]*"code":"invalid_parameter","param":"seconds"/)
  expect(await run('openai-errors.mjs')).toMatch(/^400 invalid_parameter seconds req_/)
})

test('a repeated request with the same Idempotency-Key creates one task', async () => {
  const first = await runJson('idempotent-create.sh')
  expect(await runCreate('idempotent-create.sh')).toEqual(first)
})

test('the openai package creates a video', async () => {
  expect(await run('openai-video.mjs')).toMatch(/^completed http/)
})

test('a webhook endpoint receives a test event, which the receiver verifies', async () => {
  const { id, secret } = await runJson('create-webhook.sh')
  const given = { ENDPOINT_ID: String(id) }
  executed.add('webhook-receiver.ts')
  const receiver = spawn(process.execPath, [join(snippets, 'webhook-receiver.ts')], {
    env: { ...environment, PORT: '0', WEBHOOK_SECRET: String(secret) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [, port = ''] = /port (\d+)/.exec(await outputUntil(receiver, /port \d+/)) ?? []
    // Another program may use the port of the page.
    await fetch(`${environment['KINORA_URL']}/v1/webhook_endpoints/${String(id)}`, {
      method: 'PATCH',
      headers: {
        authorization: `Bearer ${environment['KINORA_API_KEY']}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ url: `http://127.0.0.1:${port}/` }),
    })
    const received = outputUntil(receiver, /video\.completed/)
    const { id: deliveryId } = await runJson('test-webhook.sh', given)
    expect(await received).toMatch(/^video\.completed video_/m)
    const delivery = { DELIVERY_ID: String(deliveryId) }
    await expect
      .poll(() => runJson('get-delivery.sh', delivery))
      .toMatchObject({ state: 'delivered', attempts: [{ status: 204 }] })
    expect(await runJson('list-deliveries.sh', given)).toMatchObject({ data: [{ id: deliveryId }] })
    expect(await runJson('rotate-webhook-secret.sh', given)).toMatchObject({ id })
    const again = outputUntil(receiver, /video\.completed/)
    expect(await runJson('redeliver.sh', delivery)).toMatchObject({ state: 'pending' })
    // The previous secret, which the receiver has, also signs.
    expect(await again).toMatch(/^video\.completed video_/m)
  } finally {
    receiver.kill()
  }
})

test('every snippet was run, except those in Python, which tools/clients/python.ts runs', async () => {
  const names = (await readdir(snippets)).filter((name) => !name.endsWith('.py'))
  expect([...executed].toSorted()).toEqual(names.toSorted())
})
