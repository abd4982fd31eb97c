import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtempDisposable, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv, promisify } from 'node:util'

import { expect, inject, test } from 'vitest'

import { loadConfig } from '../../gateway/src/config.ts'
import { vendors } from '../src/init/vendors.ts'

const init = (parameters: string[], environment: Record<string, string> = {}) =>
  promisify(execFile)(process.execPath, [inject('command'), 'init', ...parameters], {
    env: { PATH: process.env['PATH'], ...environment },
  })

const newDirectory = () => mkdtempDisposable(join(tmpdir(), 'kinora-init-'))

test('writes every setting that the compose file requires, with secrets that only the owner can read', async () => {
  await using directory = await newDirectory()
  const { stdout } = await init([directory.path, '--url', 'https://media.example.com/'])
  const compose = await readFile(join(directory.path, 'compose.yaml'), 'utf8')
  const settings = parseEnv(await readFile(join(directory.path, '.env'), 'utf8'))
  const required = new Set([...compose.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name ?? ''))
  expect(required).toContain('LINK_SECRETS')
  for (const name of required) expect(settings[name]).toBeTruthy()
  expect(settings['PUBLIC_URL']).toBe('https://media.example.com')
  const secrets = [...required].filter((name) => name !== 'PUBLIC_URL').map((name) => settings[name])
  for (const secret of secrets) expect(secret).toMatch(/^[0-9a-f]{64}$/)
  expect(new Set(secrets).size).toBe(secrets.length)
  expect((await stat(join(directory.path, '.env'))).mode & 0o777).toBe(0o600)
  for (const secret of secrets) expect(stdout).not.toContain(secret)
  // Everything that the compose file mounts from this folder is there.
  for (const [, path = ''] of compose.matchAll(/(?<=['"\s=])(?:\.\/)?(deploy\/[\w.-]+\.\w+)/g))
    await stat(join(directory.path, path))
  expect(compose).not.toMatch(/^ +build:/m)
})

const settingsOf = async (directory: string, url: string) => {
  await init([directory, '--url', url])
  return parseEnv(await readFile(join(directory, '.env'), 'utf8'))
}

test.for([
  ['https://media.example.com', { COMPOSE_PROFILES: 'proxy' }],
  ['https://media.example.com:8443', { COMPOSE_PROFILES: 'proxy', PUBLIC_PORT: '8443' }],
  ['http://127.0.0.1:8787', {}],
] as const)(
  '%s is served by the proxy if it needs TLS, and the API trusts the proxy',
  async ([url, expected]) => {
    await using directory = await newDirectory()
    const given = await settingsOf(directory.path, url)
    const { COMPOSE_PROFILES, PUBLIC_PORT } = given
    expect({ ...(COMPOSE_PROFILES && { COMPOSE_PROFILES }), ...(PUBLIC_PORT && { PUBLIC_PORT }) }).toEqual(
      expected,
    )
    const compose = await readFile(join(directory.path, 'compose.yaml'), 'utf8')
    expect(given['TRUSTED_PROXIES']).toMatch(/^[\d.]+\/24$/)
    expect(compose).toContain(`subnet: '\${FRONT_SUBNET:-${given['TRUSTED_PROXIES']}}'`)
    await stat(join(directory.path, 'deploy/Caddyfile'))
  },
)

test.for([[], vendors])(
  'the providers of all keys in the environment are in a valid file (%#)',
  async (found) => {
    await using directory = await newDirectory()
    const keys = Object.fromEntries(found.map(({ variable }) => [variable, `the key of ${variable}`]))
    await init([directory.path], keys)
    const { PROVIDERS_DIRECTORY: folder = '', ...settings } = parseEnv(
      await readFile(join(directory.path, '.env'), 'utf8'),
    )
    for (const [name, key] of Object.entries(keys)) expect(settings[name]).toBe(key)
    const file = join(directory.path, folder, 'kinora.yaml')
    expect(await readFile(file, 'utf8')).not.toContain('the key of')
    const config = loadConfig({
      ...(settings as Record<string, string>),
      ...{ DATABASE_URL: 'postgres://127.0.0.1/kinora', PROVIDERS_FILE: file },
    })
    const { providers, models } = config.readRoutingConfig((path) => readFileSync(path, 'utf8'))
    expect(providers.map(({ name }) => name)).toEqual(['here', ...found.map(({ name }) => name)])
    expect(models).toBeDefined()
  },
)

test.for(["it's", 'two\nlines'])('a key that the file cannot hold is refused (%#)', async (key) => {
  await using directory = await newDirectory()
  await expect(init([directory.path], { FAL_KEY: key })).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/FAL_KEY contains a quotation mark or a line break.*unset FAL_KEY/),
  })
  expect(await readdir(directory.path)).toEqual([])
})

test('overwrites nothing', async () => {
  await using directory = await newDirectory()
  await writeFile(join(directory.path, '.env'), 'MINE=1')
  await expect(init([directory.path])).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/Nothing was written, because .*\.env would be overwritten/),
  })
  expect(await readdir(directory.path)).toEqual(['.env'])
})
