/**
 * `npm run terminal-pictures`: runs commands of `kinora` in a pseudo-terminal of 80 and of 120 columns, and draws what it shows
 * with xterm in Chromium; piped, each command leaves a text file. Everything goes to `build/terminal-pictures`, and
 * `kinora dev` in 80 columns to `docs/terminal.png`. Look at the pictures after changing what a command prints.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

import { chromium, type Browser } from 'playwright-core'
import sharp from 'sharp'

import { startInTerminal, type Terminal } from '../cli/test/kit/terminal.ts'
import { reserveDevPorts } from '../gateway/test/kit/reserve-ports.ts'
import { linkRecognitionSets } from '../local/test/kit/model-directory.ts'

const root = join(import.meta.dirname, '..')
const output = join(root, 'build/terminal-pictures')
const shown = join(root, 'docs/terminal.png')
const shownBytesMax = 150_000
const widths = [80, 120]
const program = [process.execPath, join(root, 'cli/src/kinora.ts')]

/** xterm scrolls at this row. */
const rowsMax = 80

/** Draws in a page, which has the globals of xterm. */
const drawText = `async ({ raw, columns, rowsMax }) => {
  const terminal = new Terminal({
    cols: columns, rows: rowsMax, scrollback: 0, fontFamily: 'DejaVu Sans Mono, monospace', fontSize: 14,
    cursorInactiveStyle: 'none', theme: { background: '#0d1117', foreground: '#e6edf3', cursor: '#0d1117' },
  })
  terminal.open(document.querySelector('#terminal'))
  await new Promise((written) => terminal.write(raw, written))
  const lines = Array.from({ length: rowsMax }, (_, row) => terminal.buffer.active.getLine(row).translateToString(true))
  const { cursorY } = terminal.buffer.active
  terminal.resize(columns, Math.max(cursorY, lines.findLastIndex((line) => line !== '')) + 1)
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
}`

const draw = async (browser: Browser, name: string, raw: string, columns: number): Promise<string> => {
  const page = await browser.newPage({ deviceScaleFactor: 1.5, viewport: { width: 1400, height: 1600 } })
  const xterm = join(root, 'node_modules/@xterm/xterm')
  await page.setContent(
    '<body style="margin:0;background:#0d1117;display:inline-block;padding:12px"><div id="terminal"></div>',
  )
  await page.addStyleTag({ path: join(xterm, 'css/xterm.css') })
  await page.addScriptTag({ path: join(xterm, 'lib/xterm.js') })
  await page.evaluate(`(${drawText})(${JSON.stringify({ raw, columns, rowsMax })})`)
  const file = join(output, `${name}-${columns}.png`)
  await page.locator('body').screenshot({ path: file })
  await page.close()
  return file
}

const waitFor = async (holds: () => boolean, what: string) => {
  for (let tries = 0; !holds(); tries += 1) {
    if (tries === 3000) throw new Error(`This did not happen within five minutes: ${what}`)
    await sleep(100)
  }
}

/** What the command itself printed, without what `startInTerminal` adds. */
const withoutEnd = (raw: string) => raw.replace(/exit code \d+\r\n[^]*$/, '')

interface Picture {
  name: string
  /** Parameters as they are typed. */
  command: string[]
  env?: NodeJS.ProcessEnv
  /** For commands that end with Ctrl-C: what happens meanwhile, and what is shown then. */
  during?: { act: () => Promise<void>; until: RegExp }
}

const showPrompt = (command: string[]) =>
  `\u001B[32m$\u001B[0m kinora ${command.map((word) => (/[\s"]/.test(word) ? `"${word}"` : word)).join(' ')}\r\n`

const runOnTerminal = async (picture: Picture, columns: number, cwd: string, env: NodeJS.ProcessEnv) => {
  await using terminal: Terminal = startInTerminal([...program, ...picture.command], {
    ...{ columns, cwd },
    env: { ...env, ...picture.env },
  })
  const { during } = picture
  if (during !== undefined) {
    await waitFor(() => terminal.raw() !== '', `${picture.name} prints`)
    await during.act()
    await waitFor(() => during.until.test(terminal.raw()), `${picture.name} shows ${String(during.until)}`)
    terminal.type('\u0003')
  }
  await terminal.ended
  return showPrompt(picture.command) + withoutEnd(terminal.raw())
}

const stop = async (child: ChildProcess) => {
  if (child.exitCode !== null) return
  child.kill('SIGINT')
  await once(child, 'exit')
}

const runPiped = async (picture: Picture, cwd: string, env: NodeJS.ProcessEnv): Promise<string> => {
  const [command = '', ...parameters] = [...program, ...picture.command]
  const child = spawn(command, parameters, {
    cwd,
    env: { ...env, ...picture.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    printed += part
  })
  const errors = text(child.stderr)
  const exited = once(child, 'exit')
  const { during } = picture
  if (during !== undefined) {
    await sleep(2000)
    await during.act()
    await waitFor(() => during.until.test(printed), `${picture.name} prints ${String(during.until)}`)
    await stop(child)
  }
  await exited
  return `--- stdout\n${printed}--- stderr\n${await errors}--- exit code ${String(child.exitCode)}\n`
}

const startReceiver = async () => {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(204).end())
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return { server, port: (server.address() as AddressInfo).port }
}

const directory = await mkdtemp(join(tmpdir(), 'kinora-pictures-'))
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
const only = process.argv.slice(2)

/** Starts the service in a terminal, shows it after it has made a video, and draws the commands beside it. */
const drawAll = async (columns: number) => {
  const data = join(directory, '.kinora')
  const outer = { PATH: process.env['PATH'], HOME: directory, MODEL_DIR: join(directory, 'models') }
  const port = await reserveDevPorts(directory, data)
  const url = `http://127.0.0.1:${port}`
  const devCommand = ['dev', '--no-models', '--port', String(port)]
  await using dev = startInTerminal([...program, ...devCommand], { columns, cwd: directory, env: outer })
  await waitFor(() => dev.raw().includes('Kinora is ready'), 'the service starts')
  dev.type('v')
  await waitFor(() => dev.raw().includes('Saved '), 'the first video is made')
  // The usual port may be taken on this machine, but it is what a reader will see.
  const seen = dev.raw().replaceAll(`:${port}/`, ':8787/')
  await draw(browser, 'dev', showPrompt(['dev']) + seen, columns)

  const keys = JSON.parse(await readFile(join(data, 'keys.json'), 'utf8')) as Record<'payg' | 'admin', string>
  const env = { ...outer, KINORA_URL: url, KINORA_API_KEY: keys.payg }
  const create = async (prompt: string): Promise<string> => {
    const response = await fetch(`${url}/v1/videos`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.payg}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'vidB-2', prompt, seconds: 4, size: '480x480' }),
    })
    return ((await response.json()) as { id: string }).id
  }
  const failedId = await create('A whale sim:fail=upstream_error')
  await waitFor(() => dev.raw().includes('failed'), 'a video fails')
  const receiver = await startReceiver()
  const listened = { act: async () => void (await create('A kite')), until: /video\.completed/ }
  const pictures: Picture[] = [
    {
      name: 'create',
      command: ['video', 'create', 'A whale in a calm ocean at sunset', '-o', 'whale.mp4'],
    },
    { name: 'speak', command: ['speak', 'The ships left the harbour at first light.', '-o', 'ships.mp3'] },
    { name: 'transcribe', command: ['transcribe', 'ships.mp3', '--format', 'srt'] },
    {
      name: 'why',
      command: ['tasks', 'why', failedId, '--url', url],
      env: { OPERATOR_KEY: keys.admin },
    },
    {
      name: 'doctor',
      command: ['doctor'],
      env: { FFMPEG_PATH: '/opt/ffmpeg', DATABASE_URL: 'postgres://127.0.0.1:1/kinora' },
    },
    {
      name: 'listen',
      command: ['webhooks', 'listen', '--forward-to', `localhost:${receiver.port}/webhooks`],
      during: listened,
    },
  ]
  for (const picture of pictures) {
    if (only.length > 0 && !only.includes(picture.name)) continue
    await draw(browser, picture.name, await runOnTerminal(picture, columns, directory, env), columns)
    if (columns === widths[0])
      await writeFile(join(output, `${picture.name}.txt`), await runPiped(picture, directory, env))
    console.log(`${picture.name} in ${columns} columns`)
  }
  receiver.server.close()
  dev.type('q')
  await dev.ended
}

try {
  await mkdir(output, { recursive: true })
  linkRecognitionSets(join(directory, 'models'))
  for (const columns of widths) await drawAll(columns)
  const { size } = await sharp(join(output, 'dev-80.png')).png({ palette: true, colours: 32 }).toFile(shown)
  if (size > shownBytesMax) throw new Error(`${shown} has ${size} bytes, more than ${shownBytesMax}.`)
} finally {
  await browser.close()
  await rm(directory, { recursive: true, force: true })
}
