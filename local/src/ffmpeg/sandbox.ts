import { execFile, spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { access, constants, realpath } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'

import { findSandbox, mountOfProgram, SandboxUnavailable, startSandboxed } from '@kinora/sandbox/sandbox'

const run = promisify(execFile)

/** Where to find ffmpeg and its sandbox, and whether it may run without one. */
export interface FfmpegSettings {
  ffmpegPath: string
  /** `bwrap` by default. */
  bubblewrapPath?: string
  /** False by default. */
  requiresSandbox?: boolean
}

export interface FfmpegTool {
  path: string
  version: string
  sandbox: 'bubblewrap' | 'none'
  bubblewrapPath?: string
  /** Why there is no sandbox, and the fix. */
  sandboxProblem?: string
}

export const searchPath = '/usr/local/bin:/usr/bin:/bin'
const probeTimeoutMs = 10_000
/** More than any film or recording needs. */
const cpuSecondsMax = 4 * 3600
const fileBytesMax = 4 * 1024 ** 3

/** Finds ffmpeg and checks whether the sandbox works on this machine. Throws if it is required and does not. */
export async function findFfmpeg(settings: FfmpegSettings): Promise<FfmpegTool> {
  const { ffmpegPath, bubblewrapPath = 'bwrap', requiresSandbox = false } = settings
  const found = await locate(ffmpegPath)
  const options = { env: { PATH: searchPath }, timeout: probeTimeoutMs, killSignal: 'SIGKILL' } as const
  const { stdout } = await run(found, ['-version'], options).catch((error: unknown) => {
    throw new Error(`ffmpeg does not run at ${ffmpegPath}`, { cause: error })
  })
  const tool = { path: found, version: /^ffmpeg version (\S+)/u.exec(stdout)?.[1] ?? 'unknown' }
  try {
    const sandbox = await findSandbox(bubblewrapPath)
    return { ...tool, sandbox: 'bubblewrap', ...sandbox }
  } catch (error) {
    if (requiresSandbox || !(error instanceof SandboxUnavailable)) throw error
    return { ...tool, sandbox: 'none', sandboxProblem: error.message }
  }
}

/**
 * Starts a program in `directory`, the only directory it may write to; `readOnlyFiles` in it are read-only. In the sandbox
 * it can read nothing else besides the system's programs.
 */
export function startProgram(
  tool: FfmpegTool,
  directory: string,
  args: string[],
  stdio: Exclude<StdioOptions, string>,
  readOnlyFiles: string[] = [],
): ChildProcess {
  const { bubblewrapPath } = tool
  if (bubblewrapPath === undefined)
    return spawn(tool.path, args, { cwd: directory, env: { PATH: searchPath }, stdio })
  const mounts = [
    ...[...mountOfProgram(tool.path), '--bind', directory, '/job'],
    ...readOnlyFiles.flatMap((name) => ['--ro-bind', path.join(directory, name), `/job/${name}`]),
    ...['--chdir', '/job'],
  ]
  const confined = { program: tool.path, parameters: args, mounts, cpuSecondsMax, fileBytesMax }
  return startSandboxed({ bubblewrapPath }, confined, stdio)
}

async function locate(name: string): Promise<string> {
  const advice = 'install it (apt-get install ffmpeg), or set FFMPEG_PATH'
  if (name.includes('/')) {
    return await realpath(path.resolve(name)).catch(() => {
      throw new Error(`${name} was not found: ${advice}`)
    })
  }
  for (const folder of searchPath.split(':')) {
    const candidate = path.join(folder, name)
    const usable = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (usable) return candidate
  }
  throw new Error(`${name} was not found in ${searchPath}: ${advice}`)
}

/** Whether the fonts for captions are installed; undefined if `fc-list` is not available. */
export async function findFonts(): Promise<{ inter: boolean; chinese: boolean; emoji: boolean } | undefined> {
  const list = async (...args: string[]) => {
    const { stdout } = await run('fc-list', args, { env: { PATH: searchPath }, timeout: probeTimeoutMs })
    return stdout.trim()
  }
  try {
    const [inter, chinese, emoji] = await Promise.all([
      list('Inter', 'family'),
      list(':lang=zh', 'family'),
      list(':lang=und-zsye', 'family'),
    ])
    return { inter: inter !== '', chinese: chinese !== '', emoji: emoji !== '' }
  } catch {
    return undefined
  }
}
