/**
 * `kinora dev`: runs the whole service on one machine. Uses the PostgreSQL and Restate that the environment names, or
 * starts its own under the data directory; uses Redis only if the environment names it. Stops every process that it started.
 */
import { join, resolve } from 'node:path'

import { environmentWith } from '@kinora/gateway/config'
import { createLog, type Log } from '@kinora/gateway/log'

import { announceService, withdrawService } from './connection/dev-service.ts'
import { readTerminal } from './connection/environment.ts'
import { findService } from './connection/find-service.ts'
import { showActivity } from './dev/activity/show-activity.ts'
import { findCommandName } from './dev/command-name.ts'
import { resetData, showPath } from './dev/data-files.ts'
import { handleKeys } from './dev/key-commands.ts'
import { boundLog } from './dev/log-file.ts'
import { createConsoleLink, createSample, ownRequestId } from './dev/own-requests.ts'
import { startServices } from './dev/start-services.ts'
import { createStatusLines } from './dev/status-lines.ts'
import { welcome } from './dev/welcome.ts'
import { formatSeconds } from './terminal/format.ts'
import { canOpen, openLink } from './terminal/open-file.ts'
import { style } from './terminal/print.ts'
import { canReadKeys } from './terminal/read-keys.ts'
import { createScreen, type Screen } from './terminal/screen.ts'

export interface DevOptions {
  port: number
  directory: string
  isJson: boolean
  /** Whether the browser is opened, on a terminal of a desktop. */
  opens: boolean
  pullsModels: boolean
}

/** The log of `dev` itself, in the same format as the logs of the roles. */
const openDevLog = (directory: string): Log => {
  const file = join(directory, 'logs', 'dev.log')
  boundLog(file)
  return createLog({ level: 'info', file }, 'dev')
}

type Ending = 'stop' | 'reset'

interface Run {
  options: DevOptions
  screen: Screen
  /** Resolves when a signal arrives. */
  stopping: Promise<Ending>
}

const consoleTimeoutMs = 10_000

/** To the first steps. Undefined without a console. A service that runs is no failure because of it. */
const findConsoleLink = async (service: { url: string; key: string }, keys: string[]) =>
  createConsoleLink({ ...service, signal: AbortSignal.timeout(consoleTimeoutMs) }, keys, '/start').catch(
    () => undefined,
  )

/** Runs the service until a signal or a key ends it. */
const runOnce = async ({ options, screen, stopping }: Run): Promise<Ending> => {
  const startedMs = performance.now()
  const directory = resolve(options.directory)
  const started: { stop: () => Promise<void> }[] = []
  const status = createStatusLines(screen)
  const say = (message: string) => {
    if (!options.isJson) screen.print(`  ${message}`, '  ')
  }
  let log: Log | undefined
  const warn = (message: string) => {
    screen.warn(`  ${screen.isTerminal ? `${style('yellow', '▲')} ` : ''}${message}`, '    ')
    log?.warn({ problem: message }, 'dev.problem')
  }
  const step = async <Result>(name: string, work: () => Promise<Result>): Promise<Result> => {
    const stepMs = performance.now()
    const line = status.begin(name)
    if (!screen.isTerminal) say(`Starting ${name}…`)
    try {
      const result = await work()
      line.end()
      if (screen.isTerminal) {
        const seconds = formatSeconds((performance.now() - stepMs) / 1000)
        say(`${style('green', '✓')} ${name.padEnd(34)} ${style('dim', seconds.padStart(8))}`)
      }
      return result
    } finally {
      line.end()
    }
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

  /** Shows the console with a video in it. */
  const openConsole = async (service: { url: string; key: string }, consoleUrl: string) => {
    const mayOpen = options.opens && screen.isTerminal && !readTerminal().isCi && canOpen()
    if (mayOpen) await openLink(consoleUrl)
    await createSample({ ...service, signal: AbortSignal.timeout(consoleTimeoutMs) })
  }

  /** Shows what the service does and reads keys, until one of them or a signal ends this run. */
  const follow = async (
    prepared: Awaited<ReturnType<typeof startServices>>,
    url: string,
    consoleUrl: string | undefined,
  ): Promise<Ending> => {
    // Programs that start the service with `--json` find it empty.
    if (options.isJson) return stopping
    const { keys, currency, hasOwnDatabase } = prepared
    const logs = join(directory, 'logs')
    const isColored = style('red', '') !== ''
    const context = { currency, ownRequestId, logDirectory: showPath(logs) }
    const activity = showActivity({ directory: logs, screen, isColored, ...context })
    let endHere: (ending: Ending) => void = () => undefined
    const keyEnding = new Promise<Ending>((end) => (endHere = end))
    const stopKeys = !screen.isTerminal
      ? () => undefined
      : handleKeys({
          ...{ screen, status, activity, url, directory, key: keys.payg },
          consoleKeys: [keys.admin, keys.payg],
          resetProblem: hasOwnDatabase
            ? undefined
            : 'Only its own database can be reset, and DATABASE_URL names another one.',
          stop: () => endHere('stop'),
          reset: () => endHere('reset'),
        })
    if (consoleUrl !== undefined) void openConsole({ url, key: keys.payg }, consoleUrl)
    try {
      return await Promise.race([stopping, keyEnding])
    } finally {
      stopKeys()
      activity.stop()
    }
  }

  let ending: Ending = 'stop'
  try {
    const prepared = await Promise.race([
      stopping.then(() => undefined),
      startServices({ options, directory, say, warn, step, status, started, onLocked }),
    ])
    if (prepared !== undefined) {
      const { keys, currency } = prepared
      const url = `http://127.0.0.1:${options.port}`
      const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
      log?.info({ url }, 'dev.started')
      await announceService(directory, { url, key: keys.payg, operatorKey: keys.admin })
      const consoleUrl = await findConsoleLink({ url, key: keys.payg }, [keys.admin, keys.payg])
      if (options.isJson)
        process.stdout.write(
          `${JSON.stringify({ event: 'ready', url, console: consoleUrl ?? null, keys })}\n`,
        )
      else {
        const hasKeys = screen.isTerminal && canReadKeys()
        const found = await findService(undefined).catch(() => undefined)
        screen.print(
          welcome({
            ...{ url, consoleUrl, key: keys.payg, currency, directory, seconds, hasKeys },
            command: findCommandName(environmentWith({})['PATH'] ?? ''),
            isFound: found?.url === url && found.key === keys.payg,
          }),
        )
      }
      ending = await follow(prepared, url, consoleUrl)
    }
    say('Stopping…')
  } catch (error) {
    log?.error({ err: error }, 'dev.not-started')
    throw error
  } finally {
    await stopAll()
    log?.info('dev.stopped')
  }
  if (ending === 'reset') {
    await resetData(directory)
    say(`Deleted the data in ${showPath(directory)}. Starting again…`)
  }
  return ending
}

export const dev = async (options: DevOptions): Promise<void> => {
  const isDumb = options.isJson || environmentWith({})['TERM'] === 'dumb'
  const screen = createScreen({ isDumb })
  process.once('exit', screen.close)
  const stopping = new Promise<Ending>((stop) => {
    // A terminal and npm may both send a signal. A second one must not interrupt the shutdown.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop('stop'))
  })
  while ((await runOnce({ options, screen, stopping })) === 'reset');
  process.exit(0)
}
