/**
 * Keeps the configuration current in every process. The file and the secret files it names are compared every two
 * seconds. The database sends a notification of each change and is also read every 30 seconds. An invalid file is
 * logged once, and the last valid one stays in use. An invalid override of the database is logged, and its provider accepts
 * no new jobs.
 *
 * A reload costs as much as the change, not as the configuration: the file, its entries and the records are compared with
 * those of the last reload, and only changed entries are parsed and validated.
 */
import { readFileSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'

import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import type { Secret } from '../platform/secret.ts'
import type { Protocol } from '../providers/kit/protocol.ts'
import { ConfigFileError } from './config-file.ts'
import type { FileConfig, LiveConfig, RoutingConfig } from './config.ts'
import { createMergeConfig } from './merge-config.ts'
import { createReadOverrides, type ConfigOverrides } from './provider-config-store.ts'

export interface LiveConfigDependencies {
  postgres: Postgres
  /** Reads the file again, or throws a `ConfigFileError`. */
  readRoutingConfig: (readText: (path: string) => string) => FileConfig
  credentialSecrets: Secret[]
  protocols: Record<string, Protocol>
  log: Log
  fileIntervalMs?: number
}

export interface ReloadableConfig extends LiveConfig {
  /** The configuration of the file, without the overrides of the database. */
  fileConfig: () => FileConfig
  /** Reads the database now, so that a caller sees its own change. */
  refresh: () => Promise<void>
  stop: () => Promise<void>
}

const databaseIntervalMs = 30_000
// A file that is still being written is read once it stops changing.
const settleMs = 250

/** Deep comparison does not see the text of a `Secret`. */
const comparable = <Config extends { apiKey: Secret | undefined }>(config: Config) => ({
  ...config,
  apiKey: config.apiKey?.reveal(),
})

const areEqual = (one: ConfigOverrides, other: ConfigOverrides): boolean =>
  isDeepStrictEqual(one.models, other.models) &&
  isDeepStrictEqual(one.providers.map(comparable), other.providers.map(comparable))

const changesBetween = (earlier: RoutingConfig, later: RoutingConfig) => {
  const names = (config: RoutingConfig) => config.providers.map(({ name }) => name)
  const providersOf = ({ providers }: RoutingConfig) =>
    new Map(providers.map((each) => [each.name, comparable(each)]))
  const [before, after] = [providersOf(earlier), providersOf(later)]
  const all = (one: string[], other: string[]) => [...new Set([...one, ...other])]
  return {
    providers: all(names(earlier), names(later)).filter(
      (name) => !isDeepStrictEqual(before.get(name), after.get(name)),
    ),
    models: all(Object.keys(earlier.models), Object.keys(later.models)).filter(
      (id) => !isDeepStrictEqual(earlier.models[id], later.models[id]),
    ),
    // The first provider serves the models without routes.
    isReordered: !isDeepStrictEqual(names(earlier), names(later)),
  }
}

/** A later write can leave the times of a file as they are if it follows within a tick of the system's clock. */
const timesSettleMs = 1_000

/** Reads a file again only if its times, its size or its place have changed. */
const createTextReader = () => {
  const known = new Map<
    string,
    { version: string; sinceMs: number; readAtMs: number; text: string | undefined }
  >()
  return async (path: string): Promise<string | undefined> => {
    const found = await stat(path, { bigint: true }).catch(() => undefined)
    const version = found && [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(' ')
    const last = known.get(path)
    const isSame = version !== undefined && last?.version === version
    if (isSame && last.readAtMs - last.sinceMs > timesSettleMs) return last.text
    const readAtMs = performance.now()
    const text = await readFile(path, 'utf8').catch(() => undefined)
    if (version === undefined) known.delete(path)
    else known.set(path, { version, sinceMs: isSame ? last.sinceMs : readAtMs, readAtMs, text })
    return text
  }
}

/** Remembers the texts that the configuration was read from, to detect a change of any of them. */
const createFileReader = (readRoutingConfig: LiveConfigDependencies['readRoutingConfig']) => {
  let seen = new Map<string, string | undefined>()
  const readText = createTextReader()
  const readTexts = async () =>
    new Map(await Promise.all([...seen.keys()].map(async (path) => [path, await readText(path)] as const)))
  return {
    read: (known = new Map<string, string | undefined>()) => {
      seen = new Map()
      return readRoutingConfig((path) => {
        seen.set(path, undefined)
        const text = known.get(path) ?? readFileSync(path, 'utf8')
        seen.set(path, text)
        return text
      })
    },
    /** Returns the current texts if any has changed and all are stable, otherwise undefined. */
    findChange: async () => {
      const texts = await readTexts()
      if (isDeepStrictEqual(texts, seen)) return undefined
      await new Promise((resolve) => setTimeout(resolve, settleMs))
      return isDeepStrictEqual(await readTexts(), texts) ? texts : undefined
    },
  }
}

export const createLiveConfig = async (dependencies: LiveConfigDependencies): Promise<ReloadableConfig> => {
  const { postgres, readRoutingConfig, credentialSecrets, log, fileIntervalMs = 2_000 } = dependencies
  const listeners = new Set<() => void>()
  const file = createFileReader(readRoutingConfig)
  let fileConfig = file.read()
  let overrides: ConfigOverrides = { providers: [], models: {} }
  let current: RoutingConfig = fileConfig
  const loggedProblems = { file: '', record: '' }

  const logOnce = (source: 'file' | 'record', problems: string[]) => {
    const text = problems.join('\n')
    if (text === loggedProblems[source]) return
    loggedProblems[source] = text
    for (const problem of problems) log.error({ source, problem }, 'provider-config.invalid')
  }

  const mergeConfig = createMergeConfig(dependencies)
  const readOverrides = createReadOverrides(credentialSecrets)

  const merge = () => {
    const { config, problems } = mergeConfig(fileConfig, overrides)
    logOnce('record', problems)
    return config
  }
  const apply = () => {
    const config = merge()
    const { providers, models, isReordered } = changesBetween(current, config)
    if (providers.length === 0 && models.length === 0 && !isReordered) return
    current = config
    log.info({ providers, models }, 'provider-config.changed')
    for (const listener of listeners) {
      try {
        listener()
      } catch (error) {
        log.error({ err: error }, 'provider-config.not-applied')
      }
    }
  }

  const checkFile = async () => {
    const texts = await file.findChange()
    if (texts === undefined) return
    try {
      fileConfig = file.read(texts)
      logOnce('file', [])
    } catch (error) {
      if (!(error instanceof ConfigFileError)) throw error
      logOnce('file', error.problems)
      return
    }
    apply()
  }

  let isFirst = true
  // Reads are serialized: of two concurrent ones the older result could be applied last.
  let reading: Promise<void> = Promise.resolve()
  // A read that has not begun serves all that ask for one meanwhile.
  let next: Promise<void> | undefined
  const read = async () => {
    next = undefined
    const earlier = overrides
    overrides = await readOverrides(postgres)
    if (isFirst) current = merge()
    else if (!areEqual(earlier, overrides)) apply()
    isFirst = false
  }
  const refresh = () => {
    next ??= reading = reading.catch(() => undefined).then(read)
    return next
  }
  const refreshInBackground = () => {
    refresh().catch((error: unknown) => log.warn({ err: error }, 'provider-config.not-read'))
  }

  // Listen before reading, so that no change in between is missed.
  const listening = await postgres.listen('instance_changes', refreshInBackground)
  await refresh()
  const databaseTimer = setInterval(refreshInBackground, databaseIntervalMs)
  databaseTimer.unref()
  let isStopped = false
  let checking: Promise<void> = Promise.resolve()
  let fileTimer: NodeJS.Timeout | undefined
  const scheduleCheck = () => {
    fileTimer = setTimeout(() => {
      checking = checkFile()
        .catch((error: unknown) => log.warn({ err: error }, 'provider-config.not-read'))
        .then(() => {
          if (!isStopped) scheduleCheck()
        })
    }, fileIntervalMs)
    fileTimer.unref()
  }
  scheduleCheck()

  return {
    current: () => current,
    fileConfig: () => fileConfig,
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    refresh,
    stop: async () => {
      isStopped = true
      clearInterval(databaseTimer)
      clearTimeout(fileTimer)
      await Promise.all([checking, reading.catch(() => undefined), listening.stop()])
    },
  }
}
