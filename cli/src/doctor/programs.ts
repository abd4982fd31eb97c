/** Checks the programs and models of this machine. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import type { ModelDirectory } from '@kinora/local/models/model-directory'
import { modelSets } from '@kinora/local/models/model-set'
import type { Programs } from '@kinora/local/programs'
import { findFonts, type FfmpegTool } from '@kinora/local/sandbox'
import { findSandbox, SandboxUnavailable } from '@kinora/sandbox/sandbox'

import { absent, failed, ok, timeoutMs, type Check } from './check.ts'

const run = promisify(execFile)

const output = async (program: string, args: string[]): Promise<string> => {
  try {
    return (await run(program, args, { timeout: timeoutMs, killSignal: 'SIGKILL' })).stdout
  } catch (error) {
    if ((error as { killed?: boolean }).killed !== true) throw error
    throw new Error(`${program} did not respond within ${timeoutMs / 1000} s`, { cause: error })
  }
}

export const node = (): Check =>
  process.version.startsWith('v24.')
    ? ok('Node', process.version)
    : failed('Node', process.version, 'install Node 24, or run Kinora with npm, which includes it')

const installFfmpeg = 'apt-get install ffmpeg'
const neededEncoders = ['libx264', 'aac', 'libmp3lame', 'libopus', 'flac']

export const ffmpeg = (path: string, found: FfmpegTool | Error): Check =>
  found instanceof Error
    ? failed('ffmpeg', found.message.split(':', 1)[0] ?? '', `${installFfmpeg}, or set FFMPEG_PATH`)
    : ok('ffmpeg', `${found.version} (${path})`)

export const encoders = async (found: FfmpegTool): Promise<Check> => {
  const listed = await output(found.path, ['-hide_banner', '-encoders']).catch((error: unknown) => error)
  if (typeof listed !== 'string') return failed('encoders', (listed as Error).message, installFfmpeg)
  const names = new Set(listed.split('\n').map((line) => line.trim().split(/\s+/)[1]))
  const missing = neededEncoders.filter((name) => !names.has(name))
  return missing.length === 0
    ? ok('encoders', neededEncoders.join(', '))
    : failed('encoders', `this ffmpeg lacks ${missing.join(', ')}`, installFfmpeg)
}

export const ffprobe = async (path: string): Promise<Check> => {
  try {
    const version = /^ffprobe version (\S+)/.exec(await output(path, ['-version']))?.[1] ?? 'unknown'
    return ok('ffprobe', `${version} (${path})`)
  } catch (error) {
    return failed('ffprobe', (error as Error).message, `${installFfmpeg}, or set FFPROBE_PATH`)
  }
}

export const sandbox = async (bubblewrapPath: string, isRequired: boolean): Promise<Check> => {
  try {
    await findSandbox(bubblewrapPath)
    return ok('sandbox', 'media is decoded in a sandbox')
  } catch (error) {
    if (!(error instanceof SandboxUnavailable)) throw error
    return isRequired
      ? failed('sandbox', `media is refused (REQUIRE_SANDBOX): ${error.reason}`, error.fix)
      : absent('sandbox', `media is decoded without a sandbox: ${error.reason}`, error.fix)
  }
}

export const espeak = async ({ espeakPath }: Programs): Promise<Check> => {
  if (espeakPath === undefined) {
    return absent('espeak-ng', 'required for speech', 'apt-get install espeak-ng')
  }
  const version = /[\d.]+\d/.exec(await output(espeakPath, ['--version']).catch(() => ''))?.[0] ?? ''
  return ok('espeak-ng', `${version} (${espeakPath})`.trim())
}

export const pocketsphinx = ({ pocketsphinxPath }: Programs): Check =>
  pocketsphinxPath === undefined
    ? absent(
        'pocketsphinx',
        'recognizes English if no model is present',
        'apt-get install pocketsphinx pocketsphinx-en-us',
      )
    : ok('pocketsphinx', pocketsphinxPath)

export const fonts = async (): Promise<Check> => {
  const found = await findFonts()
  if (found?.inter === true && found.chinese && found.emoji) return ok('fonts', 'Inter, Chinese and emoji')
  const fix = 'apt-get install fontconfig fonts-inter fonts-droid-fallback fonts-noto-color-emoji'
  return absent('fonts', 'captions use another font, or show boxes instead of Chinese or emoji', fix)
}

export const models = (directory: ModelDirectory): Check => {
  const missing = modelSets.filter(({ name }) => directory.find(name) === undefined)
  const present = modelSets.length - missing.length
  const detail = `${present} of ${modelSets.length} sets in ${directory.path}`
  if (missing.length === 0) return ok('models', detail)
  const names = missing.map(({ name }) => name).join(', ')
  return absent('models', `${detail}; missing: ${names}`, 'kinora models pull [speech|recognition|chat]')
}
