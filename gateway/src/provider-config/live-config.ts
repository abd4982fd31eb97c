/**
 * The setup as it is now. Every process looks at the file and the files of secrets it names every two seconds, hears at
 * once of a change of the record, and looks there anyway now and then. What is wrong is logged once, and what was good
 * before goes on counting.
 */
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'

import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import type { Secret } from '../platform/secret.ts'
import type { Protocol } from '../providers/kit/protocol.ts'
import { ProviderConfigError } from './config-file.ts'
import type { LiveConfig, ProviderSettings, ProviderConfig } from './config.ts'
import { mergeConfig } from './merge-config.ts'
import { readOverrides, type Entries } from './provider-config-store.ts'

export interface LiveConfigDependencies {
  postgres: Postgres
  /** Reads what the file sets up, now, or throws a `ProviderConfigError`. */
  readProviderConfig: (readText: (path: string) => string) => ProviderConfig
  credentialSecrets: Secret[]
  protocols: Record<string, Protocol>
  knownModels: string[]
  log: Log
  lookEveryMs?: number
}

export interface LiveProviderConfig extends LiveConfig {
  /** What the file alone says. */
  ofFile: () => ProviderConfig
  /** Reads the record now, for who has just changed it. */
  refresh: () => Promise<void>
  stop: () => Promise<void>
}

const recordEveryMs = 30_000
// A file that is being written is not read until it is left alone.
const settleMs = 250

/** Secrets hide from every other comparison. */
const comparable = (settings: ProviderSettings) => ({ ...settings, apiKey: settings.apiKey?.reveal() })

const changesBetween = (earlier: ProviderConfig, later: ProviderConfig) => {
  const names = (providerConfig: ProviderConfig) => providerConfig.providers.map(({ name }) => name)
  const providerOf = (providerConfig: ProviderConfig, name: string) => {
    const found = providerConfig.providers.find((each) => each.name === name)
    return found && comparable(found)
  }
  const all = (one: string[], other: string[]) => [...new Set([...one, ...other])]
  return {
    providers: all(names(earlier), names(later)).filter(
      (name) => !isDeepStrictEqual(providerOf(earlier, name), providerOf(later, name)),
    ),
    models: all(Object.keys(earlier.models), Object.keys(later.models)).filter(
      (id) => !isDeepStrictEqual(earlier.models[id], later.models[id]),
    ),
    // The first of them takes the models that nobody routed.
    isReordered: !isDeepStrictEqual(names(earlier), names(later)),
  }
}

/** The file's setup with the texts it was made of, to tell later whether any of them is another one. */
const createFileReader = (readProviderConfig: LiveConfigDependencies['readProviderConfig']) => {
  let seen = new Map<string, string | undefined>()
  const lookAgain = async () =>
    new Map(
      await Promise.all(
        [...seen.keys()].map(
          async (path) => [path, await readFile(path, 'utf8').catch(() => undefined)] as const,
        ),
      ),
    )
  return {
    read: (known = new Map<string, string | undefined>()) => {
      seen = new Map()
      return readProviderConfig((path) => {
        seen.set(path, undefined)
        const text = known.get(path) ?? readFileSync(path, 'utf8')
        seen.set(path, text)
        return text
      })
    },
    /** The texts as they are now, where any is another one; undefined where none is, or one is being written. */
    findChange: async () => {
      const texts = await lookAgain()
      if (isDeepStrictEqual(texts, seen)) return undefined
      await new Promise((resolve) => setTimeout(resolve, settleMs))
      return isDeepStrictEqual(await lookAgain(), texts) ? texts : undefined
    },
  }
}

export const createLiveConfig = async (dependencies: LiveConfigDependencies): Promise<LiveProviderConfig> => {
  const { postgres, readProviderConfig, credentialSecrets, log, lookEveryMs = 2_000 } = dependencies
  const listeners = new Set<() => void>()
  const file = createFileReader(readProviderConfig)
  let ofFile = file.read()
  let ofRecord: Entries = { providers: [], models: {} }
  let current = ofFile
  const saidBefore = { file: '', record: '' }

  const sayOnce = (source: 'file' | 'record', problems: string[]) => {
    const text = problems.join('\n')
    if (text === saidBefore[source]) return
    saidBefore[source] = text
    for (const problem of problems) log.error({ source, problem }, 'provider-config.invalid')
  }

  const merge = () => {
    const { providerConfig, problems } = mergeConfig(ofFile, ofRecord, dependencies)
    sayOnce('record', problems)
    return providerConfig
  }
  const settle = () => {
    const providerConfig = merge()
    const { providers, models, isReordered } = changesBetween(current, providerConfig)
    if (providers.length === 0 && models.length === 0 && !isReordered) return
    current = providerConfig
    log.info({ providers, models }, 'provider-config.changed')
    for (const listener of listeners) {
      try {
        listener()
      } catch (error) {
        log.error({ err: error }, 'provider-config.not-applied')
      }
    }
  }

  const lookAtFile = async () => {
    const texts = await file.findChange()
    if (texts === undefined) return
    try {
      ofFile = file.read(texts)
      sayOnce('file', [])
    } catch (error) {
      if (!(error instanceof ProviderConfigError)) throw error
      sayOnce('file', error.problems)
      return
    }
    settle()
  }

  let isFirst = true
  // One after the other: of two at once the older might be the last to be heard of.
  let reading: Promise<void> = Promise.resolve()
  const refresh = () => {
    reading = reading
      .catch(() => undefined)
      .then(async () => {
        ofRecord = await readOverrides(postgres, credentialSecrets)
        if (isFirst) current = merge()
        else settle()
        isFirst = false
      })
    return reading
  }
  const refreshSoon = () => {
    refresh().catch((error: unknown) => log.warn({ err: error }, 'provider-config.not-read'))
  }

  // First the ear, then the look: a change in between is heard.
  const listening = await postgres.listen('instance_changes', refreshSoon)
  await refresh()
  const recordTimer = setInterval(refreshSoon, recordEveryMs)
  recordTimer.unref()
  let isStopped = false
  let looking: Promise<void> = Promise.resolve()
  let fileTimer: NodeJS.Timeout | undefined
  const lookAgain = () => {
    fileTimer = setTimeout(() => {
      looking = lookAtFile()
        .catch((error: unknown) => log.warn({ err: error }, 'provider-config.not-read'))
        .then(() => {
          if (!isStopped) lookAgain()
        })
    }, lookEveryMs)
    fileTimer.unref()
  }
  lookAgain()

  return {
    current: () => current,
    ofFile: () => ofFile,
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    refresh,
    stop: async () => {
      isStopped = true
      clearInterval(recordTimer)
      clearTimeout(fileTimer)
      await Promise.all([looking, reading.catch(() => undefined), listening.stop()])
    },
  }
}
