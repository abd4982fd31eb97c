/** `kinora models`: downloads, lists and verifies the models of the built-in provider. */
import { setGlobalProxyFromEnv } from 'node:http'
import { join } from 'node:path'

import { environmentWith, loadSettings } from '@kinora/gateway/config'
import { hashFile } from '@kinora/local/models/hash-file'
import { isPresent } from '@kinora/local/models/model-directory'
import { modelSets, setsNamed, type ModelSetName } from '@kinora/local/models/model-set'
import { configuredRegistry } from '@kinora/local/models/npm-registry'
import type { PullProgress } from '@kinora/local/models/pull'
import { pullModels } from '@kinora/local/models/pull-models'

import { untilStopped } from './progress.ts'

const interrupted = 130
const barCells = 24
const redrawEveryMs = 100
const reportEveryMs = 500

const megabytes = (bytes: number, digits = 0) => (bytes / 1e6).toFixed(digits)

const sizeOf = (set: (typeof modelSets)[number]) => set.files.reduce((sum, { bytes }) => sum + bytes, 0)

const say = (line: string) => {
  process.stdout.write(`${line}\n`)
}

/** Prints the progress of a pull: lines, and on a terminal a progress bar below them. */
const createProgressPrinter = (terminal: { isTTY?: boolean; write: (text: string) => unknown }) => {
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

  const drawBar = (progress: Extract<PullProgress, { type: 'download' }>, nowMs: number) => {
    const { from, receivedBytes, totalBytes } = progress
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
    print(progress: PullProgress) {
      const nowMs = performance.now()
      switch (progress.type) {
        case 'waiting':
          return line('Waiting for another pull to finish…')
        case 'source-failed':
          return line(`  Skipped ${progress.from}: ${progress.reason}`)
        case 'complete':
          return line(`✓ ${progress.set} (${megabytes(progress.bytes)} MB)`)
        case 'download':
          if (progress.from !== current) {
            current = progress.from
            startedMs = nowMs
            drawnMs = 0
            const size = progress.totalBytes === undefined ? '' : ` (${megabytes(progress.totalBytes, 1)} MB)`
            if (terminal.isTTY !== true) line(`  Downloading ${progress.from}${size}…`)
          }
          if (terminal.isTTY !== true || nowMs - drawnMs < redrawEveryMs) return
          drawnMs = nowMs
          drawBar(progress, nowMs)
      }
    },
  }
}

/** Tells a parent process, such as `kinora dev`, about the progress. */
const createReport = () => {
  let reportedMs = 0
  return (progress: PullProgress) => {
    const nowMs = performance.now()
    if (progress.type === 'download' && nowMs - reportedMs < reportEveryMs) return
    reportedMs = nowMs
    // A parent process that has just ended is noticed by its `disconnect`.
    if (process.connected) process.send?.(progress, undefined, undefined, () => undefined)
  }
}

const unknownName = (word: string) =>
  new Error(
    `There is no model set "${word}". Choose speech, recognition, chat, or one of: ${modelSets
      .map(({ name }) => name)
      .join(', ')}.`,
  )

/** Returns the exit code. */
export const pull = async (words: string[], options: { isSmall: boolean }): Promise<number> => {
  const settings = loadSettings(['MODEL_DIR', 'MODEL_HUB_URL', 'MODEL_REGISTRY_URL'])
  const names = setsNamed(words, options.isSmall)
  if ('unknown' in names) throw unknownName(names.unknown)
  setGlobalProxyFromEnv(environmentWith({}))
  const signal = untilStopped('disconnect')
  const printer = createProgressPrinter(process.stderr)
  const report = createReport()
  try {
    const { MODEL_REGISTRY_URL: registryUrl } = settings
    const { pulled, failed } = await pullModels({
      directory: settings.MODEL_DIR,
      sets: modelSets.filter(({ name }) => names.includes(name)),
      hubUrl: settings.MODEL_HUB_URL,
      findRegistry: registryUrl === undefined ? configuredRegistry : async () => registryUrl,
      signal,
      onProgress: (progress) => {
        printer.print(progress)
        report(progress)
      },
    })
    printer.wipe()
    for (const { set, reasons } of failed) {
      process.stderr.write(`✗ Could not download ${set}:\n${reasons.map((each) => `    ${each}\n`).join('')}`)
    }
    if (failed.length > 0) {
      process.stderr.write(
        'Run the same command to retry; complete models are not downloaded again. To use other sources, set\n' +
          `MODEL_HUB_URL or MODEL_REGISTRY_URL, or copy files into ${settings.MODEL_DIR} (see docs/models.md).\n`,
      )
      return 1
    }
    say(pulled.length === 0 ? 'All models are already present.' : `Stored in ${settings.MODEL_DIR}.`)
    return 0
  } catch (error) {
    printer.wipe()
    if (!signal.aborted) throw error
    process.stderr.write('Stopped. Complete models were kept.\n')
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
    const size = set.files.length === 0 ? 'not available' : `${megabytes(sizeOf(set))} MB`
    const columns = [set.name.padEnd(15), set.purpose.padEnd(12), size.padStart(9), set.licence.padEnd(10)]
    say(`${mark} ${[...columns, set.quality].join('  ')}`)
  }
  if (present.size < modelSets.length)
    say('\nTo download missing models, run: kinora models pull [speech|recognition|chat|<set>…]')
}

/** Verifies the hash of every file and returns the exit code. */
export const check = async (): Promise<number> => {
  const { MODEL_DIR: directory } = loadSettings(['MODEL_DIR'])
  const sets = presentSets(directory)
  if (sets.length === 0) say(`There are no models in ${directory}. To download some, run: kinora models pull`)
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
    say(`✗ ${set.name}: wrong hash: ${wrong.join(', ')}`)
    say(`    Download it again: rm ${wrong.join(' ')} && kinora models pull ${set.name}`)
  }
  return exitCode
}
