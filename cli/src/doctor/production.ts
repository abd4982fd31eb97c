/** Checks an installation: its settings, providers, disk and backups. */
import { existsSync } from 'node:fs'
import { access, constants, statfs } from 'node:fs/promises'
import { join } from 'node:path'

import {
  ConfigError,
  loadConfig,
  useCredentialsOf,
  type Config,
  type Environment,
} from '@kinora/gateway/config'
import { findNewestBackup, inspectProviders } from '@kinora/gateway/main'
import { checkStores } from '@kinora/gateway/storage-commands'

import { absent, failed, messageOf, ok, warning, type Check } from './check.ts'

const formatGiB = (bytes: number) => `${(bytes / 1024 ** 3).toFixed(1)} GiB`
const hourMs = 3_600_000
const backupHoursMax = 48
const notFromHere =
  'runs in a container that this machine does not reach; docker compose run --rm api doctor tests it'
/** A disk with less than this many times the minimum is soon full. */
const roomyFactor = 5

const fileFix = (problem: string, file: string): string => {
  const [, variable] = /\$\{env:(\w+)\}, which is not set/.exec(problem) ?? []
  if (variable !== undefined) return `set ${variable} in .env, or remove the provider from ${file}`
  return problem.includes('cannot be read') ? 'create the file, or correct PROVIDERS_FILE' : `correct ${file}`
}

/** One check for each problem, so that every line has its fix. */
const settingProblems = ({ problems }: ConfigError, file: string | undefined): Check[] =>
  problems.map((problem) =>
    file !== undefined && (problem.startsWith(file) || problem.startsWith('PROVIDERS_FILE'))
      ? failed('providers file', problem, fileFix(problem, file))
      : failed('settings', problem, `correct ${problem.split(' ', 1)[0]} in .env or the environment`),
  )

const providers = async (
  config: Config,
  options: { usesDatabase: boolean; testsBuiltIn: boolean },
): Promise<Check[]> => {
  // If the database stops responding meanwhile, the file is still worth checking.
  const { providers, offered, models } = await inspectProviders(config, options).catch(() =>
    inspectProviders(config, { ...options, usesDatabase: false }),
  )
  const file = config.PROVIDERS_FILE ?? 'PROVIDERS_FILE'
  return [
    ...(config.PROVIDERS_FILE === undefined
      ? [absent('providers file', 'PROVIDERS_FILE is not set; only the built-in provider is configured')]
      : [ok('providers file', `${config.PROVIDERS_FILE}: ${providers.length} enabled providers`)]),
    offered === 0
      ? failed(
          'models',
          `none of ${models} has a route, so customers can use none`,
          `add routes in ${file}, or set OFFER_MODELS_WITHOUT_ROUTES=true`,
        )
      : ok('models', `${offered} of ${models} are offered to customers`),
    ...providers.map(({ name, test }) => {
      if (test === undefined) return absent(`provider ${name}`, notFromHere)
      if (test.isOk) return ok(`provider ${name}`, test.message)
      // What to do follows the reason.
      const [, reason = test.message, fix = `correct ${name} in ${file}`] =
        /^(.*?): (.*?)\.?$/s.exec(test.message) ?? []
      return failed(`provider ${name}`, reason, fix)
    }),
  ]
}

const disk = async (directory: string, freeBytesMin: number): Promise<Check> => {
  const name = 'disk'
  try {
    await access(directory, constants.W_OK)
    const { bavail, bsize, blocks } = await statfs(directory)
    const freeBytes = bavail * bsize
    const detail = `${formatGiB(freeBytes)} of ${formatGiB(blocks * bsize)} free in ${directory}`
    const fix = 'delete files, enlarge the disk, or lower MEDIA_RETENTION_DAYS'
    if (freeBytes < freeBytesMin) return failed(name, `${detail}; uploads are refused`, fix)
    return freeBytes < roomyFactor * freeBytesMin
      ? warning(name, `${detail}; it is soon full`, fix)
      : ok(name, detail)
  } catch (error) {
    return failed(
      name,
      `MEDIA_DIRECTORY cannot be used: ${messageOf(error)}`,
      `create ${directory}, writable for the user of the roles, or correct MEDIA_DIRECTORY`,
    )
  }
}

/** One line for each store that works, and otherwise one for each problem. */
const stores = async (config: Config): Promise<Check[]> => {
  const checked = await checkStores(config)
  return checked.flatMap(({ setting, place, checks }) => {
    const problems = checks.flatMap(({ name, problem }) =>
      problem === undefined
        ? []
        : failed('media store', `${setting} (${place}): ${name}: ${problem.cause}`, problem.fix),
    )
    const warnings = checks.flatMap(({ name, warning: found }) =>
      found === undefined
        ? []
        : warning('media store', `${setting} (${place}): ${name}: ${found.cause}`, found.fix),
    )
    const names = checks.flatMap(({ name, warning: found }) => (found === undefined ? name : [])).join(', ')
    return [...(problems.length > 0 ? problems : [ok('media store', `${place}: ${names}`)]), ...warnings]
  })
}

/** The media of compose.yaml is in a volume, which cannot be checked from outside. */
const mayCheckStores = (config: Config, environment: Environment, disk: Check): boolean =>
  config.MEDIA_STORE !== undefined ||
  (environment['MEDIA_DIRECTORY'] !== undefined && disk.state !== 'failed')

const backup = async (directory: string | undefined, { isInContainer = false } = {}): Promise<Check> => {
  const name = 'backup'
  const fix = 'run kinora backup daily, and set BACKUP_DIRECTORY'
  if (directory === undefined || directory === '')
    return warning(name, 'BACKUP_DIRECTORY is not set, so no backup is known', fix)
  if (isInContainer && !existsSync(directory))
    return absent(
      name,
      `${directory} is not visible in this container`,
      `mount it: docker compose run --rm --volume ${directory}:${directory}:ro api doctor`,
    )
  try {
    const newest = await findNewestBackup(directory)
    if (newest === undefined) return failed(name, `${directory} has no complete backup`, 'kinora backup')
    const hours = Math.floor((Date.now() - newest.getTime()) / hourMs)
    const detail = `the newest in ${directory} is ${hours} hours old`
    return hours > backupHoursMax
      ? failed(name, detail, 'kinora backup; and see why the daily one failed')
      : ok(name, detail)
  } catch (error) {
    return failed(name, messageOf(error), 'correct BACKUP_DIRECTORY, or make a new backup')
  }
}

/** Whether the environment has settings of an installation, and not only those of `kinora dev`. */
export const isInstallation = (environment: Environment): boolean =>
  ['PUBLIC_URL', 'KEY_HASH_SECRETS', 'PROVIDERS_FILE'].some((name) => (environment[name] ?? '') !== '')

/**
 * Whether this is the machine of the containers, in the folder of `kinora init`. There, compose.yaml sets the addresses of
 * the services, and the programs are those of the image.
 */
export const isBesideContainers = (environment: Environment, directory: string): boolean =>
  isInstallation(environment) &&
  environment['DATABASE_URL'] === undefined &&
  existsSync(join(directory, 'compose.yaml'))

/** The settings of compose.yaml, with the paths of this machine. The media is in a volume. */
const composeDefaults = (environment: Environment, directory: string): Environment => {
  const folder = environment['PROVIDERS_DIRECTORY']
  return {
    DATABASE_URL: 'postgres://kinora@postgres:5432/kinora',
    MEDIA_DIRECTORY: directory,
    ADMIN_PORT: '8788',
    ...(folder !== undefined && { PROVIDERS_FILE: join(directory, folder, 'kinora.yaml') }),
  }
}

export const checkProduction = async (
  environment: Environment,
  { directory, usesDatabase }: { directory: string; usesDatabase: boolean },
): Promise<Check[]> => {
  const isBeside = isBesideContainers(environment, directory)
  const given = { ...(isBeside && composeDefaults(environment, directory)), ...environment }
  // The variable that container managers set by convention, and our image.
  const container = { isInContainer: (environment['container'] ?? '') !== '' }
  try {
    const config = loadConfig(given)
    useCredentialsOf(environment)
    const space = await disk(config.MEDIA_DIRECTORY, config.DISK_FREE_BYTES_MIN)
    return [
      ok('settings', 'complete and valid'),
      ...(await providers(config, { usesDatabase, testsBuiltIn: !isBeside })),
      space,
      ...(mayCheckStores(config, environment, space) ? await stores(config) : []),
      await backup(config.BACKUP_DIRECTORY, container),
    ]
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [
      ...settingProblems(error, given['PROVIDERS_FILE']),
      await backup(given['BACKUP_DIRECTORY'], container),
    ]
  }
}
