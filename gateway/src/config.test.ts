import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ConfigError, loadConfig, loadSettings, type Environment } from './config.ts'

const secret = 'a secret of more than thirty-two characters'
const least = { DATABASE_URL: 'postgres://127.0.0.1/kinora', KEY_HASH_SECRETS: secret, LINK_SECRETS: secret }

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-config-'))
})
afterAll(() => rm(directory, { recursive: true }))

const withFile = async (text: string, environment: Environment = {}) => {
  const file = join(directory, 'providers.yaml')
  await writeFile(file, text)
  return () => loadConfig({ ...least, PROVIDERS_FILE: file, ...environment })
}

test('three settings are enough, and the rest have defaults that fit together', () => {
  const config = loadConfig(least)
  expect(config).toMatchObject({ HOST: '127.0.0.1', PORT: 8787, REDIS_URL: undefined, TRUSTED_PROXIES: [] })
  expect(config.publicUrl).toBe('http://127.0.0.1:8787')
  expect(config.workerUrl).toBe('http://127.0.0.1:9180')
  expect(config.providers).toEqual([expect.objectContaining({ name: 'local', kind: 'local' })])
  expect(config.models).toEqual({})
})

test('everything that is wrong is said at once, each with its name', () => {
  let message = ''
  try {
    loadConfig({
      PORT: 'http',
      LINK_SECRETS: 'short',
      PUBLIC_URL: 'nowhere',
      LINK_SECONDS: '5',
      PROVIDERS_FILE: '/nowhere.yaml',
    })
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    message = (error as Error).message
  }
  for (const name of [
    'DATABASE_URL',
    'KEY_HASH_SECRETS',
    'LINK_SECRETS',
    'PORT',
    'PUBLIC_URL',
    'LINK_SECONDS',
    'PROVIDERS_FILE',
  ]) {
    expect(message).toMatch(new RegExp(`^  - ${name} `, 'm'))
  }
})

test.each([
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['PORT', '80.5'],
  ['DATABASE_CONNECTIONS', '0'],
  ['MEDIA_RETENTION_DAYS', '0'],
  ['LIMIT_CREATES_PER_MINUTE', '0'],
  ['DATABASE_URL', ''],
  ['RESTATE_INGRESS_URL', 'localhost'],
  ['KEY_HASH_SECRETS', `${secret},short`],
  ['KEY_HASH_SECRETS', ','],
  ['LINK_SECRETS', ' '],
])('%s=%s is refused', (name, value) => {
  expect(() => loadConfig({ ...least, [name]: value })).toThrow(new RegExp(`- ${name} `))
})

test('an empty setting counts as one that was not given', () => {
  expect(loadConfig({ ...least, MEDIA_RETENTION_DAYS: '', REDIS_URL: '' })).toMatchObject({
    MEDIA_RETENTION_DAYS: 7,
    REDIS_URL: undefined,
  })
})

test('lists are read with spaces and without empty parts', () => {
  expect(loadConfig({ ...least, TRUSTED_PROXIES: ' 10.0.0.1 , ,::1,' }).TRUSTED_PROXIES).toEqual([
    '10.0.0.1',
    '::1',
  ])
})

test('addresses lose their trailing slashes', () => {
  expect(loadConfig({ ...least, PUBLIC_URL: 'https://videos.example//' }).publicUrl).toBe(
    'https://videos.example',
  )
})

test('no secret shows when a configuration is printed', () => {
  const config = loadConfig(least)
  expect(config.KEY_HASH_SECRETS.map((each) => each.reveal())).toEqual([secret])
  expect(inspect(config, { depth: 9 })).not.toContain(secret)
  expect(JSON.stringify(config)).not.toContain(secret)
})

test('a role may read a few settings alone', () => {
  expect(loadSettings(['LOG_LEVEL', 'PORT'], {})).toEqual({ LOG_LEVEL: 'info', PORT: 8787 })
  expect(() => loadSettings(['DATABASE_URL'], {})).toThrow(/DATABASE_URL is required/)
})

describe('the file of providers', () => {
  test('names providers and models; a key may stand in the environment', async () => {
    const load = await withFile(
      [
        'providers:',
        "  cloud: { kind: openai, baseUrl: 'https://api.example/v1/', apiKey: '${env:CLOUD_KEY}',",
        '           slots: 7, idempotentSubmits: false }',
        '  here: { kind: local }',
        'models:',
        '  vidB-2: { state: deprecated, shutdownDate: 2027-01-01, provider: cloud, upstreamModel: sora,',
        '            pricePerSecondMicros: 5 }',
      ].join('\n'),
      { CLOUD_KEY: 'sk-cloud' },
    )
    const { providers, models } = load()
    expect(providers).toEqual([
      expect.objectContaining({
        name: 'cloud',
        baseUrl: 'https://api.example/v1',
        slots: 7,
        idempotentSubmits: false,
      }),
      expect.objectContaining({
        name: 'here',
        kind: 'local',
        baseUrl: 'http://127.0.0.1:9190',
        idempotentSubmits: true,
      }),
    ])
    expect(providers[0]?.apiKey?.reveal()).toBe('sk-cloud')
    expect(models).toEqual({
      'vidB-2': {
        state: 'deprecated',
        shutdownDate: '2027-01-01',
        successor: undefined,
        provider: 'cloud',
        upstreamModel: 'sora',
        pricePerSecondMicros: 5,
      },
    })
  })

  test('may be empty, or change models alone', async () => {
    expect((await withFile(''))().providers).toHaveLength(1)
    expect(
      (await withFile('models: {vidB-2: {pricePerSecondMicros: 0}}'))().models['vidB-2']
        ?.pricePerSecondMicros,
    ).toBe(0)
  })

  test.each([
    ['a kind nobody speaks', 'providers: {a: {kind: telepathy}}', /providers\.a\.kind/],
    [
      'a key that is not in the environment',
      "providers: {a: {kind: openai, apiKey: '${env:NO_SUCH}'}}",
      /NO_SUCH/,
    ],
    ['an address that is none', 'providers: {a: {kind: openai, baseUrl: nowhere}}', /address/],
    ['slots that are no number', 'providers: {a: {kind: local, slots: many}}', /providers\.a\.slots/],
    ['no slots', 'providers: {a: {kind: local, slots: 0}}', /providers\.a\.slots/],
    [
      'a price that is no number',
      'models: {vidB-2: {pricePerSecondMicros: cheap}}',
      /models\.vidB-2\.pricePerSecondMicros/,
    ],
    [
      'a price below zero',
      'models: {vidB-2: {pricePerSecondMicros: -1}}',
      /models\.vidB-2\.pricePerSecondMicros/,
    ],
    [
      'a price of a part of a micro',
      'models: {vidB-2: {pricePerSecondMicros: 0.5}}',
      /models\.vidB-2\.pricePerSecondMicros/,
    ],
    ['a state that is none', 'models: {vidB-2: {state: gone}}', /models\.vidB-2\.state/],
    ['a day that is none', 'models: {vidB-2: {shutdownDate: someday}}', /models\.vidB-2\.shutdownDate/],
    ['text that is no YAML', 'models: [', /PROVIDERS_FILE/],
  ])('is refused with %s', async (_, text, expected) => {
    const load = await withFile(text)
    expect(load).toThrow(ConfigError)
    expect(load).toThrow(expected)
  })
})
