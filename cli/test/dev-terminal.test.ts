/** `kinora dev` on a terminal: what it shows, its keys, and that the terminal is left as it was. */
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { ask, form } from '../../gateway/test/kit/answers.ts'
import { reserveDevPorts } from '../../gateway/test/kit/reserve-ports.ts'
import { measureColumns } from '../src/terminal/columns.ts'
import { startInTerminal } from './kit/terminal.ts'

const program = inject('command')
const { PATH, HOME } = process.env

let directory: string
let port: number

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-dev-terminal-'))
  port = await reserveDevPorts(directory, join(directory, 'data'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

test.for(['throw', 'reject', 'exit', 'stop', 'SIGTERM', 'SIGINT'])(
  'after a process that read keys has ended by %s, the terminal has its usual mode',
  async (way) => {
    const script = join(import.meta.dirname, 'kit/read-keys-and-end.ts')
    await using terminal = startInTerminal([process.execPath, script, way], { columns: 80, env: { PATH } })
    await expect.poll(() => terminal.lines()).toContain('reads keys: true')
    terminal.type('x')
    await terminal.ended
    expect(terminal.lines()).toContain('got x')
    expect(terminal.raw()).toMatch(/[ ;]icanon/)
    expect(terminal.raw()).toMatch(/[ ;]echo /)
  },
)

test('Ctrl-C and Ctrl-D arrive although the terminal sends no signal, and pasted text does nothing', async () => {
  const script = join(import.meta.dirname, 'kit/read-keys-and-end.ts')
  await using terminal = startInTerminal([process.execPath, script, 'none'], { columns: 80, env: { PATH } })
  await expect.poll(() => terminal.lines()).toContain('reads keys: true')
  terminal.type('quick paste')
  terminal.type('\u001B[A')
  terminal.type('\u0003')
  await terminal.ended
  expect(terminal.lines()).toContain('told to stop')
  expect(terminal.raw()).not.toContain('got')
})

test('it shows requests and tasks, makes a video, a key and a fresh start, and ends', async () => {
  const data = join(directory, 'data')
  const command = [
    ...[process.execPath, program, 'dev', '--no-models', '--port', String(port), '--data', 'data'],
  ]
  await using terminal = startInTerminal(command, { columns: 80, env: { PATH, HOME }, cwd: directory })
  const text = () => terminal.lines().join('\n')
  await expect.poll(text).toContain('Kinora is ready')
  expect(text()).toContain(`http://127.0.0.1:${port}/v1\n`)
  expect(text()).toContain(`http://127.0.0.1:${port}/openai/v1 `)
  const url = `http://127.0.0.1:${port}`
  const [key = ''] = /sk-\w{36}/.exec(text()) ?? []
  await writeFile(join(data, 'mine.txt'), 'not made by dev')

  // One line for a request, with what to do, and none for those that `dev` makes itself.
  const refused = await ask(`${url}/v1/videos`, key, { method: 'POST', body: form({ model: 'vidB-2' }) })
  await expect.poll(text).toMatch(/▲ POST \/v1\/videos 400 \w+ .*\n +→ /)
  expect(refused.status).toBe(400)
  terminal.type('v')
  await expect.poll(text).toMatch(/✓ vidB-2 completed in [\d.]+ s, [\d.]+ USD$/m)
  await expect.poll(text).toMatch(/✓ Saved .*\/videos\/vidB-2\S+\.mp4/)
  expect(text()).not.toContain('· GET /v1/videos')

  terminal.type('k')
  await expect.poll(text).toMatch(/New key, shown only now: sk-\w{36}/)
  const [, created = ''] = /New key, shown only now: (sk-\w{36})/.exec(text()) ?? []
  expect((await ask(`${url}/v1/models`, created)).status).toBe(200)
  const listed = async (bearer: string) => {
    const { body } = await ask(`${url}/v1/videos`, bearer).catch(() => ({ body: {} }))
    // The first page of the console has a sample.
    const { data } = body as { data?: { metadata: { sample?: string } }[] }
    return data?.filter(({ metadata }) => metadata.sample === undefined).length
  }
  expect(await listed(key)).toBe(1)

  // Keys that arrive together count as pasted text.
  const press = async (letter: string, effect: string | RegExp) => {
    terminal.type(letter)
    await expect.poll(() => terminal.raw()).toMatch(effect)
  }
  await press('l', 'All logs.')
  await ask(`${url}/v1/models`, key)
  await expect.poll(text).toMatch(/INFO +api request\.completed/)
  await press('l', 'A line per request again.')

  await press('r', 'Keys stay.')
  await press('n', 'Nothing was deleted.')
  await press('r', /Keys stay\.[^]*Nothing was deleted\.[^]*Keys stay\./)
  terminal.type('y')
  await expect.poll(() => text().match(/Kinora is ready/g)?.length).toBe(2)
  expect(await listed(key)).toBe(0)
  expect((await ask(`${url}/v1/models`, created)).status).toBe(401)
  expect(existsSync(join(data, 'mine.txt'))).toBe(true)

  terminal.type('q')
  await terminal.ended
  expect(terminal.raw()).toContain('exit code 0')
  expect(terminal.raw()).toMatch(/[ ;]icanon/)
  const tooWide = terminal.lines().filter((line) => measureColumns(line) > 80)
  expect(tooWide).toEqual([])
})

test('without a terminal it prints lines without codes, and NO_COLOR leaves only those that move the cursor', async () => {
  const script = `
    import { createScreen } from '${join(import.meta.dirname, '../src/terminal/screen.ts')}'
    import { createStatusLines } from '${join(import.meta.dirname, '../src/dev/status-lines.ts')}'
    const screen = createScreen()
    const work = createStatusLines(screen).begin('Working')
    screen.print('done')
    work.end()
    screen.close()`
  const command = [process.execPath, '--input-type=module', '--eval', script]
  await using terminal = startInTerminal(command, { columns: 80, env: { PATH, NO_COLOR: '1' } })
  await terminal.ended
  expect(terminal.raw()).toContain('Working')
  expect(terminal.raw()).not.toMatch(/\p{Cc}\[[\d;]*m/u)
  await using piped = startInTerminal(['sh', '-c', `"$@" | cat`, 'sh', ...command], {
    columns: 80,
    env: { PATH },
  })
  await piped.ended
  expect(piped.raw().replace(/exit code[^]*/, '')).toBe('done\r\n')
})
