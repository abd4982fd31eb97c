/** The commands for callers against a whole service: in a pipe, and in a terminal that `script` provides. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtempDisposable, type DisposableTempDir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'

import { keyScopes } from '@kinora/contract/key-scope'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { createKey } from '../../gateway/test/kit/factories.ts'
import { listenForTest } from '../../gateway/test/kit/listen-for-test.ts'
import { probe } from '../../gateway/test/kit/sample-video.ts'
import { startStack, type Stack } from '../../gateway/test/kit/stack.ts'
import { announceService } from '../src/connection/dev-service.ts'

let stack: Stack
let place: DisposableTempDir

beforeAll(async () => {
  stack = await startStack({ provider: 'local' })
  place = await mkdtempDisposable(join(tmpdir(), 'kinora-callers-'))
  // As in the directory where `kinora dev` runs.
  await mkdir(join(place.path, '.kinora'))
  const { text: key } = await createKey(stack.database.postgres, stack.accountId, { scopes: [...keyScopes] })
  await announceService(join(place.path, '.kinora'), { url: stack.url, key })
})
afterAll(async () => {
  await stack[Symbol.asyncDispose]()
  await place.remove()
})

const environmentWith = (more: Record<string, string> = {}) => ({
  PATH: process.env['PATH'],
  HOME: place.path,
  ...more,
})

const kinora = async (words: string[], more?: Record<string, string>) =>
  promisify(execFile)(process.execPath, [inject('command'), ...words], {
    cwd: place.path,
    env: environmentWith(more),
  }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  )

const readVideo = async (id: string) =>
  JSON.parse((await kinora(['video', 'get', id, '--json'])).stdout) as object

const idIn = (text: string) => /vidB-2:[\w-]+/.exec(text)?.[0] ?? ''

/** Runs a command and collects what it writes. In a terminal, both streams and the keys share one. */
const start = (words: string[], isTerminal: boolean) => {
  const command = [process.execPath, inject('command'), ...words]
  const quoted = `stty cols 80 rows 24; ${command.map((word) => `'${word}'`).join(' ')}`
  const [program = '', ...parameters] = isTerminal ? ['script', '-qefc', quoted, '/dev/null'] : command
  const child = spawn(program, parameters, {
    cwd: place.path,
    env: environmentWith({ TERM: 'xterm-256color' }),
    stdio: 'pipe',
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (text += stripVTControlCharacters(chunk.toString())))
  }
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  return {
    text: () => text,
    /** Resolves when the text is on the screen, or when the command has ended. */
    shows: async (part: string) => {
      await expect.poll(() => text.includes(part) || child.exitCode !== null).toBe(true)
      expect(text).toContain(part)
    },
    press: (keys: string) => child.stdin.write(keys),
    interrupt: () => child.kill('SIGINT'),
    ended,
  }
}

describe('video create', () => {
  test('in a pipe prints only the file, which plays, and plain lines of progress', async () => {
    const { code, stdout, stderr } = await kinora(['video', 'create', 'A whale', '-o', 'whale.mp4'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'whale.mp4\n' })
    expect(stderr).toContain('Generating · ')
    expect(stripVTControlCharacters(stderr)).toBe(stderr)
    expect(stderr).not.toContain('\r')
    expect(await probe(join(place.path, 'whale.mp4'))).toMatchObject({ seconds: 4 })
    expect(await readVideo(idIn(stderr))).toMatchObject({ status: 'completed', model: 'vidB-2', seconds: 4 })
  })

  test('in a terminal shows the progress in one line, the cost and the link', async () => {
    const run = start(['video', 'create', 'A whale'], true)
    expect(await run.ended).toBe(0)
    expect(run.text()).toMatch(/\r\S █*░* ?Generating · \d+ %/)
    expect(run.text()).toMatch(/✓ vidB-2 · 4 s · 1280x720 · made in [^·]+ s · 0\.40 USD/)
    expect(run.text()).toContain(`${stack.url}/media/`)
  })

  test('is interrupted: in a terminal it asks, elsewhere it leaves the video running', async () => {
    const prompt = 'A whale sim:slow=60s'
    const runs = {
      cancelled: start(['video', 'create', prompt], true),
      left: start(['video', 'create', prompt], true),
      piped: start(['video', 'create', prompt], false),
    }
    await Promise.all(Object.values(runs).map(({ shows }) => shows('Generating')))
    runs.cancelled.press('\u0003')
    runs.left.press('\u0003')
    runs.piped.interrupt()
    await Promise.all([runs.cancelled.shows('Keep waiting'), runs.left.shows('Keep waiting')])
    runs.cancelled.press('\u001B[B\u001B[B\r')
    // Ctrl-C at the question.
    runs.left.press('\u0003')
    expect(await Promise.all([runs.cancelled.ended, runs.left.ended, runs.piped.ended])).toEqual([
      130, 130, 130,
    ])

    expect(runs.cancelled.text()).toContain('The video is cancelled. Nothing is charged.')
    expect(await readVideo(idIn(runs.cancelled.text()))).toMatchObject({ error: { code: 'task_cancelled' } })
    for (const { text } of [runs.left, runs.piped]) {
      const id = idIn(text())
      expect(text()).toContain(`kinora video watch ${id}`)
      expect(await readVideo(id)).toMatchObject({ status: 'processing' })
      await kinora(['video', 'cancel', id])
    }
  })
})

test('the exit code tells who has to do something', async () => {
  const create = ['video', 'create', 'A whale']
  const outcomes = await Promise.all([
    kinora([...create, '--seconds', '9']),
    kinora([...create, '-o', 'missing/whale.mp4']),
    kinora(create, { KINORA_API_KEY: 'sk-wrong', KINORA_URL: stack.url }),
    kinora(create, { KINORA_API_KEY: stack.key, KINORA_URL: 'http://127.0.0.1:9' }),
    kinora(['video', 'create', 'A whale sim:fail=upstream_error']),
    kinora(['video', 'get', 'vidB-2:unknown']),
    kinora(['video', 'list'], { KINORA_PROFILE: 'absent' }),
  ])
  expect(outcomes.map(({ code }) => code)).toEqual([2, 2, 3, 5, 5, 1, 2])
  expect(outcomes.map(({ stdout }) => stdout).join('')).toBe('')
  expect(outcomes[0]?.stderr).toMatch(/^'seconds' must be one of .*\nRequest req_\S+\n$/)
})

test('webhooks listen forwards whole, signed events and prints the response', async () => {
  const received: { body: string; headers: Record<string, string> }[] = []
  await using receiver = await listenForTest(({ headers }, response, body) => {
    received.push({ body: body.toString(), headers: headers as Record<string, string> })
    response.writeHead(202).end('thanks')
  })
  const listening = start(
    ['webhooks', 'listen', '--forward-to', receiver.url, '--events', 'video.failed'],
    false,
  )
  await listening.shows('Verify the signatures with')
  const secret = /whsec_\S+/.exec(listening.text())?.[0] ?? ''
  // The stream may begin after the first video.
  await expect
    .poll(async () => {
      await kinora(['video', 'create', 'A whale sim:fail=upstream_error'])
      return received.length
    })
    .toBeGreaterThan(0)
  const [{ body, headers } = { body: '', headers: {} }] = received
  expect(new Webhook(secret).verify(body, headers)).toMatchObject({
    type: 'video.failed',
    data: { status: 'failed', model: 'vidB-2', enhanced_prompt: 'A whale sim:fail=upstream_error' },
  })
  await listening.shows('→  202 in ')
  listening.interrupt()
  expect(await listening.ended).toBe(0)
})

test('login checks the key and stores a profile, which other commands use', async () => {
  const url = new URL('/v1', stack.url).href
  const input = spawn(process.execPath, [inject('command'), 'login', '--url', url, '--profile', 'test'], {
    cwd: tmpdir(),
    env: environmentWith(),
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  input.stdin.end(`${stack.key}\n`)
  expect(await once(input, 'exit')).toEqual([0, null])
  const { code, stdout } = await kinora(['usage', '--json', '--profile', 'test'])
  expect({ code, page: JSON.parse(stdout) as unknown }).toMatchObject({ code: 0, page: { object: 'list' } })
})
