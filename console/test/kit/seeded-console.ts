/** The built console on a seeded service, and a browser for it. */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { chromium } from 'playwright-core'

import { bundleCommand } from '../../../gateway/test/kit/bundle-command.ts'
import { seedService, type Seed } from './seed.ts'
import { startService } from './start-service.ts'
import { startUpstreams } from './upstreams.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../', import.meta.url))

export interface SeededConsole extends Seed {
  /** Where tests connect to the browser. */
  browserUrl: string
  /** The service at a host whose name does not tell that it is this machine. */
  otherHostUrl: string
}

/** Chromium connects it to this machine. */
const otherHost = 'kinora.localhost'

interface StartedConsole extends AsyncDisposable {
  seeded: SeededConsole
}

/** In a process of its own, because vitest has set NODE_ENV, with which React's slow form for development is built. */
const buildConsole = async (): Promise<void> => {
  const program = `${root}node_modules/vite/bin/vite.js`
  const line = [program, 'build', 'console', '--manifest', '--logLevel', 'error']
  await run(process.execPath, line, { cwd: root, env: { ...process.env, NODE_ENV: 'production' } })
}

/** Without a bundled command, one is built. */
export const startSeededConsole = async (bundled?: string): Promise<StartedConsole> => {
  const serverUrl = process.env['TEST_DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres'
  const directory = `${root}node_modules/.cache/kinora/${randomUUID()}`
  await using started = new AsyncDisposableStack()
  const [command] = await Promise.all([bundled ?? bundleCommand(root, directory), buildConsole()])
  started.defer(() => rm(directory, { recursive: true, force: true }))
  const upstreams = await startUpstreams()
  started.defer(upstreams.close)
  const [service, browser] = await Promise.all([
    startService({
      ...{ command, serverUrl },
      environment: { ALLOWED_HOSTS: `localhost,127.0.0.1,[::1],${otherHost}` },
    }),
    chromium.launchServer({
      executablePath: '/usr/bin/chromium',
      args: [
        '--no-sandbox',
        '--disable-dev-shm-usage',
        // A microphone that beeps, which every page may use.
        '--use-fake-ui-for-media-stream',
        '--use-fake-device-for-media-stream',
      ],
    }),
  ])
  started.defer(service.stop)
  started.defer(() => browser.close())
  const seed = await seedService(service, upstreams)
  const kept = started.move()
  return {
    seeded: {
      ...seed,
      browserUrl: browser.wsEndpoint(),
      otherHostUrl: seed.url.replace('127.0.0.1', otherHost),
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}
