/**
 * `kinora dev`: runs the whole service on one machine. Uses the PostgreSQL and Restate that the environment names, or
 * starts its own under the data directory; uses Redis only if the environment names it. Stops every process that it started.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

import { environmentWith, loadConfig, loadSettings, type Environment } from '@kinora/gateway/config'
import { createLog, type Log } from '@kinora/gateway/log'
import { migrate } from '@kinora/gateway/main'
import {
  createDevelopmentKeys,
  developmentBalance,
  seedDevelopment,
  type DevelopmentKeys,
} from '@kinora/gateway/seed'

import { announceService, withdrawService } from './connection/dev-service.ts'
import { lockDirectory } from './dev/directory-lock.ts'
import { startEmbeddedPostgres } from './dev/embedded-postgres.ts'
import { plainEnvironment } from './dev/foreign-process.ts'
import { choosePorts } from './dev/free-port.ts'
import { boundLog } from './dev/log-file.ts'
import { startModelPull } from './dev/pull-models.ts'
import { startRestateServer } from './dev/restate-server.ts'
import { supervise } from './dev/supervise.ts'
import { openEngineKey } from './engine-key.ts'
import { localSettingNames } from './local-settings.ts'

export interface DevOptions {
  port: number
  directory: string
  isJson: boolean
  pullsModels: boolean
}

/** The roles run the same program as this command. */
const [, program = ''] = process.argv
const readyWithinMs = 60_000
/** How long a role may take to exit after it has drained. */
const exitMsMax = 5_000
/** Gives the models the names that the openai SDKs document. */
const providersFile = fileURLToPath(new URL('./dev/providers.yaml', import.meta.url))

type Stoppable = { stop: () => Promise<void> }

const parseFile = <Value>(file: string, text: string): Value => {
  try {
    return JSON.parse(text) as Value
  } catch {
    throw new Error(
      `${file} is not valid JSON. Restore it from a backup, or delete it to generate new values.`,
    )
  }
}

/** Reads a private JSON file, or creates it. Adds members that a file of an older version lacks. */
const readOrCreate = async <Value extends object>(file: string, create: () => Value): Promise<Value> => {
  const stored = existsSync(file) ? parseFile<Partial<Value>>(file, await readFile(file, 'utf8')) : {}
  const created = create()
  const value = { ...created, ...stored }
  if (Object.keys(created).some((name) => !Object.hasOwn(stored, name))) {
    // Writes to a temporary file first, so that a crash does not lose the old content.
    await writeFile(`${file}.new`, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 })
    await rename(`${file}.new`, file)
  }
  return value
}

const assertFree = (port: number) =>
  new Promise<void>((resolve, reject) => {
    const server = createServer()
    server.once('error', () => reject(new Error(`Port ${port} is in use. Choose another one with --port.`)))
    server.listen({ host: '127.0.0.1', port }, () => server.close(() => resolve()))
  })

/** Starts a role as a child process. `ready` resolves when the child reports that it is ready. */
const startRole = (
  role: 'api' | 'worker' | 'local',
  environment: Environment,
  logDirectory: string,
  stopGraceMs: number,
  report: (message: string) => void,
) => {
  let settle: { ready: () => void; failed: (reason: Error) => void } | undefined
  const ready = new Promise<void>((resolve, reject) => {
    const failLate = () =>
      reject(new Error(`${role} was not ready within ${readyWithinMs / 1000} s. See ${supervised.logFile}.`))
    const timer = setTimeout(failLate, readyWithinMs)
    settle = {
      ready: () => (clearTimeout(timer), resolve()),
      failed: (reason) => (clearTimeout(timer), reject(reason)),
    }
  })
  const supervised = supervise({
    name: role,
    logDirectory,
    log: report,
    onGaveUp: (reason) => settle?.failed(new Error(`${role} failed to start: ${reason}`)),
    start: (output) => {
      const child = spawn(process.execPath, [program, role], {
        env: environment,
        stdio: ['ignore', output, output, 'ipc'],
      })
      child.on('message', (message) => {
        if ((message as { event?: string }).event === 'ready') settle?.ready()
      })
      // A role that fails before it was ready fails the start. One that was ready is restarted.
      child.on('exit', (code) => {
        if (code !== 0) settle?.failed(new Error(`${role} failed to start:\n${supervised.lastLines()}`))
      })
      return child
    },
  })
  return { ready, stop: () => supervised.stop('SIGTERM', stopGraceMs) }
}

const curlFor = (url: string, key: string) =>
  [
    `curl ${url}/v1/videos \\`,
    `  -H "Authorization: Bearer ${key}" \\`,
    '  -F model=vidB-2 -F seconds=10 -F size=1280x720 \\',
    '  -F prompt="A whale swimming through a calm ocean at sunset"',
  ].join('\n')

interface Prepared {
  keys: DevelopmentKeys
  currency: string
}

const welcome = (url: string, { keys, currency }: Prepared, directory: string, seconds: string) => `
  Kinora is ready (${seconds} s)

  API      ${url}/v1
  Key      ${keys.payg}   (development account, topped up with ${developmentBalance(currency)})
  OpenAPI  ${url}/openapi.json
  Data     ${directory}   (more keys in keys.json, logs in logs/)

  Create a video:

${curlFor(url, keys.payg).replace(/^/gm, '    ')}

  Poll it until its status is completed, then open its video_url:

    curl -H "Authorization: Bearer ${keys.payg}" ${url}/v1/videos/<id>

  Press Ctrl-C to stop.
`

/** The log of `dev` itself, in the same format as the logs of the roles. */
const openDevLog = (directory: string): Log => {
  const file = join(directory, 'logs', 'dev.log')
  boundLog(file)
  return createLog({ level: 'info', file }, 'dev')
}

interface Startup {
  options: DevOptions
  directory: string
  say: (message: string) => void
  warn: (message: string) => void
  /** Everything started so far. It is stopped in reverse order. */
  started: Stoppable[]
  /** Called when this run holds the lock of the directory. */
  onLocked: () => void
}

/** The settings of the roles. Values from the environment win over those generated for this directory. */
const settingsFor = (
  { options, directory }: Startup,
  outer: Environment,
  ports: Record<'worker' | 'local', number>,
  secrets: Record<'keyHash' | 'link' | 'audit' | 'credential', string>,
) => ({
  HOST: loadSettings(['DEV_HOST'], outer).DEV_HOST,
  PORT: String(options.port),
  // A web page in a browser on this machine could otherwise reach these ports under its own host name.
  ALLOWED_HOSTS: outer['ALLOWED_HOSTS'] ?? 'localhost,127.0.0.1,[::1]',
  PUBLIC_URL: outer['PUBLIC_URL'] ?? `http://127.0.0.1:${options.port}`,
  WORKER_PORT: String(ports.worker),
  WORKER_URL: `http://127.0.0.1:${ports.worker}`,
  LOCAL_URL: `http://127.0.0.1:${ports.local}`,
  PROVIDERS_FILE: outer['PROVIDERS_FILE'] ?? providersFile,
  OFFER_MODELS_WITHOUT_ROUTES: outer['OFFER_MODELS_WITHOUT_ROUTES'] ?? 'true',
  LOCAL_DIRECTORY: join(directory, 'local'),
  MEDIA_DIRECTORY: join(directory, 'media'),
  KEY_HASH_SECRETS: outer['KEY_HASH_SECRETS'] ?? secrets.keyHash,
  LINK_SECRETS: outer['LINK_SECRETS'] ?? secrets.link,
  AUDIT_SECRETS: outer['AUDIT_SECRETS'] ?? secrets.audit,
  CREDENTIAL_SECRETS: outer['CREDENTIAL_SECRETS'] ?? secrets.credential,
  // The receiver of a developer runs on this machine.
  WEBHOOK_ALLOW_LOOPBACK: outer['WEBHOOK_ALLOW_LOOPBACK'] ?? 'true',
  // All requests come from one address here, so the limit per address is off.
  LIMIT_ADDRESS_PER_3_MINUTES: outer['LIMIT_ADDRESS_PER_3_MINUTES'] ?? '0',
})

const metricsOffsets = { api: 0, worker: 1, local: 2 }

/** The roles run on one machine, so each serves its metrics on another port: METRICS_PORT and the two after it. */
const withMetricsPort = (environment: Environment, role: keyof typeof metricsOffsets): Environment => {
  const given = environment['METRICS_PORT'] ?? ''
  if (given === '') return environment
  return { ...environment, METRICS_PORT: String(Number(given) + metricsOffsets[role]) }
}

/** The built-in provider decodes files of strangers, so it gets its own settings only: no secret, no database. */
const environmentOfLocal = (environment: Environment, modelDirectory: string): Environment => ({
  ...plainEnvironment(environment),
  ...Object.fromEntries(
    localSettingNames.flatMap((name) => (name in environment ? [[name, environment[name]]] : [])),
  ),
  MODEL_DIR: modelDirectory,
})

const startDatabase = async (
  { directory, say, warn, started }: Startup,
  outer: Environment,
  port: number,
) => {
  if (outer['DATABASE_URL'] !== undefined) return outer['DATABASE_URL']
  say('Starting PostgreSQL…')
  const postgres = await startEmbeddedPostgres({
    directory: join(directory, 'postgres'),
    port,
    environment: outer,
    logDirectory: join(directory, 'logs'),
    log: warn,
  })
  started.push(postgres)
  return postgres.url
}

const startEngine = async (
  { directory, say, warn, started }: Startup,
  outer: Environment,
  ports: Record<'ingress' | 'admin' | 'node', number>,
) => {
  const { RESTATE_INGRESS_URL: ingressUrl, RESTATE_ADMIN_URL: adminUrl } = outer
  const givenKeys = outer['ENGINE_IDENTITY_KEYS'] ?? ''
  if (ingressUrl !== undefined && adminUrl !== undefined) {
    return { ingressUrl, adminUrl, identityKeys: givenKeys }
  }
  say('Starting Restate…')
  const { privateKeyFile, publicKey } = await openEngineKey(join(directory, 'restate', 'identity'))
  const restate = await startRestateServer({
    directory: join(directory, 'restate'),
    ports,
    environment: outer,
    identityKeyFile: privateKeyFile,
    logDirectory: join(directory, 'logs'),
    log: warn,
  })
  started.push(restate)
  return { ...restate, identityKeys: publicKey }
}

const startEverything = async (startup: Startup): Promise<Prepared> => {
  const { options, directory, say, warn, started } = startup
  const outer = environmentWith({})
  await assertFree(options.port)
  await mkdir(join(directory, 'logs'), { recursive: true, mode: 0o700 })
  await lockDirectory(directory)
  startup.onLocked()
  // The directory has keys, and is often inside of a repository.
  await writeFile(join(directory, '.gitignore'), '*\n', { mode: 0o600 })
  const secrets = await readOrCreate(join(directory, 'secrets.json'), () => ({
    keyHash: randomBytes(32).toString('hex'),
    link: randomBytes(32).toString('hex'),
    audit: randomBytes(32).toString('hex'),
    credential: randomBytes(32).toString('hex'),
  }))
  const keys = await readOrCreate(join(directory, 'keys.json'), createDevelopmentKeys)
  const names = ['postgres', 'ingress', 'admin', 'node', 'worker', 'local'] as const
  const ports = await choosePorts(join(directory, 'ports.json'), names)

  const [databaseUrl, { ingressUrl, adminUrl, identityKeys }] = await Promise.all([
    startDatabase(startup, outer, ports.postgres),
    startEngine(startup, outer, ports),
  ])
  const environment = environmentWith({
    ...settingsFor(startup, outer, ports, secrets),
    DATABASE_URL: databaseUrl,
    RESTATE_INGRESS_URL: ingressUrl,
    RESTATE_ADMIN_URL: adminUrl,
    ENGINE_IDENTITY_KEYS: identityKeys,
  })
  const config = loadConfig(environment)
  say('Migrating the database…')
  await migrate(config)
  await seedDevelopment(config, keys)

  say('Starting the API, the worker and the built-in provider…')
  const stopGraceMs = (config.LAME_DUCK_SECONDS + config.DRAIN_SECONDS) * 1_000 + exitMsMax
  const roles = (['local', 'worker', 'api'] as const).map((role) =>
    startRole(
      role,
      withMetricsPort(
        role === 'local' ? environmentOfLocal(environment, config.MODEL_DIR) : environment,
        role,
      ),
      join(directory, 'logs'),
      stopGraceMs,
      warn,
    ),
  )
  started.push(...roles)
  await Promise.all(roles.map(({ ready }) => ready))
  if (options.pullsModels) {
    started.push(
      startModelPull({
        program,
        modelDirectory: config.MODEL_DIR,
        environment,
        logDirectory: join(directory, 'logs'),
        say,
        warn,
      }),
    )
  }
  return { keys, currency: config.CURRENCY }
}

export const dev = async (options: DevOptions): Promise<void> => {
  const startedMs = performance.now()
  const directory = resolve(options.directory)
  const started: Stoppable[] = []
  const say = (message: string) => {
    if (!options.isJson) process.stdout.write(`  ${message}\n`)
  }
  let log: Log | undefined
  const warn = (message: string) => {
    process.stderr.write(`  ${message}\n`)
    log?.warn({ problem: message }, 'dev.problem')
  }
  const onLocked = () => {
    log = openDevLog(directory)
    log.info({ pid: process.pid }, 'dev.starting')
  }
  const stopAll = async () => {
    // Only the run that holds the lock of the directory has written it.
    if (log !== undefined) await withdrawService(directory)
    for (const each of started.toReversed()) await each.stop()
  }
  const stopping = new Promise<undefined>((stop) => {
    // A terminal and npm may both send a signal. A second one must not interrupt the shutdown.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop(undefined))
  })

  try {
    const prepared = await Promise.race([
      stopping,
      startEverything({ options, directory, say, warn, started, onLocked }),
    ])
    if (prepared !== undefined) {
      const url = `http://127.0.0.1:${options.port}`
      const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
      log?.info({ url }, 'dev.started')
      await announceService(directory, { url, key: prepared.keys.payg, operatorKey: prepared.keys.admin })
      process.stdout.write(
        options.isJson
          ? `${JSON.stringify({ event: 'ready', url, console: null, keys: prepared.keys })}\n`
          : welcome(url, prepared, directory, seconds),
      )
    }
    await stopping
    say('Stopping…')
  } catch (error) {
    log?.error({ err: error }, 'dev.not-started')
    throw error
  } finally {
    await stopAll()
    log?.info('dev.stopped')
  }
  process.exit(0)
}
