import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'

import { isPresent } from '@kinora/local/models/model-directory'
import { modelSets } from '@kinora/local/models/model-set'
import type { PullProgress } from '@kinora/local/models/pull'

import { formatSeconds } from '../terminal/format.ts'
import type { Environment } from './foreign-process.ts'
import { boundLog, lastLines, sizeOf } from './log-file.ts'
import type { StatusLines } from './status-lines.ts'

const command = 'kinora models pull --small'
const stopGraceMs = 5_000
/** The pull must not slow down the first video. */
const lowPriority = 10

interface ModelPullOptions {
  /** Path of the `kinora` command. */
  program: string
  modelDirectory: string
  environment: Environment
  logDirectory: string
  say: (message: string) => void
  warn: (message: string) => void
  status: StatusLines
}

/** Adds up the progress of all files and packages. A source that failed is replaced by another one. */
export const createPullTotal = (totalBytes: number) => {
  const receivedBytes = new Map<string, number>()
  const startedMs = performance.now()
  return (progress: PullProgress): string | undefined => {
    if (progress.type === 'source-failed') receivedBytes.delete(progress.from)
    if (progress.type !== 'download') return undefined
    receivedBytes.set(progress.from, progress.receivedBytes)
    const sumBytes = receivedBytes.values().reduce((sum, bytes) => sum + bytes, 0)
    const received = Math.min(sumBytes, totalBytes)
    const rate = received / Math.max(1, (performance.now() - startedMs) / 1000)
    const leftSeconds = rate === 0 ? undefined : (totalBytes - received) / rate
    const left = leftSeconds === undefined ? '' : `, ${formatSeconds(Math.ceil(leftSeconds))} left`
    return `${Math.floor(received / 1e6)} of ${Math.ceil(totalBytes / 1e6)} MB, ${(rate / 1e6).toFixed(1)} MB/s${left}`
  }
}

const outcome = (child: ChildProcess) =>
  new Promise<number | null>((resolve) => {
    child.once('exit', (code) => resolve(code))
    child.once('error', () => resolve(null))
  })

/**
 * Pulls the small models in a child process while the service already runs. Does not retry: an immediate second
 * attempt would most likely fail as well.
 */
export function startModelPull(options: ModelPullOptions): { stop: () => Promise<void> } {
  const { say, warn } = options
  const missing = modelSets.filter(
    (set) => set.isSmall && set.files.length > 0 && !isPresent(options.modelDirectory, set),
  )
  if (missing.length === 0) return { stop: async () => {} }

  const logFile = join(options.logDirectory, 'models.log')
  boundLog(logFile)
  const earlierBytes = sizeOf(logFile)
  const log = openSync(logFile, 'a', 0o600)
  const child = spawn(process.execPath, [options.program, 'models', 'pull', '--small'], {
    env: options.environment,
    // The IPC channel closes when this process ends, and then the child ends.
    stdio: ['ignore', log, log, 'ipc'],
  })
  closeSync(log)
  try {
    if (child.pid !== undefined) setPriority(child.pid, lowPriority)
  } catch {
    // The child has already ended, or the system does not permit it.
  }
  const totalBytes = missing.flatMap(({ files }) => files).reduce((sum, { bytes }) => sum + bytes, 0)
  const line = options.status.begin('Downloading models')
  const total = createPullTotal(totalBytes)
  child.on('message', (progress) => {
    const text = total(progress as PullProgress)
    if (text !== undefined) line.update(text)
  })
  say(
    `Downloading ${Math.ceil(totalBytes / 1e6)} MB of speech and recognition models in the background (logs/models.log).`,
  )

  let isStopping = false
  const ended = outcome(child)
  void ended.then((code) => {
    line.end()
    if (isStopping) return
    if (code === 0) say('Models downloaded. Speech and recognition now use them.')
    else {
      const reason = lastLines(logFile, earlierBytes)
        .split('\n')
        .find((line) => line.startsWith('    '))
        ?.trim()
      warn(
        `Could not download models${reason === undefined ? '' : ` (${reason})`}. To retry, run: ${command}`,
      )
    }
  })
  return {
    async stop() {
      isStopping = true
      child.kill('SIGTERM')
      const kill = setTimeout(() => child.kill('SIGKILL'), stopGraceMs)
      await ended
      clearTimeout(kill)
    },
  }
}
