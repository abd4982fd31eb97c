import { execFile } from 'node:child_process'
import { access, constants, realpath } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

type Sandbox = 'bubblewrap' | 'none'

export interface FfmpegTool {
  path: string
  version: string
  sandbox: Sandbox
  bubblewrapPath?: string
}

export interface Command {
  command: string
  args: string[]
  options: { cwd: string; env: Record<string, string> }
}

export const searchPath = '/usr/local/bin:/usr/bin:/bin'
const probeTimeoutMs = 10_000

/** Finds ffmpeg and checks whether the sandbox works on this machine. Called once, at start. */
export async function findFfmpeg(ffmpegPath: string): Promise<FfmpegTool> {
  const found = await locate(ffmpegPath)
  const plain: FfmpegTool = { path: found, version: '', sandbox: 'none' }
  plain.version = await versionOf(commandFor(plain, '/', ['-version'])).catch((error: unknown) => {
    throw new Error(`ffmpeg does not run at ${ffmpegPath}`, { cause: error })
  })
  const bubblewrapPath = await locate('bwrap').catch(() => undefined)
  if (bubblewrapPath === undefined) return plain
  const sandboxed: FfmpegTool = { ...plain, sandbox: 'bubblewrap', bubblewrapPath }
  // Containers often forbid user namespaces, which only a trial run can detect.
  const works = await versionOf(commandFor(sandboxed, '/tmp', ['-version'])).then(
    () => true,
    () => false,
  )
  return works ? sandboxed : plain
}

/**
 * The command that runs ffmpeg in `directory`, the only directory it may write to; `readOnlyFiles` in it are read-only.
 */
export function commandFor(
  tool: FfmpegTool,
  directory: string,
  ffmpegArgs: string[],
  readOnlyFiles: string[] = [],
): Command {
  if (tool.bubblewrapPath === undefined) {
    return { command: tool.path, args: ffmpegArgs, options: { cwd: directory, env: { PATH: searchPath } } }
  }
  const programFolder = path.dirname(tool.path)
  const args = [
    ...['--unshare-all', '--die-with-parent', '--new-session', '--clearenv', '--cap-drop', 'ALL'],
    ...['--uid', '65534', '--gid', '65534', '--setenv', 'PATH', searchPath],
    ...['--ro-bind', '/usr', '/usr', '--ro-bind-try', '/lib', '/lib', '--ro-bind-try', '/lib64', '/lib64'],
    ...['--ro-bind-try', '/bin', '/bin', '--ro-bind-try', '/etc/ld.so.cache', '/etc/ld.so.cache'],
    // Debian selects some of ffmpeg's libraries through links in this folder.
    ...['--ro-bind-try', '/etc/alternatives', '/etc/alternatives'],
    ...(programFolder.startsWith('/usr/') || programFolder === '/bin'
      ? []
      : ['--ro-bind', programFolder, programFolder]),
    ...['--proc', '/proc', '--dev', '/dev', '--bind', directory, '/job'],
    ...readOnlyFiles.flatMap((name) => ['--ro-bind', path.join(directory, name), `/job/${name}`]),
    ...['--chdir', '/job', '--'],
    ...[tool.path, ...ffmpegArgs],
  ]
  return { command: tool.bubblewrapPath, args, options: { cwd: '/', env: {} } }
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

async function versionOf({ command, args, options }: Command): Promise<string> {
  const { stdout } = await run(command, args, { ...options, timeout: probeTimeoutMs, killSignal: 'SIGKILL' })
  return /^ffmpeg version (\S+)/u.exec(stdout)?.[1] ?? 'unknown'
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
