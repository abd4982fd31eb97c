/**
 * Everything on one machine with one command. Uses the PostgreSQL, Redis and Restate that the environment
 * names, and otherwise starts its own under the data directory. Ending it leaves no process behind.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

import { environmentWith, loadConfig, type Environment } from '@kinora/gateway/config'
import { migrate } from '@kinora/gateway/main'
import { createDevelopmentKeys, seedDevelopment, type DevelopmentKeys } from '@kinora/gateway/seed'

import { startEmbeddedPostgres } from './dev/embedded-postgres.ts'
import { choosePorts } from './dev/free-port.ts'
import { startRestateServer } from './dev/restate-server.ts'
import { lastLines, supervise } from './dev/supervise.ts'

export interface DevOptions {
  port: number
  directory: string
  isJson: boolean
}

const program = fileURLToPath(new URL('./kinora.ts', import.meta.url))
const readyWithinMs = 60_000

type Stoppable = { stop: () => Promise<void> }

/** A secret file of ours: read when it is there, made when it is not. */
const remembered = async <Value>(file: string, make: () => Value): Promise<Value> => {
  if (existsSync(file)) return JSON.parse(await readFile(file, 'utf8')) as Value
  const value = make()
  await writeFile(file, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 })
  return value
}

const assertFree = (port: number) =>
  new Promise<void>((free, taken) => {
    const server = createServer()
    server.once('error', () => taken(new Error(`Port ${port} is in use. Choose another one with --port.`)))
    server.listen({ host: '127.0.0.1', port }, () => server.close(() => free()))
  })

/** Starts one of our own roles as a process of its own and waits until it says that it is ready. */
const startRole = (
  role: 'api' | 'worker' | 'local',
  environment: Environment,
  logDirectory: string,
  say: (message: string) => void,
) => {
  let settle: { ready: () => void; failed: (reason: Error) => void } | undefined
  const ready = new Promise<void>((isReady, hasFailed) => {
    const timer = setTimeout(() => hasFailed(new Error(`${role} did not become ready.`)), readyWithinMs)
    settle = {
      ready: () => (clearTimeout(timer), isReady()),
      failed: (reason) => (clearTimeout(timer), hasFailed(reason)),
    }
  })
  const supervised = supervise({
    name: role,
    logDirectory,
    log: say,
    onGaveUp: (reason) => settle?.failed(new Error(`${role} cannot run: ${reason}`)),
    start: (output) => {
      const child = spawn(process.execPath, [program, role], {
        env: environment as NodeJS.ProcessEnv,
        stdio: ['ignore', output, output, 'ipc'],
      })
      child.on('message', (message) => {
        if ((message as { event?: string }).event === 'ready') settle?.ready()
      })
      // 78 is a configuration that will not get better by trying again.
      child.on('exit', (code) => {
        if (code === 78) settle?.failed(new Error(lastLines(supervised.logFile)))
      })
      return child
    },
  })
  return { ready, stop: () => supervised.stop('SIGTERM', 8_000) }
}

const curlFor = (url: string, key: string) =>
  [
    `curl ${url}/v1/videos \\`,
    `  -H "Authorization: Bearer ${key}" \\`,
    '  -F model=vidB-2 -F seconds=10 -F size=1280x720 \\',
    '  -F prompt="A whale swimming through a calm ocean at sunset"',
  ].join('\n')

const welcome = (url: string, keys: DevelopmentKeys, directory: string, seconds: string) => `
  Kinora is ready (${seconds} s)

  API      ${url}/v1
  Key      ${keys.payg}
  OpenAPI  ${url}/openapi.json
  Data     ${directory}   (keys of every kind in keys.json, logs in logs/)

  Make a video:

${curlFor(url, keys.payg).replace(/^/gm, '    ')}

  Then read it until it is completed, and open its video_url:

    curl -H "Authorization: Bearer ${keys.payg}" ${url}/v1/videos/<id>

  Ctrl-C stops everything.
`

export const dev = async ({ port, directory: given, isJson }: DevOptions): Promise<void> => {
  const startedMs = performance.now()
  const directory = resolve(given)
  const say = (message: string) => {
    if (!isJson) process.stdout.write(`  ${message}\n`)
  }
  const complain = (message: string) => process.stderr.write(`  ${message}\n`)
  const started: Stoppable[] = []
  const stopAll = async () => {
    for (const each of started.toReversed()) await each.stop()
  }
  const stopping = new Promise<void>((stop) => {
    process.once('SIGINT', () => stop())
    process.once('SIGTERM', () => stop())
  })

  try {
    await Promise.race([stopping.then(() => 'stop'), start()])
  } catch (error) {
    await stopAll()
    throw error
  }
  await stopping
  say('Stopping…')
  await stopAll()
  process.exit(0)

  async function start(): Promise<void> {
    const outer = environmentWith({})
    if (port !== 0) await assertFree(port)
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const logDirectory = join(directory, 'logs')
    await mkdir(logDirectory, { recursive: true })
    const secrets = await remembered(join(directory, 'secrets.json'), () => ({
      keyHash: randomBytes(32).toString('hex'),
      link: randomBytes(32).toString('hex'),
    }))
    const keys = await remembered(join(directory, 'keys.json'), createDevelopmentKeys)
    await Promise.all(['secrets.json', 'keys.json'].map((name) => chmod(join(directory, name), 0o600)))
    const ports = await choosePorts(join(directory, 'ports.json'), [
      'postgres',
      'ingress',
      'admin',
      'node',
      'worker',
      'local',
    ])

    const common = { environment: outer, logDirectory, log: complain }
    const database = async () => {
      if (outer['DATABASE_URL'] !== undefined) return outer['DATABASE_URL']
      say('Starting PostgreSQL…')
      const postgres = await startEmbeddedPostgres({ ...common, directory: join(directory, 'postgres'), port: ports.postgres })
      started.push(postgres)
      return postgres.url
    }
    const engine = async () => {
      if (outer['RESTATE_INGRESS_URL'] !== undefined && outer['RESTATE_ADMIN_URL'] !== undefined) {
        return { ingressUrl: outer['RESTATE_INGRESS_URL'], adminUrl: outer['RESTATE_ADMIN_URL'] }
      }
      say('Starting Restate…')
      const restate = await startRestateServer({ ...common, directory: join(directory, 'restate'), ports })
      started.push(restate)
      return restate
    }
    const [databaseUrl, { ingressUrl, adminUrl }] = await Promise.all([database(), engine()])
    const url = `http://127.0.0.1:${port}`
    const environment = environmentWith({
      HOST: '127.0.0.1',
      PORT: String(port),
      PUBLIC_URL: outer['PUBLIC_URL'] ?? url,
      DATABASE_URL: databaseUrl,
      RESTATE_INGRESS_URL: ingressUrl,
      RESTATE_ADMIN_URL: adminUrl,
      WORKER_PORT: String(ports.worker),
      WORKER_URL: `http://127.0.0.1:${ports.worker}`,
      LOCAL_URL: `http://127.0.0.1:${ports.local}`,
      LOCAL_DIRECTORY: join(directory, 'local'),
      MEDIA_DIRECTORY: join(directory, 'media'),
      KEY_HASH_SECRETS: outer['KEY_HASH_SECRETS'] ?? secrets.keyHash,
      LINK_SECRETS: outer['LINK_SECRETS'] ?? secrets.link,
      LIMIT_ADDRESS_PER_3_MINUTES: outer['LIMIT_ADDRESS_PER_3_MINUTES'] ?? '0',
    })
    const config = loadConfig(environment)
    say('Preparing the database…')
    await migrate(config)
    await seedDevelopment(config, keys)

    say('Starting the API, a worker and the built-in provider…')
    const roles = (['local', 'worker', 'api'] as const).map((role) => startRole(role, environment, logDirectory, complain))
    started.push(...roles)
    await Promise.all(roles.map(({ ready }) => ready))
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
    process.stdout.write(
      isJson
        ? `${JSON.stringify({ event: 'ready', url, console: null, keys })}\n`
        : welcome(url, keys, directory, seconds),
    )
  }
}
