/** Reloading of the configuration from a real file and a real database. */
import { mkdir, mkdtemp, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../test/kit/database.ts'
import { testEnvironment } from '../../test/kit/start-gateway.ts'
import { withoutIntervals } from '../../test/kit/without-intervals.ts'
import { loadConfig } from '../config.ts'
import { sealSecret } from '../platform/sealed-secret.ts'
import { Secret } from '../platform/secret.ts'
import { createLiveConfig, type ReloadableConfig } from './live-config.ts'
import {
  removeModelRecord,
  removeProviderRecord,
  writeModelRecord,
  writeProviderRecord,
} from './provider-config-store.ts'

const credentialSecrets = [new Secret('a secret of more than thirty-two characters')]

let database: TestDatabase
let directory: string
let file: string

beforeAll(async () => {
  database = await createDatabase()
  directory = await mkdtemp(join(tmpdir(), 'kinora-config-'))
  file = join(directory, 'providers.yaml')
})
afterAll(async () => {
  await database[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})
beforeEach(async () => {
  await database.postgres.query('delete from provider_configs')
  await database.postgres.query('delete from model_configs')
})

interface Followed extends ReloadableConfig, AsyncDisposable {
  /** The logged events. */
  events: { msg: string; problem?: string; providers?: string[]; models?: string[] }[]
  logText: () => string
  slotsOf: (name: string) => number | undefined
}

const follow = async (text: string, { fileIntervalMs = 20 } = {}): Promise<Followed> => {
  await writeFile(file, text)
  const config = loadConfig({ ...testEnvironment(database.url, directory), PROVIDERS_FILE: file })
  const events: Followed['events'] = []
  const written: string[] = []
  const log = pino(
    { level: 'info' },
    {
      write: (line) => {
        written.push(line)
        events.push(JSON.parse(line) as Followed['events'][number])
      },
    },
  )
  const liveConfig = await withoutIntervals(() =>
    createLiveConfig({
      postgres: database.postgres,
      readRoutingConfig: config.readRoutingConfig,
      credentialSecrets,
      protocols: config.protocols,
      log,
      fileIntervalMs,
    }),
  )
  return {
    ...liveConfig,
    events,
    logText: () => written.join(''),
    slotsOf: (name) => liveConfig.current().providers.find((each) => each.name === name)?.slots,
    [Symbol.asyncDispose]: liveConfig.stop,
  }
}

const acme = (slots: number, more = '') =>
  `providers: {acme: {kind: openai, baseUrl: 'https://acme.example', slots: ${slots}${more}}}\n`

const putProvider = (name: string, config: Record<string, unknown>, credential: Buffer | null = null) =>
  writeProviderRecord(database.postgres, { name, config, credential, credentialHint: null })

test('a changed file is applied, and listeners are notified once', async () => {
  await using liveConfig = await follow(acme(5))
  let notifications = 0
  liveConfig.onChange(() => {
    notifications += 1
  })
  expect(liveConfig.events).toEqual([])
  await writeFile(file, `${acme(6)}models: {vidB-2: {prices: [{ unit: second, micros: 7 }]}}\n`)
  await expect.poll(() => liveConfig.slotsOf('acme')).toBe(6)
  expect(liveConfig.current().models['vidB-2']).toMatchObject({ prices: [{ unitMicros: 7 }] })
  expect(liveConfig.events).toEqual([
    expect.objectContaining({ msg: 'provider-config.changed', providers: ['acme'], models: ['vidB-2'] }),
  ])
  await writeFile(join(directory, 'next.yaml'), acme(8))
  await rename(join(directory, 'next.yaml'), file)
  await expect.poll(() => liveConfig.slotsOf('acme')).toBe(8)
  expect(notifications).toBe(2)
})

test('a file that is still being written is not read as one without providers', async () => {
  await using liveConfig = await follow(acme(5), { fileIntervalMs: 1 })
  const seen = new Set<string>()
  liveConfig.onChange(() => {
    for (const { name } of liveConfig.current().providers) seen.add(name)
  })
  for (const slots of [11, 12]) {
    await writeFile(file, '')
    await stat(file)
    await writeFile(file, acme(slots))
    await expect.poll(() => liveConfig.slotsOf('acme'), { interval: 5 }).toBe(slots)
  }
  expect([...seen]).toEqual(['acme'])
})

test('an invalid file changes nothing, and each of its problems is logged once', async () => {
  await using liveConfig = await follow(acme(5))
  await writeFile(file, `${acme(0)}models: {vidB-9: {}}\n`)
  await expect.poll(() => liveConfig.events.length).toBe(2)
  expect(liveConfig.events.map(({ msg, problem }) => [msg, problem])).toEqual([
    [
      'provider-config.invalid',
      `${file}:1: providers.acme.slots must be a whole number from 1 to 100000, not 0`,
    ],
    [
      'provider-config.invalid',
      expect.stringContaining(`${file}:2: models.vidB-9 is not a model of the catalog`),
    ],
  ])
  expect(liveConfig.slotsOf('acme')).toBe(5)
  await rm(file)
  await expect.poll(() => liveConfig.events.at(-1)?.problem).toContain('cannot be read')
  expect(liveConfig.slotsOf('acme')).toBe(5)
  await writeFile(file, acme(9))
  await expect.poll(() => liveConfig.slotsOf('acme')).toBe(9)
  expect(liveConfig.events).toHaveLength(4)
})

test('directories replaced through a symbolic link are followed, also for secrets, and no secret is logged', async () => {
  for (const [version, key] of [
    ['one', 'sk-the-first\n'],
    ['two', 'sk-the-second\n'],
  ] as const) {
    await mkdir(join(directory, version))
    await writeFile(join(directory, version, 'key'), key)
    await symlink(version, join(directory, `to-${version}`))
  }
  const mounted = join(directory, 'mounted')
  await rename(join(directory, 'to-one'), mounted)
  await using liveConfig = await follow(acme(5, `, apiKey: '\${file:${mounted}/key}'`))
  const keyNow = () => liveConfig.current().providers[0]?.apiKey?.reveal()
  expect(keyNow()).toBe('sk-the-first')
  await rename(join(directory, 'to-two'), mounted)
  await expect.poll(keyNow).toBe('sk-the-second')
  expect(liveConfig.events).toEqual([
    expect.objectContaining({ msg: 'provider-config.changed', providers: ['acme'] }),
  ])
  expect(liveConfig.logText()).not.toContain('sk-the')
})

test('an override in the database takes effect at once, and removing it restores the file', async () => {
  await putProvider(
    'house',
    { kind: 'local' },
    sealSecret(credentialSecrets, { purpose: 'provider credential', name: 'house' }, new Secret('sk-1')),
  )
  await using liveConfig = await follow(acme(5, ', apiKey: sk-of-the-file'))
  const keyOf = (name: string) =>
    liveConfig
      .current()
      .providers.find((each) => each.name === name)
      ?.apiKey?.reveal()
  expect(liveConfig.current().providers.map(({ name }) => name)).toEqual(['acme', 'house'])
  expect(keyOf('house')).toBe('sk-1')
  expect(liveConfig.events).toEqual([])

  await putProvider('acme', { kind: 'openai', baseUrl: 'https://acme.example/v2', slots: 3, enabled: false })
  await writeModelRecord(database.postgres, 'vidB-2', { routes: [{ provider: 'house', order: 2 }] })
  await expect.poll(() => liveConfig.current().models['vidB-2']?.routes?.[0]?.provider).toBe('house')
  expect(liveConfig.current().providers[0]).toMatchObject({ name: 'acme', slots: 3, isEnabled: false })
  // The file's key is used only for the origin that the file names.
  expect(keyOf('acme')).toBe('sk-of-the-file')
  await putProvider('acme', { kind: 'openai', baseUrl: 'https://elsewhere.example', slots: 2 })
  await expect.poll(() => liveConfig.slotsOf('acme')).toBe(2)
  expect(keyOf('acme')).toBeUndefined()
  expect(liveConfig.fileConfig().providers.map(({ name, slots }) => [name, slots])).toEqual([['acme', 5]])

  await removeProviderRecord(database.postgres, 'acme')
  await removeModelRecord(database.postgres, 'vidB-2')
  await expect.poll(() => liveConfig.slotsOf('acme')).toBe(5)
  await expect.poll(() => liveConfig.current().models).toEqual(liveConfig.fileConfig().models)
})

test('a removed provider with open tasks stays, disabled', async () => {
  await putProvider('house', { kind: 'local' })
  await database.postgres.query(
    `insert into open_tasks (day, task_id, account_id, key_id, seconds, provider, shard, model, accepted_at, not_before,
                             deadline_at)
     values (current_date, 'task_of_house', gen_random_uuid(), gen_random_uuid(), 4, 'house', 0, 'vidB-2', now(), now(), now())`,
  )
  await using liveConfig = await follow(acme(5))
  const house = () => liveConfig.current().providers.find(({ name }) => name === 'house')
  expect(house()?.isEnabled).toBe(true)
  await removeProviderRecord(database.postgres, 'house')
  await expect.poll(() => house()?.isEnabled).toBe(false)
  await database.postgres.query('delete from open_tasks')
  await liveConfig.refresh()
  expect(house()).toBeUndefined()
})

test('an invalid override is logged once and does not affect others', async () => {
  const shut = sealSecret(
    [new Secret('another secret of more than thirty-two')],
    { purpose: 'provider credential', name: 'shut' },
    new Secret('sk-2'),
  )
  await putProvider('shut', { kind: 'local' }, shut)
  await putProvider('acme', { kind: 'telepathy' })
  await putProvider('house', { kind: 'local' })
  await writeModelRecord(database.postgres, 'vidB-2', { routes: [{ provider: 'gone' }] })
  await using liveConfig = await follow(acme(5))
  await liveConfig.refresh()
  expect(liveConfig.current().providers.map(({ name, isEnabled }) => [name, isEnabled])).toEqual([
    ['acme', false],
    ['house', true],
    ['shut', false],
  ])
  // The model does not fall back to another provider.
  expect(liveConfig.current().models['vidB-2']?.routes).toEqual([])
  expect(liveConfig.events.map(({ problem }) => problem)).toEqual([
    expect.stringMatching(/^providers\.acme\.kind must be one of/),
    expect.stringMatching(/^providers\.shut has a key that no secret of CREDENTIAL_SECRETS decrypts/),
    'models.vidB-2 has a route to gone, which does not exist',
  ])
})
