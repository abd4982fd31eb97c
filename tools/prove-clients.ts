/**
 * `npm run prove:clients`: client libraries against a fresh service, one line for each library and behaviour. Every other file
 * of `tools/clients` that exports a list of behaviours is run in Node; `@kinora/client` is also run in Bun, Deno and a page in
 * Chromium, and 1,000 creates lose their response. Bun and Deno are installed into a temporary directory.
 */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'

import { rolldown } from 'rolldown'

import { runBehaviours, type Behaviour, type BehaviourResult } from './clients/behaviours.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
const folder = join(import.meta.dirname, 'clients')
const runtimes = ['bun@1.4.4', 'deno@2.9.6']
const browser = '/usr/bin/chromium'

let failed = 0
const report = (library: string, results: BehaviourResult[]) => {
  for (const { name, problem } of results) {
    if (problem !== undefined) failed += 1
    console.log(
      `${problem === undefined ? 'ok    ' : 'FAILED'} ${library}: ${name}${problem === undefined ? '' : `: ${problem}`}`,
    )
  }
}

const bundle = async (name: string, file: string): Promise<string> => {
  const input = await rolldown({ input: join(folder, name), platform: 'neutral' })
  await input.write({ file, format: 'esm' })
  return file
}

const startService = async (directory: string) => {
  const parameters = [
    'cli/src/kinora.ts',
    'dev',
    '--json',
    '--no-models',
    '--no-open',
    '--data',
    join(directory, 'data'),
  ]
  const dev = spawn(process.execPath, parameters, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  for await (const part of dev.stdout as AsyncIterable<Buffer>) {
    output += part.toString()
    if (output.includes('\n')) break
  }
  const { url, keys } = JSON.parse(output) as { url: string; keys: { payg: string } }
  const stop = async () => {
    if (dev.exitCode !== null) return
    dev.kill('SIGTERM')
    await once(dev, 'exit')
  }
  return { url, key: keys.payg, stop }
}

/** The lists of the other libraries, which run in this process. */
const readLists = async (): Promise<[string, Behaviour[]][]> => {
  const own = ['behaviours.ts', 'kinora.ts', 'run-kinora.ts', 'run-in-page.ts']
  const files = globSync('*.ts', { cwd: folder }).filter(
    (file) => !own.includes(file) && !file.endsWith('.test.ts'),
  )
  return await Promise.all(
    files.toSorted().map(async (file): Promise<[string, Behaviour[]]> => {
      const exported = (await import(join(folder, file))) as Record<string, unknown>
      const list = Object.values(exported).find((value) => Array.isArray(value))
      return [file.replace(/\.ts$/, ''), (list ?? []) as Behaviour[]]
    }),
  )
}

const readResults = (output: string) =>
  JSON.parse(output.trim().split('\n').at(-1) ?? '[]') as BehaviourResult[]

const runInPage = async (directory: string, baseUrl: string, key: string): Promise<BehaviourResult[]> => {
  const script = await bundle('run-in-page.ts', join(directory, 'page.mjs'))
  const code = await readFile(script)
  const { promise, resolve } = Promise.withResolvers<BehaviourResult[]>()
  const server = createServer((request, response) => {
    if (request.url === '/results') {
      void text(request).then((body) => resolve(readResults(body)))
      response.end()
    } else if (request.url === '/page.mjs') {
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(code)
    } else {
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<script type="module" src="/page.mjs"></script>')
    }
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const page = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  page.search = new URLSearchParams({ url: baseUrl, key }).toString()
  const profile = `--user-data-dir=${join(directory, 'profile')}`
  const chromium = spawn(browser, ['--headless', '--no-sandbox', '--disable-gpu', profile, page.href], {
    stdio: 'ignore',
  })
  try {
    return await Promise.race([
      promise,
      once(chromium, 'exit').then(() => [{ name: 'the page', problem: 'Chromium ended' }]),
    ])
  } finally {
    chromium.kill()
    server.closeAllConnections()
    server.close()
  }
}

const directory = await mkdtemp(join(tmpdir(), 'kinora-prove-clients-'))
const service = await startService(directory)
try {
  const { url, key } = service
  const program = await bundle('run-kinora.ts', join(directory, 'run.mjs'))
  const inNode = await run(process.execPath, [program, url, key])
  report('@kinora/client, Node', readResults(inNode.stdout))
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefix', directory, ...runtimes], {
    cwd: directory,
  })
  const bin = join(directory, 'node_modules/.bin')
  const inBun = await run(join(bin, 'bun'), [program, url, key])
  report('@kinora/client, Bun', readResults(inBun.stdout))
  const inDeno = await run(join(bin, 'deno'), ['run', '--allow-net', '--allow-env', program, url, key])
  report('@kinora/client, Deno', readResults(inDeno.stdout))
  if (existsSync(browser)) report('@kinora/client, Chromium', await runInPage(directory, url, key))
  else report('@kinora/client, Chromium', [{ name: 'the page', problem: `${browser} is not installed` }])
  for (const [library, behaviours] of await readLists())
    report(library, await runBehaviours(behaviours, url, key))
} finally {
  await service.stop()
  await rm(directory, { recursive: true, force: true })
}

// npm scripts have vitest in their path.
const { status } = spawnSync('vitest', ['run', '--project', 'operations', join(root, 'client/test')], {
  stdio: 'inherit',
  env: { ...process.env, CLIENT_CREATES: '1000' },
})
report('@kinora/client', [{ name: '1,000 lost responses', ...(status !== 0 && { problem: 'see above' }) }])
process.exitCode = failed === 0 ? 0 : 1
