/** Starts the parts of the service that `kinora dev` runs. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { environmentWith, loadConfig, loadSettings, type Environment } from '@kinora/gateway/config'
import { migrate } from '@kinora/gateway/main'
import { createDevelopmentKeys, seedDevelopment, type DevelopmentKeys } from '@kinora/gateway/seed'
import { findFfmpeg } from '@kinora/local/sandbox'

import { openEngineKey } from '../engine-key.ts'
import { localSettingNames } from '../local-settings.ts'
import { assertOwnDirectory, readOrCreate } from './data-files.ts'
import { lockDirectory } from './directory-lock.ts'
import { startEmbeddedPostgres } from './embedded-postgres.ts'
import { plainEnvironment } from './foreign-process.ts'
import { choosePorts } from './free-port.ts'
import { startModelPull } from './pull-models.ts'
import { startRestateServer } from './restate-server.ts'
import type { StatusLines } from './status-lines.ts'
import { supervise } from './supervise.ts'

/** The roles run the same program as this command. */
const [, program = ''] = process.argv
const readyWithinMs = 60_000
/** How long a role may take to exit after it has drained. */
const exitMsMax = 5_000
/** Gives the models the names that the openai SDKs document. */
const providersFile = fileURLToPath(new URL('./providers.yaml', import.meta.url))

interface Stoppable {
  stop: () => Promise<void>
}

interface Startup {
  options: { port: number; pullsModels: boolean }
  directory: string
  say: (message: string) => void
  warn: (message: string) => void
  /** Shows a step of the start while it takes place. */
  step: <Result>(name: string, work: () => Promise<Result>) => Promise<Result>
  status: StatusLines
  /** Everything started so far. It is stopped in reverse order. */
  started: Stoppable[]
  /** Called when this run holds the lock of the directory. */
  onLocked: () => void
}

interface Prepared {
  keys: DevelopmentKeys
  currency: string
  /** False if the environment names a database. */
  hasOwnDatabase: boolean
}

const assertFree = (port: number) =>
  new Promise<void>((resolve, reject) => {
    const server = createServer()
    server.once('error', () => reject(new Error(`Port ${port} is in use. Choose another one with --port.`)))
    server.listen({ host: '127.0.0.1', port }, () => server.close(() => resolve()))
  })

/** Before anything is started, because the built-in provider would only fail when everything else runs. */
const assertFfmpeg = async (outer: Environment) => {
  const settings = loadSettings(['FFMPEG_PATH', 'BUBBLEWRAP_PATH', 'REQUIRE_SANDBOX'], outer)
  await findFfmpeg({
    ffmpegPath: settings.FFMPEG_PATH,
    bubblewrapPath: settings.BUBBLEWRAP_PATH,
    requiresSandbox: settings.REQUIRE_SANDBOX,
  })
}

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
  { directory, step, warn, started }: Startup,
  outer: Environment,
  port: number,
) => {
  if (outer['DATABASE_URL'] !== undefined) return outer['DATABASE_URL']
  const postgres = await step('PostgreSQL', () =>
    startEmbeddedPostgres({
      directory: join(directory, 'postgres'),
      port,
      environment: outer,
      logDirectory: join(directory, 'logs'),
      log: warn,
    }),
  )
  started.push(postgres)
  return postgres.url
}

const startEngine = async (
  { directory, step, warn, started }: Startup,
  outer: Environment,
  ports: Record<'ingress' | 'admin' | 'node', number>,
) => {
  const { RESTATE_INGRESS_URL: ingressUrl, RESTATE_ADMIN_URL: adminUrl } = outer
  const givenKeys = outer['ENGINE_IDENTITY_KEYS'] ?? ''
  if (ingressUrl !== undefined && adminUrl !== undefined) {
    return { ingressUrl, adminUrl, identityKeys: givenKeys }
  }
  const { privateKeyFile, publicKey } = await openEngineKey(join(directory, 'restate', 'identity'))
  const restate = await step('Restate', () =>
    startRestateServer({
      directory: join(directory, 'restate'),
      ports,
      environment: outer,
      identityKeyFile: privateKeyFile,
      logDirectory: join(directory, 'logs'),
      log: warn,
    }),
  )
  started.push(restate)
  return { ...restate, identityKeys: publicKey }
}

/** Starts the service. What has been started is in `started`, also after a failure. */
export const startServices = async (startup: Startup): Promise<Prepared> => {
  const { options, directory, say, step, warn, status, started } = startup
  const outer = environmentWith({})
  await Promise.all([assertFree(options.port), assertFfmpeg(outer)])
  await assertOwnDirectory(directory)
  await mkdir(join(directory, 'logs'), { recursive: true, mode: 0o700 })
  await lockDirectory(directory)
  startup.onLocked()
  // The directory has keys, and is often inside of a repository.
  const ignored = join(directory, '.gitignore')
  if (!existsSync(ignored)) await writeFile(ignored, '*\n', { mode: 0o600 })
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
  await step('Database schema', async () => {
    await migrate(config)
    await seedDevelopment(config, keys)
  })

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
  await step('API, worker and built-in provider', () => Promise.all(roles.map(({ ready }) => ready)))
  if (options.pullsModels) {
    started.push(
      startModelPull({
        program,
        modelDirectory: config.MODEL_DIR,
        environment,
        logDirectory: join(directory, 'logs'),
        say,
        warn,
        status,
      }),
    )
  }
  return { keys, currency: config.CURRENCY, hasOwnDatabase: outer['DATABASE_URL'] === undefined }
}
