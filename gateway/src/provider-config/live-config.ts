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
import { SetupError } from './config-file.ts'
import type { LiveSetup, ProviderSettings, Setup } from './config.ts'
import { mergeSetup } from './merge-config.ts'
import { readEntries, type Entries } from './provider-config-store.ts'

export interface LiveSetupDependencies {
  postgres: Postgres
  /** Reads what the file sets up, now, or throws a `SetupError`. */
  readSetup: (readText: (path: string) => string) => Setup
  credentialSecrets: Secret[]
  protocols: Record<string, Protocol>
  knownModels: string[]
  log: Log
  lookEveryMs?: number
}

export interface KeptSetup extends LiveSetup {
  /** What the file alone says. */
  ofFile: () => Setup
  /** Reads the record now, for who has just changed it. */
  refresh: () => Promise<void>
  stop: () => Promise<void>
}

const recordEveryMs = 30_000
// A file that is being written is not read until it is left alone.
const settleMs = 250

/** Secrets hide from every other comparison. */
const comparable = (settings: ProviderSettings) => ({ ...settings, apiKey: settings.apiKey?.reveal() })

const changesBetween = (earlier: Setup, later: Setup) => {
  const names = (setup: Setup) => setup.providers.map(({ name }) => name)
  const providerOf = (setup: Setup, name: string) => {
    const found = setup.providers.find((each) => each.name === name)
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
const createFileReader = (readSetup: LiveSetupDependencies['readSetup']) => {
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
      return readSetup((path) => {
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

export const createLiveSetup = async (dependencies: LiveSetupDependencies): Promise<KeptSetup> => {
  const { postgres, readSetup, credentialSecrets, log, lookEveryMs = 2_000 } = dependencies
  const listeners = new Set<() => void>()
  const file = createFileReader(readSetup)
  let ofFile = file.read()
  let ofRecord: Entries = { providers: [], models: {} }
  let current = ofFile
  const saidBefore = { file: '', record: '' }

  const sayOnce = (source: 'file' | 'record', problems: string[]) => {
    const text = problems.join('\n')
    if (text === saidBefore[source]) return
    saidBefore[source] = text
    for (const problem of problems) log.error({ source, problem }, 'setup.not-usable')
  }

  const merge = () => {
    const { setup, problems } = mergeSetup(ofFile, ofRecord, dependencies)
    sayOnce('record', problems)
    return setup
  }
  const settle = () => {
    const setup = merge()
    const { providers, models, isReordered } = changesBetween(current, setup)
    if (providers.length === 0 && models.length === 0 && !isReordered) return
    current = setup
    log.info({ providers, models }, 'setup.changed')
    for (const listener of listeners) {
      try {
        listener()
      } catch (error) {
        log.error({ err: error }, 'setup.not-taken-up')
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
      if (!(error instanceof SetupError)) throw error
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
        ofRecord = await readEntries(postgres, credentialSecrets)
        if (isFirst) current = merge()
        else settle()
        isFirst = false
      })
    return reading
  }
  const refreshSoon = () => {
    refresh().catch((error: unknown) => log.warn({ err: error }, 'setup.not-read'))
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
        .catch((error: unknown) => log.warn({ err: error }, 'setup.not-read'))
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
