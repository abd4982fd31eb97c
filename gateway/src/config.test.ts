import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ConfigError, loadConfig, loadSettings, type Environment } from './config.ts'

const secret = 'a secret of more than thirty-two characters'
const least = {
  DATABASE_URL: 'postgres://127.0.0.1/kinora',
  KEY_HASH_SECRETS: secret,
  LINK_SECRETS: secret,
  AUDIT_SECRETS: secret,
}

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

test('four settings are enough, and the others have consistent defaults', () => {
  const config = loadConfig(least)
  expect(config).toMatchObject({
    HOST: '127.0.0.1',
    PORT: 8787,
    CURRENCY: 'USD',
    REDIS_URL: undefined,
    TRUSTED_PROXIES: [],
  })
  expect(config.publicUrl).toBe('http://127.0.0.1:8787')
  expect(config.adminUrl).toBe(config.publicUrl)
  expect(config.workerUrl).toBe('http://127.0.0.1:9180')
  expect(config.CREDENTIAL_SECRETS).toEqual([])
  expect(config.readRoutingConfig(() => '').providers).toEqual([
    expect.objectContaining({ name: 'local', kind: 'local', baseUrl: 'http://127.0.0.1:9190', slots: 200 }),
  ])
})

test('all problems are reported at once, each with the name of its setting', () => {
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
    'AUDIT_SECRETS',
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
  ['PORT', '0'],
  ['PORT', '0x50'],
  ['CURRENCY', 'usd'],
  ['CURRENCY', 'ABC'],
  ['CURRENCY', 'EURO'],
  ['PORT', '-1'],
  ['PORT', '80.5'],
  ['DATABASE_CONNECTIONS', '0'],
  ['MEDIA_RETENTION_DAYS', '0'],
  ['LIMIT_CREATES_PER_MINUTE', '0'],
  ['DATABASE_URL', ''],
  ['DATABASE_URL', 'postgres://db-1:5432,/kinora'],
  ['DATABASE_DIRECT_URL', 'postgres://db-1:x,db-2/kinora'],
  ['REDIS_URL', 'redis+sentinel://sentinel-1:26379'],
  ['RESTATE_INGRESS_URL', 'localhost'],
  ['RESTATE_ADMIN_URL', 'http://node-1:9070,node-2'],
  ['KEY_HASH_SECRETS', `${secret},short`],
  ['KEY_HASH_SECRETS', ','],
  ['LINK_SECRETS', ' '],
  ['CREDENTIAL_SECRETS', 'short'],
  ['AUDIT_SECRETS', 'short'],
  ['AUDIT_SECRETS', ','],
  ['ADMIN_PORT', '0'],
  ['ADMIN_PORT', '8787'],
])('%s=%s is refused', (name, value) => {
  expect(() => loadConfig({ ...least, [name]: value })).toThrow(new RegExp(`- ${name} `))
})

test.each([
  // A URL of the bucket outlives the deletion of the key, so its time is short.
  ['MEDIA_REDIRECT_SECONDS', '901', 'MEDIA_REDIRECT_SECONDS must be between 0 and 900, got 901'],
  ['PORT', '70000', 'PORT must be between 1 and 65535, got 70000'],
  ['PORT', 'http', 'PORT must be a whole number, between 1 and 65535, got "http"'],
  ['LINK_SECONDS', '5', 'LINK_SECONDS must be at least 60, got 5'],
  ['LINK_SECONDS', '1e400', 'LINK_SECONDS must be a whole number, at least 60, got "1e400"'],
  ['MEDIA_WORK_CONCURRENCY_PER_ACCOUNT', '0', 'MEDIA_WORK_CONCURRENCY_PER_ACCOUNT must be at least 1, got 0'],
  ['LIMIT_MEDIA_WORK', 'key=0', 'LIMIT_MEDIA_WORK (key) must be at least 1, got 0'],
  [
    'LOG_LEVEL',
    'loud',
    'LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent, got "loud"',
  ],
  [
    'ALLOWED_HOSTS',
    'localhost,http://a.example',
    'ALLOWED_HOSTS must be host names such as localhost or [::1], without scheme and port, got "http://a.example"',
  ],
  [
    'TRUSTED_PROXIES',
    '10.0.0.0/8,10.0.0.0/33',
    'TRUSTED_PROXIES must be addresses or ranges such as 192.0.2.1 or 10.0.0.0/8, got "10.0.0.0/33"',
  ],
  [
    'TRUSTED_PROXIES',
    'caddy',
    'TRUSTED_PROXIES must be addresses or ranges such as 192.0.2.1 or 10.0.0.0/8, got "caddy"',
  ],
  [
    'FETCH_DNS_SERVERS',
    '192.0.2.53,dns.example',
    'FETCH_DNS_SERVERS must be IP addresses with an optional port, such as 192.0.2.53 or [2001:db8::53]:5353, got "192.0.2.53,dns.example"',
  ],
  [
    'ENGINE_IDENTITY_KEYS',
    'secret-key',
    'ENGINE_IDENTITY_KEYS must be public keys that begin with publickeyv1_, got "secret-key"; create one with `kinora engine-key`',
  ],
  ['CURRENCY', 'ABC', 'CURRENCY must be the ISO 4217 code of a currency, such as USD or EUR, got "ABC"'],
])('%s=%s is refused with what is allowed', (name, value, problem) => {
  expect(() => loadConfig({ ...least, [name]: value })).toThrow(
    new ConfigError(`The configuration is invalid:\n  - ${problem}`, [problem]),
  )
})

test('keys of the engine come from the setting and from a file, which must contain one', async () => {
  const file = join(directory, 'public.key')
  const load = () =>
    loadConfig({ ...least, ENGINE_IDENTITY_KEYS: 'publickeyv1_a', ENGINE_IDENTITY_KEYS_FILE: file })
  expect(load).toThrow(/ENGINE_IDENTITY_KEYS_FILE cannot be read: ENOENT/)
  await writeFile(file, '\n')
  expect(load).toThrow(/ENGINE_IDENTITY_KEYS_FILE \(.*public\.key\) contains no key/)
  await writeFile(file, 'publickeyv1_b\npublickeyv1_c\n')
  expect(load().engineIdentityKeys).toEqual(['publickeyv1_a', 'publickeyv1_b', 'publickeyv1_c'])
})

test('an API on a wildcard address without PUBLIC_URL causes a warning', () => {
  expect(loadConfig(least).warnings).toEqual([])
  for (const host of ['0.0.0.0', '::']) {
    const config = loadConfig({ ...least, HOST: host })
    expect(config.publicUrl).toBe('http://127.0.0.1:8787')
    expect(config.warnings).toEqual([
      `HOST is ${host} and PUBLIC_URL is not set: links to results start with http://127.0.0.1:8787, which only works on this machine. Set PUBLIC_URL to the URL that clients use, such as https://media.example.com.`,
    ])
    expect(loadConfig({ ...least, HOST: host, PUBLIC_URL: 'https://a.example' }).warnings).toEqual([])
  }
  expect(loadConfig({ ...least, HOST: '::1' }).publicUrl).toBe('http://[::1]:8787')
})

test('an empty setting counts as not set', () => {
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

test('URLs lose their trailing slashes', () => {
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

test('a role may read only some settings', () => {
  expect(loadSettings(['LOG_LEVEL', 'PORT'], {})).toEqual({ LOG_LEVEL: 'info', PORT: 8787 })
  expect(() => loadSettings(['DATABASE_URL'], {})).toThrow(/DATABASE_URL is required/)
})

describe('PROVIDERS_FILE', () => {
  const textOf = (path: string) => readFileSync(path, 'utf8')

  test('defines providers and models; a key may come from the environment', async () => {
    const load = await withFile(
      [
        'providers:',
        "  cloud: { kind: openai, baseUrl: 'https://api.example/v1/', apiKey: '${env:CLOUD_KEY}' }",
        '  here: { kind: local }',
        'models:',
        '  vidB-2: { provider: cloud, upstreamModel: sora }',
      ].join('\n'),
      { CLOUD_KEY: 'sk-cloud', LOCAL_URL: 'http://127.0.0.1:7000' },
    )
    const { providers, models } = load().readRoutingConfig(textOf)
    expect(providers).toEqual([
      expect.objectContaining({ name: 'cloud', baseUrl: 'https://api.example/v1' }),
      expect.objectContaining({ name: 'here', kind: 'local', baseUrl: 'http://127.0.0.1:7000' }),
    ])
    expect(providers[0]?.apiKey?.reveal()).toBe('sk-cloud')
    expect(models['vidB-2']?.routes).toEqual([
      expect.objectContaining({ provider: 'cloud', upstreamModel: 'sora' }),
    ])
    expect(inspect(load(), { depth: 9 })).not.toContain('sk-cloud')
  })

  test('is refused with all its problems and their lines, together with those of the environment', async () => {
    const load = await withFile(
      'providers:\n  a: { kind: telepathy }\nmodels:\n  vidB-2: { state: gone }\n',
      {
        PORT: 'http',
      },
    )
    expect(load).toThrow(ConfigError)
    for (const problem of [
      /^ {2}- PORT must be/m,
      /^ {2}- .*providers\.yaml:2: providers\.a\.kind must be one of .*, not "telepathy"$/m,
      /^ {2}- .*providers\.yaml:4: models\.vidB-2\.state must be one of active, deprecated, retired, not "gone"$/m,
    ]) {
      expect(load).toThrow(problem)
    }
  })

  test('accepts the examples of the manual', async () => {
    const manual = await readFile(new URL('../../docs/operating.md', import.meta.url), 'utf8')
    const examples = [...manual.matchAll(/^```yaml\n(providers:[^]*?)^```/gm)].map(
      ([, example = '']) => example,
    )
    expect(examples).toHaveLength(2)
    const keyFile = join(directory, 'key')
    await writeFile(keyFile, 'sk-of-a-file\n')
    for (const example of examples) {
      const load = await withFile(example.replace('/run/secrets/acme', keyFile), {
        ACME_API_KEY: 'sk-one',
        ACME_EU_API_KEY: 'sk-two',
      })
      expect(load().readRoutingConfig(textOf).providers.at(0)?.name).toBe('acme')
    }
  })

  test('is read even if LOCAL_URL is invalid', async () => {
    const load = await withFile('models: [', { LOCAL_URL: 'nowhere' })
    expect(load).toThrow(/- LOCAL_URL must be/)
    expect(load).toThrow(/providers\.yaml:1: /)
  })
})

describe('the password of the database', () => {
  const url = { DATABASE_URL: 'postgres://kinora@db:5432/kinora?sslmode=require' }
  const password = `p@ss/w%rd:#?& "'é$`
  const merged = `postgres://kinora:${encodeURIComponent(password)}@db:5432/kinora?sslmode=require`

  test('may contain any characters, in its own setting or in a file', async () => {
    const file = join(directory, 'password')
    await writeFile(file, `${password}\n`)
    for (const given of [{ DATABASE_PASSWORD: password }, { DATABASE_PASSWORD_FILE: file }]) {
      expect(loadSettings(['DATABASE_URL'], { ...url, ...given }).DATABASE_URL).toBe(merged)
      expect(loadConfig({ ...least, ...url, ...given }).DATABASE_URL).toBe(merged)
    }
    expect(decodeURIComponent(new URL(merged).password)).toBe(password)
  })

  test('is that of every host, and of the direct connection', () => {
    const urls = {
      DATABASE_URL: 'postgres://kinora@pooler:6432/kinora',
      DATABASE_DIRECT_URL: 'postgres://kinora@db-1:5432,db-2:5432/kinora',
    }
    expect(loadConfig({ ...least, ...urls, DATABASE_PASSWORD: 'p' })).toMatchObject({
      DATABASE_URL: 'postgres://kinora:p@pooler:6432/kinora',
      DATABASE_DIRECT_URL: 'postgres://kinora:p@db-1:5432,db-2:5432/kinora',
    })
  })

  test('needs a URL with a host, a readable file, and is given once', () => {
    const problem = (given: Environment) => () => loadSettings(['DATABASE_URL'], { ...url, ...given })
    expect(problem({ DATABASE_URL: 'postgres:///kinora', DATABASE_PASSWORD: 'p' })).toThrow(
      /a user and a host/,
    )
    expect(problem({ DATABASE_PASSWORD_FILE: '/nowhere' })).toThrow(/DATABASE_PASSWORD_FILE cannot be read/)
    expect(problem({ DATABASE_PASSWORD: 'p', DATABASE_PASSWORD_FILE: '/nowhere' })).toThrow(/remove one/)
  })

  test('is not printed', () => {
    expect(inspect(loadConfig({ ...least, ...url, DATABASE_PASSWORD: password }).DATABASE_PASSWORD)).toBe(
      '[secret]',
    )
  })
})

test('the engine may have several nodes', () => {
  expect(
    loadConfig({ ...least, RESTATE_INGRESS_URL: 'http://node-1:8080, http://node-2:8080/' }),
  ).toMatchObject({
    RESTATE_INGRESS_URL: ['http://node-1:8080', 'http://node-2:8080'],
    RESTATE_ADMIN_URL: ['http://127.0.0.1:9070'],
  })
})

test('the logo of statements is a small image', async () => {
  const load = async (name: string, content: string | Buffer) => {
    const file = join(directory, name)
    await writeFile(file, content)
    return loadConfig({ ...least, STATEMENT_LOGO: file }).STATEMENT_LOGO
  }
  const svg = '<?xml version="1.0"?>\n<!-- a fish -->\n<svg xmlns="http://www.w3.org/2000/svg"/>'
  expect(await load('logo.svg', svg)).toBe(`data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`)
  const png = Buffer.from('89504e470d0a1a0a00', 'hex')
  expect(await load('logo.png', png)).toBe('data:image/png;base64,iVBORw0KGgoA')
  expect(await load('logo.jpg', Buffer.from('ffd8ffe0', 'hex'))).toBe('data:image/jpeg;base64,/9j/4A==')
  await expect(load('page.svg', '<html><svg></svg></html>')).rejects.toThrow(
    'must be the path of a PNG, JPEG or SVG',
  )
  await expect(load('large.png', Buffer.concat([png, Buffer.alloc(200_000)]))).rejects.toThrow(
    'must be a file of at most 200 kB',
  )
  expect(() => loadConfig({ ...least, STATEMENT_LOGO: join(directory, 'missing.png') })).toThrow(
    /STATEMENT_LOGO .*ENOENT/,
  )
})

test('the address on statements has lines', () => {
  const linesOf = (text: string) => loadConfig({ ...least, STATEMENT_ADDRESS: text }).STATEMENT_ADDRESS
  expect(linesOf('')).toEqual([])
  expect(linesOf('1 Harbour Road\\nAtlantis')).toEqual(['1 Harbour Road', 'Atlantis'])
  expect(linesOf('1 Harbour Road\nAtlantis\n')).toEqual(['1 Harbour Road', 'Atlantis'])
})
