/** A wrapper of an ffmpeg program that blocks for some parameters until a test releases it. */
import { execFile } from 'node:child_process'
import { mkdir, open, readdir, writeFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect } from 'vitest'

export interface BlockingProgram {
  path: string
  /** The ids of all processes that blocked. */
  started: () => Promise<number[]>
  /** The ids of those that still run. */
  alive: () => Promise<number[]>
  untilStarted: (count: number) => Promise<void>
  untilAllEnded: () => Promise<void>
  /** Releases every process, including future ones. */
  release: () => Promise<void>
  /** Ends the processes that still run. */
  close: () => Promise<void>
}

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** The settings for a program that is a script, which could not start other programs in the sandbox. */
export const withoutSandbox = { BUBBLEWRAP_PATH: '/nowhere/bwrap' }

/** Blocks if the parameters, joined by spaces, contain one of these texts. */
export const blockingProgram = async (
  directory: string,
  program: 'ffmpeg' | 'ffprobe',
  texts: string[],
): Promise<BlockingProgram> => {
  const path = join(directory, `blocking-${program}`)
  const startedDirectory = join(directory, `${program}-started`)
  const gate = join(directory, `${program}-gate`)
  await mkdir(startedDirectory, { recursive: true })
  await promisify(execFile)('mkfifo', [gate])
  // The shell itself blocks when it opens the pipe, so there is exactly one process to kill.
  const script = [
    '#!/bin/sh',
    `case " $* " in ${texts.map((text) => `*"${text}"*`).join('|')})`,
    `  echo > "${startedDirectory}/$$"; read -r _ < "${gate}" ;;`,
    'esac',
    `exec ${program} "$@"`,
    '',
  ]
  await writeFile(path, script.join('\n'), { mode: 0o755 })
  const started = async () => (await readdir(startedDirectory)).map(Number)
  const alive = async () => (await started()).filter(isAlive)
  let pipe: FileHandle | undefined
  return {
    path,
    started,
    alive,
    untilStarted: (count) => expect.poll(async () => (await started()).length).toBeGreaterThanOrEqual(count),
    untilAllEnded: () => expect.poll(alive).toEqual([]),
    release: async () => {
      pipe ??= await open(gate, 'r+')
      await pipe.write('\n'.repeat(1_000))
    },
    close: async () => {
      await pipe?.close()
      for (const pid of await alive()) process.kill(pid, 'SIGKILL')
    },
  }
}
