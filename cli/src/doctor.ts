/** `kinora doctor`: checks programs, services, models and the installation, and suggests fixes. */
import { environmentIn, loadSettings, type Environment } from '@kinora/gateway/config'
import { describeEngines, type EngineStatus } from '@kinora/local/engines'
import { openModelDirectory } from '@kinora/local/models/model-directory'
import { findPrograms } from '@kinora/local/programs'
import { findFfmpeg } from '@kinora/local/sandbox'

import { absent, showCheck, showRow, type Check } from './doctor/check.ts'
import { checkProduction, isBesideContainers, isInstallation } from './doctor/production.ts'
import {
  encoders,
  espeak,
  ffmpeg,
  ffprobe,
  fonts,
  models,
  node,
  pocketsphinx,
  sandbox,
} from './doctor/programs.ts'
import { checkPublicUrl } from './doctor/public-url.ts'
import { engineKey, postgres, redis, restate } from './doctor/services.ts'
import { style } from './terminal/print.ts'

const showEngine = ([model, { engine, quality, pull }]: [string, EngineStatus]): string => {
  const isMissing = engine === 'none'
  const state = isMissing ? 'failed' : pull === undefined ? 'ok' : 'absent'
  const fix = pull === undefined || isMissing ? pull : `better: ${pull}`
  return showRow(state, model, { width: 28, detail: `${engine}: ${quality}`, fix })
}

const checkPrograms = async (environment: Environment) => {
  const settings = loadSettings(
    [...(['FFMPEG_PATH', 'FFPROBE_PATH', 'BUBBLEWRAP_PATH', 'REQUIRE_SANDBOX', 'MODEL_DIR'] as const)],
    environment,
  )
  const [tool, programs] = await Promise.all([
    findFfmpeg({ ffmpegPath: settings.FFMPEG_PATH, bubblewrapPath: settings.BUBBLEWRAP_PATH }).catch(
      (error: unknown) => error as Error,
    ),
    findPrograms(),
  ])
  const directory = openModelDirectory(settings.MODEL_DIR)
  const checks: Check[] = [
    node(),
    ffmpeg(settings.FFMPEG_PATH, tool),
    ...(tool instanceof Error ? [] : [await encoders(tool)]),
    await ffprobe(settings.FFPROBE_PATH),
    await sandbox(settings.BUBBLEWRAP_PATH, settings.REQUIRE_SANDBOX),
    await espeak(programs),
    pocketsphinx(programs),
    await fonts(),
    models(directory),
  ]
  return { checks, engines: describeEngines(directory, programs) }
}

/** Programs that the image has are not required beside the containers. */
const notRequired = (check: Check): Check =>
  check.state === 'failed' ? absent(check.name, `${check.detail} (the image has its own)`) : check

/** Checks a service only if its address is set explicitly. The defaults are for roles that need it. */
const checkServices = async (environment: Environment): Promise<Check[]> => {
  const explicit = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  return Promise.all([
    postgres(
      explicit['DATABASE_URL'] === undefined
        ? undefined
        : loadSettings(['DATABASE_URL', 'DATABASE_DIRECT_URL'], environment),
    ),
    redis(explicit['REDIS_URL']),
    restate(explicit['RESTATE_ADMIN_URL']?.split(','), explicit['RESTATE_INGRESS_URL']?.split(',')),
    engineKey(explicit['WORKER_URL']),
  ])
}

const checkInstallation = async (environment: Environment, services: Check[]): Promise<Check[]> => {
  if (!isInstallation(environment)) return []
  const usesDatabase = services.some(({ name, state }) => name === 'PostgreSQL' && state === 'ok')
  const checks = await Promise.all([
    checkProduction(environment, { directory: process.cwd(), usesDatabase }),
    checkPublicUrl(environment['PUBLIC_URL']?.replace(/\/+$/, '')),
  ])
  return checks.flat()
}

const summaryOf = (checks: Check[]): string => {
  const count = (state: Check['state']) => checks.filter((check) => check.state === state).length
  const [problems, warnings] = [count('failed'), count('warning')]
  if (problems === 0 && warnings === 0) return 'No problems.'
  return `${problems} ${problems === 1 ? 'problem' : 'problems'}, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}.`
}

/** Returns the exit code: 1 if a required check fails. */
export const doctor = async ({ isJson }: { isJson: boolean }): Promise<number> => {
  const environment = environmentIn(process.cwd())
  const [{ checks: found, engines }, services] = await Promise.all([
    checkPrograms(environment),
    checkServices(environment),
  ])
  const programs = isBesideContainers(environment, process.cwd()) ? found.map(notRequired) : found
  const installation = await checkInstallation(environment, services)
  const checks = [...programs, ...services, ...installation]
  const isHealthy = checks.every(({ state }) => state !== 'failed')
  const section = (title: string, lines: string[]) =>
    lines.length === 0 ? [] : [style('bold', title), ...lines, '']
  process.stdout.write(
    isJson
      ? `${JSON.stringify({ ok: isHealthy, checks, engines })}\n`
      : [
          ...section('Programs', programs.map(showCheck)),
          ...section('Services', services.map(showCheck)),
          ...section('Installation', installation.map(showCheck)),
          ...section('Engines of the audio models', Object.entries(engines).map(showEngine)),
          `${summaryOf(checks)}\n`,
        ].join('\n'),
  )
  return isHealthy ? 0 : 1
}
