#!/usr/bin/env node
/** The `kinora` command: all roles of the service and the operator's commands. */
import { readFileSync } from 'node:fs'
import nodeModule from 'node:module'

// The modules that follow need more than older versions have, and would fail with errors that do not help.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `Kinora needs Node 22.18 or later; this is ${process.version} (${process.execPath}).\nInstall a newer one: https://nodejs.org/en/download\n`,
  )
  process.exit(1)
}

// The compile cache applies only to modules that are imported after this call, hence the dynamic imports. Those of the
// commands also load only what each command needs.
nodeModule.enableCompileCache()
const { Command } = await import('commander')
const { operatorKeyDays, operatorRoles } = await import('@kinora/contract/operator-key')
const { isRole, runRole, waitIfTold } = await import('./role.ts')

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
}

const readPort = (text: string): number => {
  const port = Number(text)
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port
  throw new Error(`--port must be a number between 1 and 65535, got "${text}".`)
}

const readText = (option: string, text: string): string => {
  if (text.trim() !== '') return text
  throw new Error(`${option} must not be empty. Leave it out to use the default.`)
}

const readDirectory = (text: string): string => {
  if (text.trim() !== '') return text
  throw new Error('<directory> must not be empty. Name one, such as /var/backups/kinora.')
}

const readYear = (text: string): number => {
  if (/^[1-9]\d{3}$/.test(text)) return Number(text)
  throw new Error(`--before must be a year, such as 2026, got "${text}".`)
}

const readHours = (text: string): number => {
  const hours = Number(text)
  if (/^\d+$/.test(text) && hours >= 1) return hours
  throw new Error(`--older-than must be a number of hours, at least 1, got "${text}".`)
}

const program = new Command('kinora')
  .description('A self-hosted media generation service.')
  .version(version)
  .showHelpAfterError()

program
  .command('dev')
  .description('Run the whole service on this machine. Needs no account, database or vendor.')
  .option('--port <port>', 'port of the API', '8787')
  .option('--data <directory>', 'directory for data, logs and keys', '.kinora')
  .option('--json', 'print only one line of JSON, when the service is ready')
  .option('--no-open', 'accepted for compatibility; no browser is opened')
  .option('--no-models', 'do not pull models in the background')
  .action(async (options: { port: string; data: string; json?: true; models: boolean }) => {
    const settings = {
      port: readPort(options.port),
      directory: readText('--data', options.data),
      isJson: options.json === true,
      pullsModels: options.models,
    }
    const { dev } = await import('./dev.ts')
    await dev(settings)
  })

program
  .command('init')
  .argument('[directory]', 'where to write the files', '.')
  .description('Write the files that run the service in production with Docker Compose.')
  .option('--url <url>', 'the URL that clients will use', 'http://127.0.0.1:8787')
  .action(async (directory: string, { url }: { url: string }) => {
    const { init } = await import('./init.ts')
    await init(readText('The directory', directory), { url, version })
  })

program
  .command('api')
  .description('Serve the HTTP API.')
  .action(async () => {
    const { loadConfig } = await import('@kinora/gateway/config')
    const config = loadConfig()
    const { startApi } = await import('@kinora/gateway/main')
    await runRole('api', config, (log) => startApi(config, log))
  })

program
  .command('worker')
  .description('Run the workflows that process video and transcription tasks.')
  .action(async () => {
    const { loadConfig, quietEngineSdk } = await import('@kinora/gateway/config')
    const config = loadConfig()
    quietEngineSdk()
    const { startWorker } = await import('@kinora/gateway/main')
    await runRole('worker', config, (log) => startWorker(config, log))
  })

program
  .command('local')
  .description('Serve the built-in provider, which renders videos and speech on this machine.')
  .action(async () => {
    const { loadSettings } = await import('@kinora/gateway/config')
    const { localSettingNames } = await import('./local-settings.ts')
    const { startLocalProvider } = await import('@kinora/local/server')
    const { startMetrics } = await import('@kinora/gateway/metrics')
    const { localObserver } = await import('./local-metrics.ts')
    const settings = loadSettings([...localSettingNames])
    const { hostname, port } = new URL(settings.LOCAL_URL)
    const allowedHosts = settings.ALLOWED_HOSTS.and(settings.LOCAL_URL)
    await runRole('local', settings, async (log) => {
      const metrics = await startMetrics(settings, 'local', log)
      const provider = await startLocalProvider({
        host: hostname,
        port: Number(port === '' ? 80 : port),
        directory: settings.LOCAL_DIRECTORY,
        modelDirectory: settings.MODEL_DIR,
        ffmpegPath: settings.FFMPEG_PATH,
        bubblewrapPath: settings.BUBBLEWRAP_PATH,
        requiresSandbox: settings.REQUIRE_SANDBOX,
        renders: settings.LOCAL_RENDERS,
        hostProblem: (header) => allowedHosts.problemWith(header),
        log: (event, fields, level = 'info') => log[level](fields, event),
        observer: localObserver,
      })
      return {
        close: async () => {
          await provider.close()
          await metrics.stop()
        },
      }
    })
  })

program
  .command('migrate')
  .description('Apply pending database migrations.')
  .action(async () => {
    const { loadSettings } = await import('@kinora/gateway/config')
    const { migrate } = await import('@kinora/gateway/main')
    const applied = await migrate(loadSettings(['DATABASE_URL', 'LOG_LEVEL']))
    process.stdout.write(
      applied.length === 0 ? 'The database is up to date.\n' : `Applied ${applied.join(', ')}.\n`,
    )
  })

program
  .command('retention')
  .description('Delete expired data now. Workers also do this on a schedule.')
  .option('--dry-run', 'list what would be deleted and change nothing')
  .action(async ({ dryRun }: { dryRun?: true }) => {
    const { clear, showExpired } = await import('./retention.ts')
    await (dryRun === true ? showExpired() : clear())
  })

program
  .command('audit')
  .description('Audit the ledger. Exits with 1 if an invariant is violated.')
  .option('--json', 'print one line of JSON')
  .action(async ({ json }: { json?: true }) => {
    const { audit } = await import('./audit.ts')
    process.exitCode = await audit({ isJson: json === true })
  })

program
  .command('backup')
  .argument(
    '[directory]',
    'where to create the directory of the backup; other backups in it save copying (default: BACKUP_DIRECTORY)',
  )
  .description(
    'Back up the database and the media while the service runs. Exits with 1 if media files are missing.',
  )
  .action(async (directory: string | undefined) => {
    const { backup } = await import('./backup.ts')
    const { loadSettings } = await import('@kinora/gateway/config')
    const chosen = directory ?? loadSettings(['BACKUP_DIRECTORY']).BACKUP_DIRECTORY ?? ''
    process.exitCode = await backup(readDirectory(chosen), version)
  })

program
  .command('restore')
  .argument('<directory>', 'the directory of one backup')
  .description(
    'Restore a backup into an empty database and MEDIA_DIRECTORY, repeat the erasures of accounts, and audit the result. Exits with 1 if it is not sound.',
  )
  .option('--without-erasures', 'restore erased accounts too')
  .action(async (directory: string, { withoutErasures }: { withoutErasures?: true }) => {
    const { restore } = await import('./restore.ts')
    process.exitCode = await restore(readDirectory(directory), {
      repeatsErasures: withoutErasures !== true,
    })
  })

const storage = program.command('storage').description('Inspect and move stored media.')

storage
  .command('check')
  .description('Use every function of the media store once. Exits with 1 if one fails.')
  .option('--json', 'print one line of JSON')
  .action(async ({ json }: { json?: true }) => {
    const { check } = await import('./storage.ts')
    process.exitCode = await check({ isJson: json === true })
  })

storage
  .command('usage')
  .description('Show the stored media by account, kind and age, and compare it with the list of the store.')
  .option('--json', 'print one line of JSON')
  .action(async ({ json }: { json?: true }) => {
    const { usage } = await import('./storage.ts')
    await usage({ isJson: json === true })
  })

storage
  .command('orphans')
  .description(
    'List objects without a row and rows without an object. Exits with 1 if rows have lost their objects.',
  )
  .option('--delete', 'delete the objects without a row; without it, nothing is changed')
  .option('--older-than <hours>', 'ignore younger objects, whose row may follow; at least 1', '24')
  .option('--json', 'print one line of JSON')
  .action(async (options: { delete?: true; olderThan: string; json?: true }) => {
    const { orphans } = await import('./storage.ts')
    process.exitCode = await orphans({
      isDeleting: options.delete === true,
      hoursMin: readHours(options.olderThan),
      isJson: options.json === true,
    })
  })

storage
  .command('migrate')
  .description(
    'Copy what only MEDIA_STORE_ALSO_READ has into the media store, while the service runs. Can be stopped and run again. Exits with 1 if objects are missing or damaged.',
  )
  .option('--read-back', 'then read all objects and compare them with the database')
  .action(async ({ readBack }: { readBack?: true }) => {
    const { migrate } = await import('./storage.ts')
    process.exitCode = await migrate({ isReadBack: readBack === true })
  })

program
  .command('archive')
  .argument('[directory]', 'where to create the directory of the archive; needed with --execute')
  .requiredOption('--before <year>', 'the first year that stays in the database')
  .option(
    '--execute',
    'write the archive and remove what is in it from the database; without it, only report',
  )
  .description('Move the ledger and the usage of closed years to compressed files.')
  .action(async (directory: string | undefined, options: { before: string; execute?: true }) => {
    const year = readYear(options.before)
    const { archive, showArchive } = await import('./archive.ts')
    process.exitCode =
      options.execute === true
        ? await archive(readDirectory(directory ?? ''), year, version)
        : await showArchive(year)
  })

program
  .command('admin')
  .description('Manage operator keys.')
  .command('create')
  .description('Create an operator key directly in the database and print it once.')
  .option('--name <name>', 'a name for the key', 'operator')
  .option('--role <role>', `what the key may do: ${operatorRoles.join(', ')}`, 'admin')
  .option('--expires <days>', 'days until the key expires, or "never"', String(operatorKeyDays))
  .action(async ({ name, role, expires }: { name: string; role: string; expires: string }) => {
    const { createOperatorKey } = await import('./admin.ts')
    await createOperatorKey({ name: readText('--name', name), role, expires })
  })

program
  .command('tasks')
  .description('Inspect tasks.')
  .command('why')
  .argument('<id>', 'id of a task, or of a request (req_…) that was rejected')
  .description(
    'Tell what happened to a task, why, and what to do. Needs OPERATOR_KEY and asks the admin API.',
  )
  .option('--url <url>', 'URL of the admin API (default: that of this machine, from the settings)')
  .option('--json', 'print one line of JSON')
  .action(async (id: string, { url, json }: { url?: string; json?: true }) => {
    const { explain } = await import('./tasks.ts')
    await explain(readText('<id>', id), { url, isJson: json === true })
  })

program
  .command('engine-key')
  .argument('<directory>', 'where to store private.pem and public.key')
  .description(
    'Create the key pair with which Restate signs its calls to workers, unless the directory has one. Prints the public key.',
  )
  .action(async (directory: string) => {
    const { openEngineKey } = await import('./engine-key.ts')
    if (directory.trim() === '') throw new Error('Name the directory for the key pair, such as ./identity.')
    const { publicKey } = await openEngineKey(directory)
    process.stdout.write(`${publicKey}\n`)
  })

program
  .command('engine')
  .description('Inspect Restate.')
  .command('check')
  .description(
    'Compare Restate with the database and repair the difference, as workers do every few seconds. Exits with 1 if something was repaired.',
  )
  .option('--json', 'print one line of JSON')
  .action(async ({ json }: { json?: true }) => {
    const { check } = await import('./engine.ts')
    process.exitCode = await check({ isJson: json === true })
  })

const models = program.command('models').description('Manage the models of the built-in provider.')

models
  .command('pull')
  .argument('[names...]', 'speech, recognition, chat, or names of model sets; all but chat by default')
  .option('--small', 'only the small models, which `kinora dev` pulls automatically')
  .description('Download models. Models that are already present are skipped.')
  .action(async (names: string[], { small }: { small?: true }) => {
    const { pull } = await import('./models.ts')
    process.exit(await pull(names, { isSmall: small === true }))
  })

models
  .command('list')
  .description('List all models and show which are present.')
  .action(async () => {
    const { list } = await import('./models.ts')
    list()
  })

models
  .command('check')
  .description('Verify the hash of every model file that is present.')
  .action(async () => {
    const { check } = await import('./models.ts')
    process.exitCode = await check()
  })

program
  .command('doctor')
  .description('Check the installation and suggest fixes.')
  .option('--json', 'print one line of JSON')
  .action(async ({ json }: { json?: true }) => {
    const { doctor } = await import('./doctor.ts')
    process.exitCode = await doctor({ isJson: json === true })
  })

const explain = (error: unknown): string => {
  const { message } = error as { message?: unknown }
  return typeof message === 'string' && message !== '' ? message : String(error)
}

try {
  await program.parseAsync()
} catch (error) {
  process.stderr.write(`${explain(error)}\n`)
  const { exitCode = 1 } = error as { exitCode?: number }
  if (exitCode === 78 && isRole(process.argv[2])) await waitIfTold()
  // An open IPC channel to the parent process would keep this one alive.
  process.exit(exitCode)
}
