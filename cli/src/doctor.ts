/** `kinora doctor`: checks programs, services and models, and suggests fixes. */
import { execFile } from 'node:child_process'
import { connect } from 'node:http2'
import { promisify } from 'node:util'

import { environmentWith, loadSettings } from '@kinora/gateway/config'
import { findMigrationProblem, pingRedis } from '@kinora/gateway/main'
import { describeEngines, type EngineStatus } from '@kinora/local/engines'
import { openModelDirectory, type ModelDirectory } from '@kinora/local/models/model-directory'
import { modelSets } from '@kinora/local/models/model-set'
import { findPrograms, type Programs } from '@kinora/local/programs'
import { findFfmpeg, findFonts, type FfmpegTool } from '@kinora/local/sandbox'
import { findSandbox, SandboxUnavailable } from '@kinora/sandbox/sandbox'

/** `absent` means that an optional part is missing. */
interface Check {
  name: string
  state: 'ok' | 'failed' | 'absent'
  detail: string
  fix?: string
}

const run = promisify(execFile)
const timeoutMs = 5_000
const marks = { ok: '✓', failed: '✗', absent: '–' }

const ok = (name: string, detail: string): Check => ({ name, state: 'ok', detail })
const failed = (name: string, detail: string, fix: string): Check => ({ name, state: 'failed', detail, fix })
const absent = (name: string, detail: string, fix?: string): Check => ({
  name,
  state: 'absent',
  detail,
  ...(fix !== undefined && { fix }),
})

const messageOf = (error: unknown): string => {
  const { message, code, cause } = error as { message?: string; code?: string; cause?: { message?: string } }
  return cause?.message ?? (message === undefined || message === '' ? (code ?? String(error)) : message)
}

const output = async (program: string, args: string[]) =>
  (await run(program, args, { timeout: timeoutMs, killSignal: 'SIGKILL' })).stdout

const node = (): Check =>
  process.version.startsWith('v24.')
    ? ok('Node', process.version)
    : failed('Node', process.version, 'install Node 24, or run Kinora with npm, which includes it')

const installFfmpeg = 'apt-get install ffmpeg'
const neededEncoders = ['libx264', 'aac', 'libmp3lame', 'libopus', 'flac']

const ffmpeg = (path: string, found: FfmpegTool | Error): Check =>
  found instanceof Error
    ? failed('ffmpeg', found.message.split(':', 1)[0] ?? '', `${installFfmpeg}, or set FFMPEG_PATH`)
    : ok('ffmpeg', `${found.version} (${path})`)

const encoders = async (found: FfmpegTool): Promise<Check> => {
  const listed = await output(found.path, ['-hide_banner', '-encoders']).catch(() => '')
  const names = new Set(listed.split('\n').map((line) => line.trim().split(/\s+/)[1]))
  const missing = neededEncoders.filter((name) => !names.has(name))
  return missing.length === 0
    ? ok('encoders', neededEncoders.join(', '))
    : failed('encoders', `this ffmpeg lacks ${missing.join(', ')}`, installFfmpeg)
}

const ffprobe = async (path: string): Promise<Check> => {
  try {
    const version = /^ffprobe version (\S+)/.exec(await output(path, ['-version']))?.[1] ?? 'unknown'
    return ok('ffprobe', `${version} (${path})`)
  } catch (error) {
    return failed('ffprobe', messageOf(error), `${installFfmpeg}, or set FFPROBE_PATH`)
  }
}

const sandbox = async (bubblewrapPath: string, isRequired: boolean): Promise<Check> => {
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

const espeak = async ({ espeakPath }: Programs): Promise<Check> => {
  if (espeakPath === undefined) {
    return absent('espeak-ng', 'required for speech', 'apt-get install espeak-ng')
  }
  const version = /[\d.]+\d/.exec(await output(espeakPath, ['--version']).catch(() => ''))?.[0] ?? ''
  return ok('espeak-ng', `${version} (${espeakPath})`.trim())
}

const pocketsphinx = ({ pocketsphinxPath }: Programs): Check =>
  pocketsphinxPath === undefined
    ? absent(
        'pocketsphinx',
        'recognizes English if no model is present',
        'apt-get install pocketsphinx pocketsphinx-en-us',
      )
    : ok('pocketsphinx', pocketsphinxPath)

const fonts = async (): Promise<Check> => {
  const found = await findFonts()
  if (found?.inter === true && found.chinese && found.emoji) return ok('fonts', 'Inter, Chinese and emoji')
  const fix = 'apt-get install fontconfig fonts-inter fonts-droid-fallback fonts-noto-color-emoji'
  return absent('fonts', 'captions use another font, or show boxes instead of Chinese or emoji', fix)
}

const startsItsOwn = 'kinora dev starts its own'

const postgres = async (url: string | undefined): Promise<Check> => {
  if (url === undefined) return absent('PostgreSQL', `DATABASE_URL is not set; ${startsItsOwn}`)
  try {
    const problem = await findMigrationProblem({ DATABASE_URL: url })
    return problem === undefined
      ? ok('PostgreSQL', 'reachable and up to date')
      : failed('PostgreSQL', problem, 'kinora migrate')
  } catch (error) {
    return failed('PostgreSQL', messageOf(error), 'start it, or correct DATABASE_URL')
  }
}

const redis = async (url: string | undefined): Promise<Check> => {
  if (url === undefined)
    return absent('Redis', 'REDIS_URL is not set; only needed with several API processes')
  try {
    await pingRedis(url)
    return ok('Redis', 'reachable')
  } catch (error) {
    return failed('Redis', messageOf(error), 'start it, or correct REDIS_URL')
  }
}

const restate = async (adminUrl: string | undefined, ingressUrl: string | undefined): Promise<Check> => {
  if (adminUrl === undefined || ingressUrl === undefined) {
    return absent('Restate', `RESTATE_ADMIN_URL and RESTATE_INGRESS_URL are not set; ${startsItsOwn}`)
  }
  try {
    for (const address of [`${adminUrl}/health`, `${ingressUrl}/restate/health`]) {
      const response = await fetch(address, { signal: AbortSignal.timeout(timeoutMs) })
      await response.body?.cancel()
      if (!response.ok) throw new Error(`${address} responded with ${response.status}`)
    }
    return ok('Restate', 'reachable')
  } catch (error) {
    return failed(
      'Restate',
      messageOf(error),
      'start it, or correct RESTATE_ADMIN_URL and RESTATE_INGRESS_URL',
    )
  }
}

/** Calls a worker without the signature of Restate; returns the status of the response. */
const callUnsigned = (workerUrl: string): Promise<number> =>
  new Promise<number>((resolve, reject) => {
    const session = connect(workerUrl)
    const fail = (error: Error) => {
      session.destroy()
      reject(error)
    }
    session.on('error', fail).setTimeout(timeoutMs, () => fail(new Error(`${workerUrl} does not respond`)))
    const stream = session.request({ ':path': '/discover' }).on('error', fail)
    stream.on('response', ({ ':status': status = 0 }) => {
      session.destroy()
      resolve(status)
    })
  })

const engineKey = async (workerUrl: string | undefined): Promise<Check> => {
  const name = 'engine key'
  if (workerUrl === undefined) return absent(name, `WORKER_URL is not set; ${startsItsOwn}`)
  try {
    return (await callUnsigned(workerUrl)) === 401
      ? ok(name, 'workers refuse calls that Restate has not signed')
      : failed(
          name,
          `${workerUrl} accepts calls that Restate has not signed`,
          'kinora engine-key <directory>; see docs/operating.md, Restate',
        )
  } catch (error) {
    return absent(name, `not checked: ${messageOf(error)}`, 'start the worker, or correct WORKER_URL')
  }
}

const models = (directory: ModelDirectory): Check => {
  const missing = modelSets.filter(({ name }) => directory.find(name) === undefined)
  const present = modelSets.length - missing.length
  const detail = `${present} of ${modelSets.length} sets in ${directory.path}`
  if (missing.length === 0) return ok('models', detail)
  const names = missing.map(({ name }) => name).join(', ')
  return absent('models', `${detail}; missing: ${names}`, 'kinora models pull [speech|recognition|chat]')
}

const showCheck = ({ name, state, detail, fix }: Check): string =>
  [
    `${marks[state]} ${name.padEnd(13)} ${detail}`,
    ...(fix === undefined ? [] : [`${' '.repeat(16)}→ ${fix}`]),
  ].join('\n')

const showEngine = ([model, { engine, quality, pull }]: [string, EngineStatus]): string => {
  const mark = engine === 'none' ? marks.failed : pull === undefined ? marks.ok : marks.absent
  const better =
    pull === undefined ? [] : [`${' '.repeat(31)}→ ${engine === 'none' ? '' : 'better: '}${pull}`]
  return [`${mark} ${model.padEnd(28)} ${engine}: ${quality}`, ...better].join('\n')
}

const runChecks = async () => {
  const settings = loadSettings([
    ...(['FFMPEG_PATH', 'FFPROBE_PATH', 'BUBBLEWRAP_PATH', 'REQUIRE_SANDBOX', 'MODEL_DIR'] as const),
  ])
  // Checks a service only if its address is set explicitly. The defaults are for roles that need it.
  const explicit = Object.fromEntries(Object.entries(environmentWith({})).filter(([, value]) => value !== ''))
  const [tool, programs] = await Promise.all([
    findFfmpeg({ ffmpegPath: settings.FFMPEG_PATH, bubblewrapPath: settings.BUBBLEWRAP_PATH }).catch(
      (error: unknown) => error as Error,
    ),
    findPrograms(),
  ])
  const directory = openModelDirectory(settings.MODEL_DIR)
  const [confined, probe, voice, captions, coded, ...services] = await Promise.all([
    sandbox(settings.BUBBLEWRAP_PATH, settings.REQUIRE_SANDBOX),
    ffprobe(settings.FFPROBE_PATH),
    espeak(programs),
    fonts(),
    tool instanceof Error ? Promise.resolve(undefined) : encoders(tool),
    postgres(explicit['DATABASE_URL'] && loadSettings(['DATABASE_URL']).DATABASE_URL),
    redis(explicit['REDIS_URL']),
    restate(explicit['RESTATE_ADMIN_URL'], explicit['RESTATE_INGRESS_URL']),
    engineKey(explicit['WORKER_URL']),
  ])
  const checks: Check[] = [
    node(),
    ffmpeg(settings.FFMPEG_PATH, tool),
    ...(coded === undefined ? [] : [coded]),
    probe,
    confined,
    voice,
    pocketsphinx(programs),
    captions,
    ...services,
    models(directory),
  ]
  return { checks, engines: describeEngines(directory, programs) }
}

/** Returns the exit code: 1 if a required check fails. */
export const doctor = async ({ isJson }: { isJson: boolean }): Promise<number> => {
  const { checks, engines } = await runChecks()
  const isHealthy = checks.every(({ state }) => state !== 'failed')
  process.stdout.write(
    isJson
      ? `${JSON.stringify({ ok: isHealthy, checks, engines })}\n`
      : `${[
          ...checks.map(showCheck),
          '',
          'Engines of the audio models:',
          '',
          ...Object.entries(engines).map(showEngine),
        ].join('\n')}\n`,
  )
  return isHealthy ? 0 : 1
}
