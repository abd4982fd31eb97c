/**
 * `npm run prove:first-minute`: from the packages in an empty folder to a video that plays, by what the screen of
 * `npx kinora dev` says and nothing else: with the key that it names, and with the commands that it prints. Prints the steps
 * and seconds. Models are not downloaded, because a video needs none.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

import { startInTerminal } from '../cli/test/kit/terminal.ts'
import { reserveDevPorts } from '../gateway/test/kit/reserve-ports.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
const tarballs = join(root, 'build/tarballs')
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('npm_') && name !== 'INIT_CWD'),
)

const startedMs = performance.now()
const rows: { step: string; seconds: number }[] = []
let lastMs = startedMs
const finishStep = (step: string) => {
  const nowMs = performance.now()
  rows.push({ step, seconds: (nowMs - lastMs) / 1000 })
  lastMs = nowMs
}

/** Throws unless every frame decodes. */
const play = async (file: string) => {
  const { stderr } = await run('ffmpeg', ['-v', 'error', '-i', file, '-f', 'null', '-'])
  if (stderr !== '') throw new Error(`${file} does not play: ${stderr}`)
}

const directory = await mkdtemp(join(tmpdir(), 'kinora-first-minute-'))
try {
  await run(process.execPath, [join(root, 'tools/build.ts'), '--pack'])
  const files = (await readdir(tarballs)).map((file) => join(tarballs, file))
  lastMs = performance.now()
  await run('npm', ['install', '--no-audit', '--no-fund', ...files], { cwd: directory, env: environment })
  finishStep('install the packages')

  // Other services on this machine may have the usual port, so it is not left out here.
  const port = String(await reserveDevPorts(directory, join(directory, '.kinora')))
  lastMs = performance.now()
  await using terminal = startInTerminal(
    ['npx', '--no-install', 'kinora', 'dev', '--no-models', '--port', port],
    { columns: 80, cwd: directory, env: environment },
  )
  const screen = () => terminal.lines().join('\n')
  const read = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const match = pattern.exec(screen())
      if (match !== null) return match[1] ?? ''
      if (/exit code \d/.test(terminal.raw())) throw new Error(`It ended:\n${screen()}`)
      await sleep(50)
    }
  }
  await read(/(Press v to make a video)/)
  finishStep('type `npx kinora dev`, and read that it is ready')
  terminal.type('v')
  const saved = await read(/Saved (\S+\.mp4)/)
  await play(join(directory, saved))
  finishStep('press `v`, and play the file that it names')

  const [create = '', status = ''] = [...screen().matchAll(/^ +(curl (?:.*\\\n)+.*)$/gm)].map(
    ([, command]) => command ?? '',
  )
  const sh = async (command: string) =>
    JSON.parse((await run('sh', ['-c', command])).stdout) as Record<string, unknown>
  const { id } = await sh(create)
  finishStep('copy the command that creates a video')
  let video = await sh(status.replace('<id>', String(id)))
  while (video['status'] === 'pending' || video['status'] === 'processing')
    video = await sh(status.replace('<id>', String(id)))
  finishStep('copy the command that waits for it, with the id')
  const response = await fetch(String(video['video_url']))
  const file = join(directory, 'linked.mp4')
  await writeFile(file, new Uint8Array(await response.arrayBuffer()))
  await play(file)
  finishStep('open `video_url`')
  terminal.type('q')
  await terminal.ended
} catch (error) {
  const log = await readFile(join(directory, '.kinora/logs/dev.log'), 'utf8').catch(() => '')
  console.error(log.slice(-4000))
  throw error
} finally {
  await rm(directory, { recursive: true, force: true })
}
for (const { step, seconds } of rows) console.log(`${seconds.toFixed(1).padStart(6)} s  ${step}`)
