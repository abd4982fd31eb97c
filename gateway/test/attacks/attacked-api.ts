/** An API process with default settings and its own database, with the accounts of an attack: victim, operator, attacker. */
import { randomInt } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

import { inject } from 'vitest'

import type { Environment } from '../../src/config.ts'
import type { Postgres } from '../../src/platform/postgres.ts'
import { Secret } from '../../src/platform/secret.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { createLinkSigner } from '../../src/storage/signed-link.ts'
import { askJson } from '../kit/answers.ts'
import { createDatabase, type TestDatabase } from '../kit/database.ts'
import { completeTask, createAccount, createKey, linkSecret } from '../kit/factories.ts'
import { dispatchTick } from '../kit/queue.ts'
import { reservePorts } from '../kit/reserve-ports.ts'
import { roleProcess } from '../kit/role-process.ts'
import { makeVideo } from '../kit/sample-video.ts'
import { encoded, repeated, wave, waveOf } from '../kit/sound.ts'
import { testEnvironment } from '../kit/start-gateway.ts'
import { formBody, formType, partHead } from './client.ts'
import { speechModel } from './hogged-speech.ts'
import { startNameServices, type NameServices } from './name-services.ts'
import type { Probe, ProbeTarget } from './probes.ts'
import { startSpeechProvider, type SpeechProvider } from './speech-provider.ts'
import type { Target } from './target.ts'

/** Shared by consecutive attacks. */
export interface AttackFixtures extends AsyncDisposable {
  directory: string
  database: TestDatabase
  video: Buffer
  /** Three seconds of sound in a format that only a program can measure. */
  clip: Buffer
  recordings: string[]
  longRecording: string
  names: NameServices
  speech: SpeechProvider
}

/** How the API is started, if not as usual. */
export interface Launch {
  line: [string, ...string[]]
  environment: Environment
}

export interface AttackedApi extends AsyncDisposable {
  pid: number
  spoolDirectory: string
  target: Target
  /** Another target with its own keys and address, for the warm-up before the measured attack. */
  rehearsal: Target
  probeTarget: ProbeTarget
  probes: Probe[]
  /** Starts those programs for media, and is only measured where an attack is about them. */
  transcriptionProbe: Probe
  nameProbes: Probe[]
  /** Sends more than a small body. */
  uploadProbe: Probe
  speechProbe: Probe
  /** A read of the other account, a refused create of a flooding account, and a tick of the dispatcher. */
  overloadProbes: Probe[]
  /** Harmless requests of the attacker's account, which must succeed after the attack. */
  attackersOwn: Probe[]
  /** Ends the process at once. */
  kill: () => Promise<void>
  /** Stops the process gracefully, or kills it if that takes too long. */
  stop: () => Promise<void>
}

const audioBytesMax = 24 * 1_048_576
const stopMsMax = 8_000
const floodAccounts = 6
const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }

/** Three recordings that are cheap to send and take seconds of CPU time to measure. */
const makeRecordings = async (directory: string): Promise<string[]> => {
  const minute = wave(60)
  const silence = waveOf(Buffer.alloc(2 * 16_000 * 7_000))
  const repeated = (bytes: Buffer, timesMax: number) =>
    Buffer.concat(
      Array.from({ length: Math.min(timesMax, Math.floor(audioBytesMax / bytes.length)) }, () => bytes),
    )
  const variable = ['-c:a', 'libmp3lame', '-q:a', '9', '-write_xing', '0', '-id3v2_version', '0']
  // Of this codec in this container nothing is believed, so that all of it is decoded.
  const lossless = ['-c:a', 'flac', '-compression_level', '0', '-frame_size', '576', '-strict', '-2']
  const files = {
    'recording.mp3': repeated(await encoded(minute, 'out.mp3', variable), 235),
    'recording.m4a': await encoded(silence, 'out.mp4', lossless),
    'recording.ogg': repeated(await encoded(minute, 'out.ogg', ['-c:a', 'libvorbis', '-q:a', '0']), 200),
  }
  return Promise.all(
    Object.entries(files).map(async ([name, bytes]) => {
      await writeFile(join(directory, name), bytes)
      return join(directory, name)
    }),
  )
}

const makeLongRecording = async (directory: string): Promise<string> => {
  const opus = ['-c:a', 'libopus', '-b:a', '6k', '-vbr', 'off', '-strict', '-2']
  const path = join(directory, 'long.mp4')
  await writeFile(path, await repeated(await encoded(wave(60), 'out.mp4', opus), 'out.mp4', 234))
  return path
}

export const makeFixtures = async (): Promise<AttackFixtures> => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-attacks-'))
  const database = await createDatabase()
  const names = await startNameServices(directory)
  const speech = await startSpeechProvider()
  return {
    names,
    speech,
    directory,
    database,
    video: await makeVideo(directory, { seconds: 10, size: '1280x720' }),
    clip: await encoded(wave(3), 'out.mp3'),
    recordings: await makeRecordings(directory),
    longRecording: await makeLongRecording(directory),
    [Symbol.asyncDispose]: async () => {
      await names[Symbol.asyncDispose]()
      await speech[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/**
 * Unused loopback addresses from 127.0.0.0/8, because runs share a Redis that counts the limits per address.
 */
const createAddresses = () => {
  const prefix = `127.${randomInt(1, 255)}.${randomInt(256)}`
  let next = 0
  return {
    attacker: `${prefix}.250`,
    rehearsal: `${prefix}.251`,
    uploaders: [240, 241, 242, 243].map((last) => `${prefix}.${last}`),
    nextProbe: () => {
      next = (next % 200) + 1
      return `${prefix}.${next}`
    },
  }
}

const probesOf = (victim: string, operator: string, clip: Buffer) => {
  const json = { 'content-type': 'application/json' }
  const create = {
    method: 'POST' as const,
    path: '/v1/videos',
    headers: { ...json, authorization: `Bearer ${victim}` },
    body: Buffer.from(JSON.stringify(order)),
  }
  const probes: Probe[] = [
    { name: 'livez', perSecond: 20, method: 'GET', path: '/livez', headers: {}, enoughMs: 100 },
    { name: 'create', perSecond: 10, ...create, enoughMs: 100 },
    {
      ...{ name: 'operator', perSecond: 10, method: 'GET', path: '/admin/v1/accounts', enoughMs: 100 },
      headers: { authorization: `Bearer ${operator}` },
    },
  ]
  const transcriptionProbe: Probe = {
    ...{ name: 'transcription', perSecond: 1, method: 'POST' },
    path: '/v1/audio/transcriptions?dry_run=true',
    headers: { 'content-type': formType, authorization: `Bearer ${victim}` },
    body: formBody([partHead('model'), Buffer.from('asr-1'), partHead('file', 'clip.mp3'), clip]),
    // It starts programs, which takes a third of a second on an idle machine.
    enoughMs: 500,
  }
  const uploadProbe: Probe = {
    ...transcriptionProbe,
    ...{ name: 'upload', perSecond: 2, enoughMs: 200 },
    body: formBody([partHead('model'), Buffer.from('asr-1'), partHead('file', 'a.wav'), wave(4)]),
  }
  const speechProbe: Probe = {
    ...{ name: 'speech', perSecond: 4, method: 'POST', path: '/v1/audio/speech', enoughMs: 100 },
    headers: { ...json, authorization: `Bearer ${victim}` },
    body: Buffer.from(JSON.stringify({ model: speechModel, voice: 'alloy', input: 'Hello there.' })),
  }
  return { probes, transcriptionProbe, uploadProbe, speechProbe }
}

const startsPerTick = 5

const overloadProbesOf = (postgres: Postgres, victim: string, flood: string): Probe[] => [
  {
    ...{ name: 'tick', perSecond: 5, enoughMs: 100 },
    work: () => dispatchTick(postgres, { provider: 'local' }, {}, startsPerTick),
  },
  {
    ...{ name: 'read', perSecond: 20, method: 'GET', path: '/v1/videos?limit=5', enoughMs: 100 },
    headers: { authorization: `Bearer ${victim}` },
  },
  {
    ...{ name: 'refused', perSecond: 20, method: 'POST', path: '/v1/videos', enoughMs: 100, expects: 503 },
    headers: { 'content-type': 'application/json', authorization: `Bearer ${flood}` },
    body: Buffer.from(JSON.stringify(order)),
  },
]

const attackersOwnOf = (key: string): Probe[] => {
  const once = { perSecond: 1, enoughMs: 1_000, method: 'POST', path: '/v1/videos' } as const
  const authorization = `Bearer ${key}`
  const fields = Object.entries(order).flatMap(([name, value]) => [
    partHead(name),
    Buffer.from(String(value)),
  ])
  return [
    {
      ...once,
      name: 'compressed create',
      headers: { authorization, 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: gzipSync(JSON.stringify(order)),
    },
    {
      ...once,
      name: 'form create',
      headers: { authorization, 'content-type': formType },
      body: formBody(fields),
    },
  ]
}

export const startAttackedApi = async (
  { directory, database, video, clip, recordings, longRecording, names }: AttackFixtures,
  given: Environment = {},
  launch?: Launch,
): Promise<AttackedApi> => {
  const { postgres } = database
  const own = await mkdtemp(join(directory, 'api-'))
  await mkdir(join(own, 'media'))
  const { api: port } = await reservePorts(own, ['api'])
  const api = roleProcess(
    'api',
    {
      ...testEnvironment(database.url, own),
      PORT: String(port),
      REDIS_URL: inject('redisUrl'),
      // Nothing listens there: neither the engine nor a provider is needed to accept a create.
      LOCAL_URL: 'http://127.0.0.1:9',
      // The defaults.
      LIMIT_ADDRESS_PER_3_MINUTES: '',
      LIMIT_CONNECTIONS_PER_ADDRESS: '',
      OVERLOAD_EVENT_LOOP_DELAY_MS: '',
      OVERLOAD_WAITING_CREATES: '',
      DATABASE_CONNECT_TIMEOUT_MS: '',
      DATABASE_STATEMENT_TIMEOUT_MS: '',
      DATABASE_LOCK_TIMEOUT_MS: '',
      LOG_LEVEL: '',
      ...given,
      ...launch?.environment,
    },
    join(own, 'api.log'),
    launch === undefined ? undefined : () => launch.line,
  )
  await api.start()
  const pid = api.pid() ?? 0
  const addresses = createAddresses()

  const [victimId, poorId, fundedId] = await Promise.all(
    [1_000_000, 0, 1_000_000].map((balance) => createAccount(postgres, { balance })),
  )
  if (victimId === undefined || poorId === undefined || fundedId === undefined)
    throw new Error('an account is missing')
  // The factory's keys have high limits; the attacker's have the default ones.
  const victim = await createKey(postgres, victimId)
  const operator = await createKey(postgres, '', { kind: 'admin' })
  const attackersKeys = async () => ({
    poor: (await createKey(postgres, poorId, { limits: {} })).text,
    funded: (await createKey(postgres, fundedId, { limits: {} })).text,
  })
  const floods = await Promise.all(
    Array.from({ length: floodAccounts }, async () => {
      const accountId = await createAccount(postgres, { balance: 1_000_000 })
      return (await createKey(postgres, accountId)).text
    }),
  )
  const uploaders = await Promise.all(
    addresses.uploaders.map(async (address) => {
      const accountId = await createAccount(postgres, { balance: 1 })
      const keys = await Promise.all([1, 2].map(() => createKey(postgres, accountId, { limits: {} })))
      return keys.map((key) => ({ key: key.text, address }))
    }),
  )
  const attackersOwn = await createKey(postgres, fundedId)
  const { body } = await askJson(`http://127.0.0.1:${port}/v1/videos`, attackersOwn.text, order)
  const taskId = String(body['id'])
  const { mediaStore, spool } = await openStorage({ MEDIA_DIRECTORY: join(own, 'media') })
  const { mediaId } = await completeTask({ database, mediaStore }, fundedId, taskId, { bytes: video })
  const links = createLinkSigner([new Secret(linkSecret)], `http://127.0.0.1:${port}`, 86_400)
  const link = new URL(links.link(mediaId, 'video.mp4'))

  const stop = async () => {
    const stopped = new AbortController()
    await Promise.race([api.stop(), sleep(stopMsMax, undefined, { signal: stopped.signal })])
    stopped.abort()
    try {
      // Set only if the process has not ended in time.
      process.kill(pid, 'SIGKILL')
    } catch {
      return
    }
  }
  const target = {
    port,
    address: addresses.attacker,
    keys: await attackersKeys(),
    floods,
    uploaders: uploaders.flat(),
    mediaPath: `${link.pathname}${link.search}`,
    taskId,
    recordings,
    longRecording,
  }
  return {
    pid,
    spoolDirectory: spool.directory,
    target,
    rehearsal: { ...target, address: addresses.rehearsal, keys: await attackersKeys() },
    probeTarget: { port, nextAddress: addresses.nextProbe },
    ...probesOf(victim.text, operator.text, clip),
    nameProbes: names.probesOf(port, victim.text),
    overloadProbes: overloadProbesOf(postgres, victim.text, floods[0] ?? ''),
    attackersOwn: attackersOwnOf(attackersOwn.text),
    kill: api.kill,
    stop,
    [Symbol.asyncDispose]: async () => {
      await api.kill()
      await rm(own, { recursive: true, force: true })
    },
  }
}
