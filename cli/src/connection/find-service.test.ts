import { mkdir, mkdtempDisposable, readFile, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, expect, test, vi } from 'vitest'

import { announceService, findDevService, withdrawService } from './dev-service.ts'
import { findAnyKey, findOperator } from './find-operator.ts'
import { findService, normalizeUrl, profilesFile } from './find-service.ts'
import { writeProfiles } from './profiles.ts'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

const variables = [
  'KINORA_URL',
  'KINORA_API_KEY',
  'KINORA_PROFILE',
  'OPENAI_BASE_URL',
  'OPENAI_API_KEY',
  'OPERATOR_KEY',
]

/** An empty home and an empty working directory. */
const emptyPlace = async () => {
  const directory = await mkdtempDisposable(join(tmpdir(), 'kinora-service-'))
  for (const name of variables) vi.stubEnv(name, '')
  vi.stubEnv('XDG_CONFIG_HOME', join(directory.path, 'config'))
  vi.spyOn(process, 'cwd').mockReturnValue(directory.path)
  return directory
}

const profiles = {
  current: 'main',
  profiles: {
    main: { url: 'https://main.example', key: 'sk-main' },
    other: { url: 'https://other.example', key: 'sk-other' },
  },
}

test('the environment is first, then a profile, then the service of kinora dev', async () => {
  await using directory = await emptyPlace()
  await expect(findService(undefined)).rejects.toMatchObject({
    exitCode: 3,
    message: expect.stringContaining('kinora login'),
  })

  const data = join(directory.path, '.kinora')
  await mkdir(data)
  await announceService(data, { url: 'http://127.0.0.1:8787', key: 'sk-dev' })
  expect(await findService(undefined)).toMatchObject({ url: 'http://127.0.0.1:8787', key: 'sk-dev' })

  await writeProfiles(profilesFile(), profiles)
  expect(await findService(undefined)).toMatchObject({ key: 'sk-main', source: 'profile main' })
  expect(await findService('other')).toMatchObject({ url: 'https://other.example', key: 'sk-other' })
  vi.stubEnv('KINORA_PROFILE', 'other')
  expect(await findService(undefined)).toMatchObject({ key: 'sk-other' })
  await expect(findService('third')).rejects.toThrow('There are: main, other.')

  vi.stubEnv('OPENAI_API_KEY', 'sk-of-openai')
  expect(await findService(undefined)).toMatchObject({ key: 'sk-other' })
  vi.stubEnv('OPENAI_BASE_URL', 'https://api.openai.com/v1')
  expect(await findService(undefined)).toMatchObject({ key: 'sk-other' })
  vi.stubEnv('OPENAI_BASE_URL', 'https://media.example/openai/v1')
  expect(await findService(undefined)).toMatchObject({ url: 'https://media.example', key: 'sk-of-openai' })
  vi.stubEnv('KINORA_API_KEY', 'sk-env')
  expect(await findService(undefined)).toMatchObject({ url: 'http://127.0.0.1:8787', key: 'sk-env' })
  vi.stubEnv('KINORA_URL', 'https://env.example/')
  expect(await findService(undefined)).toMatchObject({ url: 'https://env.example', key: 'sk-env' })
  expect(await findService('main')).toMatchObject({ key: 'sk-main' })
})

test('an operator is found in the same places, and a key of a customer is not taken for one', async () => {
  await using directory = await emptyPlace()
  await expect(findOperator({ profile: undefined, url: undefined })).rejects.toMatchObject({
    exitCode: 3,
    message: expect.stringContaining('kinora admin create'),
  })
  const find = async (profile?: string, url?: string) => findOperator({ profile, url })

  const data = join(directory.path, '.kinora')
  await mkdir(data)
  const dev = { url: 'http://127.0.0.1:8787', key: 'sk-dev', operatorKey: 'sk-admin-dev' }
  await announceService(data, dev)
  expect(await find()).toMatchObject({ url: dev.url, key: 'sk-admin-dev' })
  expect(await findService(undefined)).not.toHaveProperty('operatorKey')
  expect(await find(undefined, 'http://127.0.0.1:9000/')).toMatchObject({ url: 'http://127.0.0.1:9000' })

  const desk = { url: 'https://main.example', key: 'sk-admin-desk' }
  await writeProfiles(profilesFile(), { ...profiles, profiles: { ...profiles.profiles, desk } })
  await expect(find()).rejects.toThrow('profile main')
  expect(await findAnyKey({ profile: undefined, url: undefined })).toMatchObject({
    key: 'sk-main',
    isOperator: false,
  })
  expect(await find('desk')).toMatchObject(desk)
  await expect(find('other')).rejects.toThrow('the key of a customer')

  vi.stubEnv('KINORA_API_KEY', 'sk-env')
  await expect(find()).rejects.toThrow('KINORA_API_KEY')
  vi.stubEnv('OPERATOR_KEY', 'sk-admin-env')
  vi.stubEnv('ADMIN_PORT', '9443')
  expect(await find()).toMatchObject({ url: 'http://127.0.0.1:9443', key: 'sk-admin-env' })
  vi.stubEnv('KINORA_URL', 'https://env.example/')
  expect(await find()).toMatchObject({ url: 'https://env.example', key: 'sk-admin-env' })
})

test('only the owner can read the profiles, and a broken file is explained', async () => {
  await using directory = await emptyPlace()
  const file = profilesFile()
  expect(file.startsWith(directory.path)).toBe(true)
  await writeProfiles(file, profiles)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(profiles)
  await writeFile(file, '{')
  await expect(findService(undefined)).rejects.toThrow('is not valid JSON')
})

test('the file of kinora dev is private, ends with it, and cannot name another machine', async () => {
  await using directory = await emptyPlace()
  await announceService(directory.path, { url: 'http://127.0.0.1:9000', key: 'sk-dev' })
  expect((await stat(join(directory.path, 'service.json'))).mode & 0o777).toBe(0o600)
  await withdrawService(directory.path)
  expect(await findDevService(directory.path)).toBeUndefined()
  await announceService(directory.path, { url: 'https://elsewhere.example', key: 'sk-dev' })
  expect(await findDevService(directory.path)).toBeUndefined()
})

test.for([
  ['media.example.com', 'https://media.example.com'],
  ['http://127.0.0.1:8787/', 'http://127.0.0.1:8787'],
  ['https://media.example.com/v1', 'https://media.example.com'],
  ['https://media.example.com/kinora/openai/v1/', 'https://media.example.com/kinora'],
])('the address %s is %s', ([given = '', url]) => {
  expect(normalizeUrl(given)).toBe(url)
})
