/** What operators set up, as it is followed while the service runs: from a real file and a real record. */
import { mkdir, mkdtemp, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'

import { loadConfig } from '../../src/config.ts'
import { knownModels } from '../../src/models/catalog.ts'
import { Secret } from '../../src/platform/secret.ts'
import { createLiveConfig, type LiveProviderConfig } from '../../src/provider-config/live-config.ts'
import {
  removeModelRecord,
  removeProviderRecord,
  writeModelRecord,
  writeProviderRecord,
} from '../../src/provider-config/provider-config-store.ts'
import { sealCredential } from '../../src/provider-config/sealed-credential.ts'
import { createDatabase, type TestDatabase } from '../kit/database.ts'
import { testEnvironment } from '../kit/start-gateway.ts'
import { withoutIntervals } from '../kit/without-intervals.ts'

const credentialSecrets = [new Secret('a secret of more than thirty-two characters')]

let database: TestDatabase
let directory: string
let file: string

beforeAll(async () => {
  database = await createDatabase()
  directory = await mkdtemp(join(tmpdir(), 'kinora-setup-'))
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

interface Followed extends LiveProviderConfig, AsyncDisposable {
  /** What was logged: which event, and of what. */
  lines: { msg: string; problem?: string; providers?: string[]; models?: string[] }[]
  logText: () => string
  slotsOf: (name: string) => number | undefined
}

const follow = async (text: string, { lookEveryMs = 20 } = {}): Promise<Followed> => {
  await writeFile(file, text)
  const config = loadConfig({ ...testEnvironment(database.url, directory), PROVIDERS_FILE: file })
  const lines: Followed['lines'] = []
  const written: string[] = []
  const log = pino(
    { level: 'info' },
    {
      write: (line) => {
        written.push(line)
        lines.push(JSON.parse(line) as Followed['lines'][number])
      },
    },
  )
  const providerConfig = await withoutIntervals(() =>
    createLiveConfig({
      postgres: database.postgres,
      readProviderConfig: config.readProviderConfig,
      credentialSecrets,
      protocols: config.protocols,
      knownModels,
      log,
      lookEveryMs,
    }),
  )
  return {
    ...providerConfig,
    lines,
    logText: () => written.join(''),
    slotsOf: (name) => providerConfig.current().providers.find((each) => each.name === name)?.slots,
    [Symbol.asyncDispose]: providerConfig.stop,
  }
}

const acme = (slots: number, more = '') =>
  `providers: {acme: {kind: openai, baseUrl: 'https://acme.example', slots: ${slots}${more}}}\n`

const putProvider = (name: string, entry: Record<string, unknown>, credential: Buffer | null = null) =>
  writeProviderRecord(database.postgres, { name, entry, credential, credentialHint: null })

test('a changed file counts soon, and who listens is told once', async () => {
  await using providerConfig = await follow(acme(5))
  let told = 0
  providerConfig.onChange(() => {
    told += 1
  })
  expect(providerConfig.lines).toEqual([])
  await writeFile(file, `${acme(6)}models: {vidB-2: {pricePerSecondMicros: 7}}\n`)
  await expect.poll(() => providerConfig.slotsOf('acme')).toBe(6)
  expect(providerConfig.current().models['vidB-2']?.pricePerSecondMicros).toBe(7)
  expect(providerConfig.lines).toEqual([
    expect.objectContaining({ msg: 'provider-config.changed', providers: ['acme'], models: ['vidB-2'] }),
  ])
  await writeFile(join(directory, 'next.yaml'), acme(8))
  await rename(join(directory, 'next.yaml'), file)
  await expect.poll(() => providerConfig.slotsOf('acme')).toBe(8)
  expect(told).toBe(2)
})

test('a file that is being written is not taken for one without providers', async () => {
  await using providerConfig = await follow(acme(5), { lookEveryMs: 1 })
  const seen = new Set<string>()
  providerConfig.onChange(() => {
    for (const { name } of providerConfig.current().providers) seen.add(name)
  })
  for (const slots of [11, 12]) {
    await writeFile(file, '')
    await stat(file)
    await writeFile(file, acme(slots))
    await expect.poll(() => providerConfig.slotsOf('acme'), { interval: 5 }).toBe(slots)
  }
  expect([...seen]).toEqual(['acme'])
})

test('a file that is not usable changes nothing, and each of its problems is said once', async () => {
  await using providerConfig = await follow(acme(5))
  await writeFile(file, `${acme(0)}models: {vidB-9: {}}\n`)
  await expect.poll(() => providerConfig.lines.length).toBe(2)
  expect(providerConfig.lines.map(({ msg, problem }) => [msg, problem])).toEqual([
    [
      'provider-config.invalid',
      `${file}:1: providers.acme.slots must be a whole number from 1 to 100000, not 0`,
    ],
    [
      'provider-config.invalid',
      expect.stringContaining(`${file}:2: models.vidB-9 is not a model of the catalog`),
    ],
  ])
  expect(providerConfig.slotsOf('acme')).toBe(5)
  await rm(file)
  await expect.poll(() => providerConfig.lines.at(-1)?.problem).toContain('cannot be read')
  expect(providerConfig.slotsOf('acme')).toBe(5)
  await writeFile(file, acme(9))
  await expect.poll(() => providerConfig.slotsOf('acme')).toBe(9)
  expect(providerConfig.lines).toHaveLength(4)
})

test('directories that are swapped by a link are followed, secrets too, and no secret is logged', async () => {
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
  await using providerConfig = await follow(acme(5, `, apiKey: '\${file:${mounted}/key}'`))
  const keyNow = () => providerConfig.current().providers[0]?.apiKey?.reveal()
  expect(keyNow()).toBe('sk-the-first')
  await rename(join(directory, 'to-two'), mounted)
  await expect.poll(keyNow).toBe('sk-the-second')
  expect(providerConfig.lines).toEqual([
    expect.objectContaining({ msg: 'provider-config.changed', providers: ['acme'] }),
  ])
  expect(providerConfig.logText()).not.toContain('sk-the')
})

test('what the record holds counts over the file as soon as it is written, and the file again when it goes', async () => {
  await putProvider(
    'house',
    { kind: 'local' },
    sealCredential(credentialSecrets, 'house', new Secret('sk-1')),
  )
  await using providerConfig = await follow(acme(5, ', apiKey: sk-of-the-file'))
  const keyOf = (name: string) =>
    providerConfig
      .current()
      .providers.find((each) => each.name === name)
      ?.apiKey?.reveal()
  expect(providerConfig.current().providers.map(({ name }) => name)).toEqual(['acme', 'house'])
  expect(keyOf('house')).toBe('sk-1')
  expect(providerConfig.lines).toEqual([])

  await putProvider('acme', { kind: 'openai', baseUrl: 'https://acme.example/v2', slots: 3, enabled: false })
  await writeModelRecord(database.postgres, 'vidB-2', { routes: [{ provider: 'house', order: 2 }] })
  await expect.poll(() => providerConfig.current().models['vidB-2']?.routes?.[0]?.provider).toBe('house')
  expect(providerConfig.current().providers[0]).toMatchObject({ name: 'acme', slots: 3, isEnabled: false })
  // Whoever may change a provider must not be able to have the file's key sent to them.
  expect(keyOf('acme')).toBe('sk-of-the-file')
  await putProvider('acme', { kind: 'openai', baseUrl: 'https://elsewhere.example', slots: 2 })
  await expect.poll(() => providerConfig.slotsOf('acme')).toBe(2)
  expect(keyOf('acme')).toBeUndefined()
  expect(providerConfig.ofFile().providers.map(({ name, slots }) => [name, slots])).toEqual([['acme', 5]])

  await removeProviderRecord(database.postgres, 'acme')
  await removeModelRecord(database.postgres, 'vidB-2')
  await expect.poll(() => providerConfig.slotsOf('acme')).toBe(5)
  await expect.poll(() => providerConfig.current().models).toEqual({})
})

test('a provider that was removed with tasks of its own stays, and takes nothing new', async () => {
  await putProvider('house', { kind: 'local' })
  await database.postgres.query(
    `insert into open_tasks (day, task_id, account_id, key_id, seconds, provider, shard, model, accepted_at, not_before,
                             last_activity_at, deadline_at)
     values (current_date, 'task_of_house', gen_random_uuid(), gen_random_uuid(), 4, 'house', 0, 'vidB-2', now(), now(), now(), now())`,
  )
  await using providerConfig = await follow(acme(5))
  const house = () => providerConfig.current().providers.find(({ name }) => name === 'house')
  expect(house()?.isEnabled).toBe(true)
  await removeProviderRecord(database.postgres, 'house')
  await expect.poll(() => house()?.isEnabled).toBe(false)
  await database.postgres.query('delete from open_tasks')
  await providerConfig.refresh()
  expect(house()).toBeUndefined()
})

test('an entry of the record that cannot be used is told once and stops no other', async () => {
  const shut = sealCredential(
    [new Secret('another secret of more than thirty-two')],
    'shut',
    new Secret('sk-2'),
  )
  await putProvider('shut', { kind: 'local' }, shut)
  await putProvider('acme', { kind: 'telepathy' })
  await putProvider('house', { kind: 'local' })
  await writeModelRecord(database.postgres, 'vidB-2', { routes: [{ provider: 'gone' }] })
  await using providerConfig = await follow(acme(5))
  await providerConfig.refresh()
  expect(providerConfig.current().providers.map(({ name, isEnabled }) => [name, isEnabled])).toEqual([
    ['acme', false],
    ['house', true],
    ['shut', false],
  ])
  // It falls to nobody else.
  expect(providerConfig.current().models['vidB-2']?.routes).toEqual([])
  expect(providerConfig.lines.map(({ problem }) => problem)).toEqual([
    expect.stringMatching(/^providers\.acme\.kind must be one of/),
    expect.stringMatching(/^providers\.shut has a key that none of CREDENTIAL_SECRETS opens/),
    'models.vidB-2 has a route to gone, which is not there',
  ])
})
