/**
 * Finds out what a finished file really is. An MP4 is read here; anything else is put to ffprobe. The file
 * comes from outside, so that program sees nothing but it: only the container formats we keep, no playlists,
 * no network, an empty environment and, where bubblewrap works, a sandbox of its own.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { probeMp4 } from './probe-mp4.ts'

const run = promisify(execFile)

export interface ProbedVideo {
  width: number
  height: number
  durationMs: number
}

export type ProbeVideo = (path: string) => Promise<ProbedVideo | undefined>

const timeoutMs = 20_000
const systemDirectories = ['/usr', '/lib', '/lib64', '/bin', '/etc/ld.so.cache', '/etc/alternatives']

const sandboxed = (path: string) => [
  ...['--unshare-all', '--die-with-parent', '--new-session', '--clearenv', '--cap-drop', 'ALL'],
  ...systemDirectories.flatMap((directory) => ['--ro-bind-try', directory, directory]),
  ...['--proc', '/proc', '--dev', '/dev', '--ro-bind', path, '/video'],
]

const question = (path: string) => [
  ...['-v', 'error', '-protocol_whitelist', 'file'],
  ...['-format_whitelist', 'mov,mp4,m4a,3gp,3g2,mj2,matroska,webm'],
  ...['-show_entries', 'stream=codec_type,width,height:format=duration', '-of', 'json', path],
]

/** Whether bubblewrap is there and allowed to make namespaces; containers often forbid it. */
const canSandbox = async (ffprobePath: string): Promise<boolean> => {
  try {
    await run('bwrap', [...sandboxed('/dev/null'), ffprobePath, '-version'], { timeout: timeoutMs })
    return true
  } catch {
    return false
  }
}

/** Makes the probe. It answers undefined for a file that is no playable video. */
export const createProbeVideo = async (ffprobePath: string): Promise<ProbeVideo> => {
  const isSandboxed = await canSandbox(ffprobePath)
  const askProgram: ProbeVideo = async (path) => {
    const [program, parameters] = isSandboxed
      ? (['bwrap', [...sandboxed(path), ffprobePath, ...question('/video')]] as const)
      : ([ffprobePath, question(path)] as const)
    let output: string
    try {
      ;({ stdout: output } = await run(program, parameters, {
        timeout: timeoutMs,
        ...(!isSandboxed && { env: {} }),
      }))
    } catch (error) {
      // The tool being absent or cut off says nothing about the file; its own verdict does.
      if (typeof (error as { code?: unknown }).code === 'number') return undefined
      throw error
    }
    const { streams = [], format = {} } = JSON.parse(output) as {
      streams?: { codec_type?: string; width?: number; height?: number }[]
      format?: { duration?: string }
    }
    const picture = streams.find(({ codec_type }) => codec_type === 'video')
    const durationMs = Math.round(Number(format.duration) * 1000)
    if (picture?.width === undefined || picture.height === undefined || !(durationMs > 0)) return undefined
    return { width: picture.width, height: picture.height, durationMs }
  }
  return async (path) => {
    const probed = await probeMp4(path)
    return probed === 'not-mp4' ? askProgram(path) : probed
  }
}
