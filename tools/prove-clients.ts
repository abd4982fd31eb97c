/**
 * `npm run prove:clients`: client libraries against a fresh service, one line for each library and behaviour. `openai` for Node
 * and for Python and the AI SDK run here; `@kinora/client` runs in Node, Bun, Deno and a page in Chromium, from one bundle.
 * Then 1,000 creates lose their response, and the connections of one `videos.run` break 20 times. Bun and Deno are installed
 * into a temporary directory; PYTHON_ROOT names one with Debian's python3-openai, see `tools/prove-webhooks.ts`.
 * `RECORD_COMPATIBILITY=1` records the rows of `docs/compatibility.json` that are found here.
 */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { isDeepStrictEqual, promisify } from 'node:util'

import { rolldown } from 'rolldown'

import { reserveDevPorts } from '../gateway/test/kit/reserve-ports.ts'
import { linkRecognitionSets } from '../local/test/kit/model-directory.ts'
import { aiSdk, aiSdkOpenAi } from './clients/ai-sdk.ts'
import {
  compatibilityRows,
  runBehaviours,
  type BehaviourResult,
  type ClientLibrary,
} from './clients/behaviour.ts'
import { kinoraBehaviours } from './clients/kinora.ts'
import { openAiNodeBehaviours } from './clients/openai-node.ts'
import { readPythonLibrary } from './clients/python.ts'
import { checkedInRows, sortRows } from './compatibility.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
const folder = join(import.meta.dirname, 'clients')
/** The packages with the programs themselves, because npm runs no install scripts here. */
const runtimes = {
  bun: process.arch === 'arm64' ? '@oven/bun-linux-aarch64@1.4.4' : '@oven/bun-linux-x64@1.4.4',
  deno: `@deno/linux-${process.arch}-glibc@2.9.6`,
}
const browser = '/usr/bin/chromium'

let failed = 0
let held = 0
const report = (library: string, results: BehaviourResult[]) => {
  for (const { name, problem } of results) {
    if (problem === undefined) held += 1
    else failed += 1
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
  const data = join(directory, 'data')
  const port = String(await reserveDevPorts(directory, data))
  const options = ['--json', '--no-models', '--no-open', '--port', port, '--data', data]
  const dev = spawn(process.execPath, ['cli/src/kinora.ts', 'dev', ...options], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, MODEL_DIR: linkRecognitionSets(join(directory, 'models')) },
  })
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
  const ended = once(chromium, 'exit')
  try {
    return await Promise.race([promise, ended.then(() => [{ name: 'the page', problem: 'Chromium ended' }])])
  } finally {
    chromium.kill()
    await ended
    server.closeAllConnections()
    server.close()
  }
}

/** `@kinora/client` in all runtimes. */
const runKinora = async (directory: string, url: string, key: string) => {
  const program = await bundle('run-kinora.ts', join(directory, 'run.mjs'))
  await run(
    'npm',
    ['install', '--no-audit', '--no-fund', '--prefix', directory, ...Object.values(runtimes)],
    {
      cwd: directory,
    },
  )
  const modules = join(directory, 'node_modules')
  const nameOf = (runtime: string) => runtime.slice(0, runtime.lastIndexOf('@'))
  const bun = join(modules, nameOf(runtimes.bun), 'bin/bun')
  const deno = join(modules, nameOf(runtimes.deno), 'deno')
  const commands: [string, string, string[]][] = [
    ['Node', process.execPath, [program]],
    ['Bun', bun, [program]],
    ['Deno', deno, ['run', '--allow-net', '--allow-env', program]],
  ]
  for (const [runtime, command, parameters] of commands) {
    const { stdout } = await run(command, [...parameters, url, key])
    report(`@kinora/client, ${runtime}`, readResults(stdout))
  }
  report('@kinora/client, Chromium', await runInPage(directory, url, key))
}

const runInProcess = async (url: string, key: string, python: ClientLibrary) => {
  report('openai, Node', await runBehaviours(openAiNodeBehaviours, url, key))
  report('openai, Python', await runBehaviours(python.behaviours, url, key))
  report('ai, @kinora/ai-sdk', await runBehaviours(aiSdk.behaviours, url, key))
  report('ai, @ai-sdk/openai', await runBehaviours(aiSdkOpenAi.behaviours, url, key))
}

/** Compares, or records, the rows of the libraries that no test of CI runs. The others are compared there. */
const compareRows = (python: ClientLibrary) => {
  const kinora: ClientLibrary = {
    library: 'kinora-client',
    version: 'of this repository',
    behaviours: kinoraBehaviours,
  }
  const provedBy = 'tools/prove-clients.ts'
  const found = [kinora, python].flatMap((library) => compatibilityRows(library, provedBy))
  const isSame = isDeepStrictEqual(sortRows(found), sortRows(checkedInRows(provedBy, found)))
  const problem = 'other rows; RECORD_COMPATIBILITY=1 records those found'
  report('docs/compatibility.json', [{ name: 'has these rows', ...(!isSame && { problem }) }])
}

// The AI SDK prints its warnings otherwise.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })
const startedMs = performance.now()
const directory = await mkdtemp(join(tmpdir(), 'kinora-prove-clients-'))
const service = await startService(directory)
try {
  const python = await readPythonLibrary()
  await runKinora(directory, service.url, service.key)
  await runInProcess(service.url, service.key, python)
  if (failed === 0) compareRows(python)
} finally {
  await service.stop()
  await rm(directory, { recursive: true, force: true })
}

// npm scripts have vitest in their path.
const lossTests = ['run', '--project', 'operations', join(root, 'client/test')]
const { status } = spawnSync('vitest', lossTests, {
  stdio: 'inherit',
  env: { ...process.env, CLIENT_CREATES: '1000' },
})
const losses = '1,000 lost responses, and a run whose connections break 20 times'
report('@kinora/client', [{ name: losses, ...(status !== 0 && { problem: 'see above' }) }])
console.log(`${held} held, ${failed} failed, in ${((performance.now() - startedMs) / 1000).toFixed(0)} s`)
process.exitCode = failed === 0 ? 0 : 1
