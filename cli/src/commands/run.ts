/** Commands that run the service: on this machine, in production, and its parts. */
import { defineCommand } from '../frame/command.ts'

const json = { type: 'flag', summary: 'print one line of JSON' } as const

export const runCommands = [
  defineCommand({
    words: 'dev',
    group: 'Run',
    summary: 'Run the whole service on this machine. Needs no account, database or vendor.',
    options: {
      port: { type: 'number', min: 1, max: 65_535, default: '8787', summary: 'port of the API' },
      data: {
        type: 'text',
        value: 'directory',
        default: '.kinora',
        summary: 'directory for data, logs and keys',
      },
      json: { type: 'flag', summary: 'print only one line of JSON, when the service is ready' },
      noOpen: { type: 'flag', summary: 'do not open the console in the browser' },
      noModels: { type: 'flag', summary: 'do not pull models in the background' },
    },
    example: 'kinora dev --port 9000',
    prints: 'one line when the service is ready: `{"event", "url", "console", "keys"}`',
    run: async ({ port, data, json, noOpen, noModels }) => {
      const { dev } = await import('../dev.ts')
      await dev({ port, directory: data, isJson: json, opens: !noOpen, pullsModels: !noModels })
    },
  }),
  defineCommand({
    words: 'init',
    group: 'Run',
    summary: 'Write the files that run the service in production with Docker Compose.',
    arguments: { directory: { summary: 'where to write the files, by default here', isOptional: true } },
    options: {
      url: { type: 'text', default: 'http://127.0.0.1:8787', summary: 'the URL that clients will use' },
    },
    example: 'kinora init production --url https://media.example.com',
    run: async ({ directory = '.', url }, { version }) => {
      const { init } = await import('../init.ts')
      await init(directory, { url, version })
    },
  }),
  defineCommand({
    words: 'api',
    group: 'Run',
    summary: 'Serve the HTTP API.',
    example: 'kinora api',
    run: async () => {
      const { loadConfig } = await import('@kinora/gateway/config')
      const { runRole } = await import('../role.ts')
      const config = loadConfig()
      const { startApi } = await import('@kinora/gateway/main')
      await runRole('api', config, (log) => startApi(config, log))
    },
  }),
  defineCommand({
    words: 'worker',
    group: 'Run',
    summary: 'Run the workflows that process video and transcription tasks.',
    example: 'kinora worker',
    run: async () => {
      const { loadConfig, quietEngineSdk } = await import('@kinora/gateway/config')
      const { runRole } = await import('../role.ts')
      const config = loadConfig()
      quietEngineSdk()
      const { startWorker } = await import('@kinora/gateway/main')
      await runRole('worker', config, (log) => startWorker(config, log))
    },
  }),
  defineCommand({
    words: 'local',
    group: 'Run',
    summary: 'Serve the built-in provider, which renders videos and speech on this machine.',
    example: 'kinora local',
    run: async () => {
      const { serveLocal } = await import('../local.ts')
      await serveLocal()
    },
  }),
  defineCommand({
    words: 'migrate',
    group: 'Run',
    summary: 'Apply pending database migrations.',
    example: 'kinora migrate',
    run: async () => {
      const { loadSettings } = await import('@kinora/gateway/config')
      const { migrate } = await import('@kinora/gateway/main')
      const applied = await migrate(loadSettings(['DATABASE_URL', 'DATABASE_DIRECT_URL', 'LOG_LEVEL']))
      process.stdout.write(
        applied.length === 0 ? 'The database is up to date.\n' : `Applied ${applied.join(', ')}.\n`,
      )
    },
  }),
  defineCommand({
    words: 'models files',
    group: 'Run',
    summary: 'List the model files of the built-in provider and show which are present.',
    example: 'kinora models files',
    run: async () => (await import('../models.ts')).list(),
  }),
  defineCommand({
    words: 'models pull',
    group: 'Run',
    summary: 'Download models of the built-in provider. Models that are already present are skipped.',
    arguments: {
      names: {
        summary: 'speech, recognition, chat, or names of model sets; all but chat by default',
        isOptional: true,
        isList: true,
      },
    },
    options: {
      small: { type: 'flag', summary: 'only the small models, which `kinora dev` pulls automatically' },
    },
    example: 'kinora models pull speech',
    run: async ({ names, small }) => {
      const { pull } = await import('../models.ts')
      process.exit(await pull(names, { isSmall: small }))
    },
  }),
  defineCommand({
    words: 'models check',
    group: 'Run',
    summary: 'Verify the hash of every model file that is present.',
    example: 'kinora models check',
    run: async () => (await import('../models.ts')).check(),
  }),
  defineCommand({
    words: 'doctor',
    group: 'Run',
    summary: 'Check the installation and suggest fixes.',
    options: { json },
    example: 'kinora doctor',
    prints: 'the checks, each with its result and its fix',
    run: async ({ json }) => {
      const { doctor } = await import('../doctor.ts')
      return doctor({ isJson: json })
    },
  }),
  defineCommand({
    words: 'config check',
    group: 'Run',
    summary:
      'Check the settings and the providers file as the service does at its start. Exits with 78 if something is invalid.',
    details:
      'Reads the environment and `.env` of this directory. With a file, only that is checked. Each problem of a file has its line.',
    arguments: {
      file: { summary: 'a providers file (default: the settings, with PROVIDERS_FILE)', isOptional: true },
    },
    options: { json },
    example: 'kinora config check providers.yaml',
    prints: '`{"ok", "problems", "warnings"}`',
    run: async (input) => (await import('../operator/check-config.ts')).checkConfig(input),
  }),
  defineCommand({
    words: 'engine check',
    group: 'Run',
    summary:
      'Compare Restate with the database and repair the difference, as workers do every few seconds. Exits with 1 if something was repaired.',
    options: { json },
    example: 'kinora engine check',
    prints: 'what was compared and repaired',
    run: async ({ json }) => {
      const { check } = await import('../engine.ts')
      return check({ isJson: json })
    },
  }),
  defineCommand({
    words: 'engine-key',
    group: 'Run',
    summary:
      'Create the key pair with which Restate signs its calls to workers, unless the directory has one. Prints the public key.',
    arguments: { directory: { summary: 'where to store private.pem and public.key' } },
    example: 'kinora engine-key ./identity',
    run: async ({ directory }) => {
      const { openEngineKey } = await import('../engine-key.ts')
      const { publicKey } = await openEngineKey(directory)
      process.stdout.write(`${publicKey}\n`)
    },
  }),
]
