#!/usr/bin/env node
/** The one program: every role of the service, and what an operator does by hand. */
import { readFileSync } from 'node:fs'
import { enableCompileCache } from 'node:module'

import { ConfigError, loadConfig, loadSettings } from '@kinora/gateway/config'
import { Command } from 'commander'

import { runRole } from './role.ts'

// Each command loads only what it runs, and what was compiled once is not compiled again: starting is
// most of what a person waits for.
enableCompileCache()

const exitCodes = { failed: 1, configuration: 78 }

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
}

const readPort = (text: string): number => {
  const port = Number(text)
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port
  throw new Error(`--port must be a number between 1 and 65535, got "${text}".`)
}

const program = new Command('kinora')
  .description('A self-hosted media generation service.')
  .version(version)
  .showHelpAfterError()

program
  .command('dev')
  .description('Run everything on this machine: no account, no database and no vendor needed.')
  .option('--port <port>', 'port of the API', '8787')
  .option('--data <directory>', 'where data, logs and keys are kept', '.kinora')
  .option('--json', 'print one line of JSON when ready, and nothing else')
  .option('--no-open', 'accepted for scripts; no browser is opened either way')
  .option('--no-models', 'do not pull models in the background')
  .action(async (options: { port: string; data: string; json?: true; models: boolean }) => {
    const { dev } = await import('./dev.ts')
    await dev({
      port: readPort(options.port),
      directory: options.data,
      isJson: options.json === true,
      pullsModels: options.models,
    })
  })

program
  .command('api')
  .description('Serve the HTTP API.')
  .action(async () => {
    const config = loadConfig()
    const { startApi } = await import('@kinora/gateway/main')
    await runRole('api', config, (log) => startApi(config, log))
  })

program
  .command('worker')
  .description('Serve the engine: carries video tasks to their end.')
  .action(async () => {
    const config = loadConfig()
    const { startWorker } = await import('@kinora/gateway/main')
    await runRole('worker', config, (log) => startWorker(config, log))
  })

program
  .command('local')
  .description('Serve the built-in provider, which makes real videos and speech.')
  .action(async () => {
    const { startLocalProvider } = await import('@kinora/local/server')
    const settings = loadSettings([
      'LOCAL_URL',
      'LOCAL_DIRECTORY',
      'LOCAL_RENDERS',
      'MODEL_DIR',
      'FFMPEG_PATH',
      'DRAIN_SECONDS',
      'LOG_LEVEL',
    ])
    const { hostname, port } = new URL(settings.LOCAL_URL)
    await runRole('local', settings, (log) =>
      startLocalProvider({
        host: hostname,
        port: Number(port === '' ? 80 : port),
        directory: settings.LOCAL_DIRECTORY,
        modelDirectory: settings.MODEL_DIR,
        ffmpegPath: settings.FFMPEG_PATH,
        renders: settings.LOCAL_RENDERS,
        log: (event, fields, level = 'info') => log[level](fields, event),
      }),
    )
  })

program
  .command('migrate')
  .description('Bring the database up to date.')
  .action(async () => {
    const { migrate } = await import('@kinora/gateway/main')
    const applied = await migrate(loadSettings(['DATABASE_URL', 'LOG_LEVEL']))
    process.stdout.write(applied.length === 0 ? 'Nothing to do.\n' : `Applied ${applied.join(', ')}.\n`)
  })

program
  .command('retention')
  .description('Clear away what is past its time, as workers do by themselves.')
  .option('--dry-run', 'only say what would go')
  .action(async ({ dryRun }: { dryRun?: true }) => {
    const { clear, showExpired } = await import('./retention.ts')
    await (dryRun === true ? showExpired() : clear())
  })

program
  .command('audit')
  .description('Audit the ledger; ends with 1 where the books are not sound.')
  .option('--json', 'print one line of JSON')
  .action(async ({ json }: { json?: true }) => {
    const { audit } = await import('./audit.ts')
    process.exitCode = await audit({ isJson: json === true })
  })

program
  .command('admin')
  .description("Operators' keys.")
  .command('create')
  .description("Make an operator's key, straight in the database; it is printed once.")
  .option('--name <name>', 'a name for the key', 'operator')
  .action(async ({ name }: { name: string }) => {
    const { createAdminKey } = await import('@kinora/gateway/seed')
    const key = await createAdminKey(loadSettings(['DATABASE_URL', 'LOG_LEVEL', 'KEY_HASH_SECRETS']), name)
    process.stdout.write(`${key}\n`)
    process.stderr.write('Keep this key now: it is stored as a hash only and cannot be shown again.\n')
  })

const models = program.command('models').description('The models of the built-in provider.')

models
  .command('pull')
  .argument('[names...]', 'speech, recognition, chat, or sets by their names; otherwise all but chat')
  .option('--small', 'only the small ones, which `dev` pulls by itself')
  .description('Fetch models; what is there is kept.')
  .action(async (names: string[], { small }: { small?: true }) => {
    const { pull } = await import('./models.ts')
    process.exit(await pull(names, { isSmall: small === true }))
  })

models
  .command('list')
  .description('Show what can be pulled, and what is there.')
  .action(async () => {
    const { list } = await import('./models.ts')
    list()
  })

models
  .command('check')
  .description('Read every file that is there again and compare its hash.')
  .action(async () => {
    const { check } = await import('./models.ts')
    process.exitCode = await check()
  })

program
  .command('doctor')
  .description('Look at what this machine has and lacks, and say what to do about it.')
  .option('--json', 'print one line of JSON')
  .action(async ({ json }: { json?: true }) => {
    const { doctor } = await import('./doctor.ts')
    process.exitCode = await doctor({ isJson: json === true })
  })

/** An address nobody answers at is the likeliest mistake, and the system's own words do not say whose it is. */
const explained = (error: unknown): string => {
  const { code, message } = error as { code?: unknown; message?: unknown }
  const text = typeof message === 'string' && message !== '' ? message : String(error)
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND'
    ? `${text}\nNothing answers there. Is PostgreSQL running, and is DATABASE_URL its address?`
    : text
}

try {
  await program.parseAsync()
} catch (error) {
  process.stderr.write(`${explained(error)}\n`)
  // At once: the channel to a process that started this one would keep it alive.
  process.exit(error instanceof ConfigError ? exitCodes.configuration : exitCodes.failed)
}
