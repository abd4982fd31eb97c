/** The operator's commands against a real gateway. They run in this process, because starting one takes a second. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempDisposable, writeFile, type DisposableTempDir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { keyScopes } from '@kinora/contract/key-scope'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest'

import { ask, askJson } from '../../gateway/test/kit/answers.ts'
import { completeTask, createKey, endTask } from '../../gateway/test/kit/factories.ts'
import { listenForTest } from '../../gateway/test/kit/listen-for-test.ts'
import { startGateway, type TestGateway } from '../../gateway/test/kit/start-gateway.ts'
import { commands, nouns } from '../src/commands/all-commands.ts'
import { describeError, runWords } from '../src/frame/run-command.ts'

let gateway: TestGateway
let place: DisposableTempDir
let operatorKey: string

beforeAll(async () => {
  gateway = await startGateway({ CREDENTIAL_SECRETS: 'a secret for sealing credentials in tests' })
  place = await mkdtempDisposable(`${tmpdir()}/kinora-operator-`)
  operatorKey = (await createKey(gateway.database.postgres, '', { kind: 'admin', role: 'admin' })).text
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await place.remove()
})
beforeEach(() => {
  vi.stubEnv('XDG_CONFIG_HOME', place.path)
  vi.stubEnv('KINORA_URL', gateway.url)
  vi.stubEnv('KINORA_API_KEY', '')
  vi.stubEnv('OPERATOR_KEY', operatorKey)
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const kinora = async (...words: string[]) => {
  let stdout = ''
  const writing = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    stdout += String(chunk)
    return true
  })
  const telling = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  try {
    const code = await runWords({ version: '0', commands, nouns }, words)
    return { code, stdout, stderr: '' }
  } catch (error) {
    const { text, exitCode } = describeError(error)
    return { code: exitCode, stdout, stderr: text }
  } finally {
    writing.mockRestore()
    telling.mockRestore()
  }
}

/** One after another, because they share stdout. */
const codesOf = async (commandLines: string[][]) => {
  const codes: number[] = []
  for (const words of commandLines) codes.push((await kinora(...words)).code)
  return codes
}

const kinoraJson = async (...words: string[]) => {
  const { code, stdout, stderr } = await kinora(...words, '--json')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout) as Record<string, unknown>
}

/** As a customer, whose key may manage the account. */
const asCustomer = async (accountId: string) => {
  const key = await createKey(gateway.database.postgres, accountId, { scopes: [...keyScopes] })
  vi.stubEnv('OPERATOR_KEY', '')
  vi.stubEnv('KINORA_API_KEY', key.text)
  return key
}

describe('accounts and keys', () => {
  test('an account is created, limited, suspended and found by its name', async () => {
    const { id } = await kinoraJson('accounts', 'create', 'Aquarium', '--spend-cap', '12.50')
    expect(await kinoraJson('accounts', 'get', 'aquar')).toMatchObject({ id, spend_cap_micros: 12_500_000 })
    expect((await kinora('accounts', 'get', String(id))).stdout).toContain('12.50 USD per month')
    expect(
      await kinoraJson('accounts', 'update', 'Aquarium', '--spend-cap', 'none', '--concurrency', '3'),
    ).toMatchObject({ spend_cap_micros: null, concurrency: 3 })

    const unconfirmed = await kinora('accounts', 'suspend', 'Aquarium')
    expect(unconfirmed).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
    expect(await kinoraJson('accounts', 'get', 'Aquarium')).toMatchObject({ status: 'active' })
    await kinoraJson('accounts', 'suspend', 'Aquarium', '--yes')
    const { stdout } = await kinora('accounts', 'list', '--status', 'suspended')
    expect(stdout).toBe(`${String(id)}\tAquarium\tsuspended\t0.00 USD\n`)
    expect(await kinoraJson('accounts', 'resume', 'Aquarium')).toMatchObject({ status: 'active' })
    expect(await kinora('accounts', 'get', 'Aquarum')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Did you mean Aquarium?'),
    })
  })

  test('the secret of a key is printed once and alone, and rotating and revoking need a yes', async () => {
    await kinoraJson('accounts', 'create', 'Bakery')
    const created = await kinora('keys', 'create', 'website', '--account', 'Bakery', '--budget', 'day=5.00')
    expect(created.stdout).toMatch(/^sk-\w{36}\n$/)
    const shown = await kinora('keys', 'get', 'website', '--account', 'Bakery')
    expect(shown.stdout).toContain('5.00 USD per day')
    expect(shown.stdout).not.toContain(created.stdout.trim())

    for (const words of [
      ['rotate', 'website'],
      ['revoke', 'website'],
    ]) {
      expect(await kinora('keys', ...words)).toMatchObject({ code: 2, stdout: '' })
    }
    const rotated = await kinoraJson('keys', 'rotate', 'website', '--overlap', '60')
    expect(rotated).toMatchObject({ secret: expect.not.stringMatching(created.stdout.trim()) })
    await kinoraJson('keys', 'revoke', 'website', '--yes')
    expect((await kinora('keys', 'list', '--account', 'Bakery')).stdout).toBe('')
    const pasted = await kinora('keys', 'revoke', created.stdout.trim(), '--yes')
    expect(pasted.code).toBe(2)
    expect(pasted.stderr).not.toContain(created.stdout.trim())
  })

  test('a customer manages their own account and nothing else', async () => {
    const { id } = await kinoraJson('accounts', 'create', 'Cinema')
    const other = await kinoraJson('accounts', 'create', 'Dairy')
    const otherKey = await createKey(gateway.database.postgres, String(other['id']))
    await asCustomer(String(id))
    expect(await kinoraJson('accounts', 'get')).toMatchObject({ id, name: 'Cinema' })
    expect(await kinoraJson('accounts', 'update', '--spend-cap', '3.00')).toMatchObject({
      spend_cap_micros: 3_000_000,
    })
    await kinoraJson('keys', 'create', 'mobile', '--scopes', 'read')
    expect(await kinoraJson('keys', 'get', 'mobile')).toMatchObject({ scopes: ['read'] })
    const codes = await codesOf([
      ['keys', 'revoke', otherKey.id, '--yes'],
      ['accounts', 'get', 'Dairy'],
      ['accounts', 'update', '--concurrency', '9'],
      ['keys', 'create', 'mobile', '--account', 'Dairy'],
      ['accounts', 'list'],
    ])
    expect(codes).toEqual([1, 2, 2, 2, 3])
  })

  test('names of others cannot drive the terminal', async () => {
    const name = 'Evil\u001B]0;owned\u0007\u009B2J\u202E'
    const { id } = await kinoraJson('accounts', 'create', name)
    await kinoraJson('keys', 'create', name, '--account', String(id))
    for (const words of [
      ['accounts', 'list'],
      ['accounts', 'list', '--json'],
      ['accounts', 'get', String(id)],
      ['keys', 'list', '--account', String(id)],
      ['keys', 'revoke', name],
    ]) {
      const { stdout, stderr } = await kinora(...words)
      expect(stdout + stderr).toContain('Evil\\u001b]0;owned\\u0007\\u009b2J\\u202e')
    }
  })
})

test('tasks why explains a task, and refuses ids and keys that do not exist', async () => {
  const { secret } = await createCustomer('Ivory')
  const id = await createVideo(secret)
  const { sentences, cause } = await kinoraJson('tasks', 'why', id, '--url', `${gateway.url}/`)
  expect(cause).toMatchObject({ code: 'engine_lost' })
  const withoutTimes = (text: string) => text.replace(/\d+(\.\d+)? (s|min)/g, '–')
  const { stdout } = await kinora('tasks', 'why', id)
  expect(withoutTimes(stdout)).toBe(withoutTimes(`${(sentences as string[]).join('\n')}\n`))
  expect(stdout).toContain(`Task ${id} of Ivory`)
  expect(await kinora('tasks', 'why', 'nonsense')).toMatchObject({ code: 1, stdout: '' })
  vi.stubEnv('OPERATOR_KEY', 'sk-admin-wrong')
  expect(await kinora('tasks', 'why', id)).toMatchObject({ code: 3, stdout: '' })
})

/** An account with money and a key, made with the commands. */
const createCustomer = async (name: string) => {
  const { id } = await kinoraJson('accounts', 'create', name)
  await kinoraJson('top-up', name, '20.00', '--currency', 'USD', '--reference', `INV-${name}`)
  const { secret } = await kinoraJson('keys', 'create', 'website', '--account', name)
  return { accountId: String(id), secret: String(secret) }
}

const createVideo = async (secret: string) => {
  const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
  const { body } = await askJson(`${gateway.url}/v1/videos`, secret, order)
  return String(body['id'])
}

describe('money', () => {
  test('a top-up with the same reference is made once, and another currency is refused', async () => {
    const { accountId } = await createCustomer('Embassy')
    const again = await kinora('top-up', 'Embassy', '20.00', '--reference', 'INV-Embassy')
    expect(again.stdout).toBe('Added 20.00 USD to Embassy; the balance is 20.00 USD.\n')
    const codes = await codesOf([
      ['top-up', 'Embassy', '20.00', '--currency', 'EUR'],
      ['top-up', 'Embassy', '20,00'],
      ['top-up', 'Embassy', '-20.00'],
    ])
    expect(codes).toEqual([2, 2, 2])
    expect(await kinoraJson('accounts', 'get', accountId)).toMatchObject({
      balances: [{ available_micros: 20_000_000 }],
    })
  })

  test('a task is found, refunded in parts, and counted in the usage of all accounts', async () => {
    const { accountId, secret } = await createCustomer('Fishery')
    const id = await createVideo(secret)
    await completeTask(gateway, accountId, id)
    expect((await kinora('tasks', 'list', '--account', 'Fishery')).stdout).toContain(
      `${id}\tcompleted\tFishery`,
    )
    const reason = ['--reason', 'blurred']
    expect(await kinora('tasks', 'refund', id, ...reason)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Refund 0.40 USD to Fishery'),
    })
    expect(await kinoraJson('tasks', 'refund', id, '0.10', ...reason, '--yes')).toMatchObject({
      amount_micros: 100_000,
    })
    const { stdout } = await kinora('tasks', 'refund', id, ...reason, '--yes')
    expect(stdout).toBe('Refunded 0.30 USD to Fishery; 0.40 USD of 0.40 USD in total.\n')
    expect(await kinoraJson('usage', '--account', 'Fishery', '--by', 'account,model')).toMatchObject({
      data: [
        { account_name: 'Fishery', model: 'vidB-2', captured_micros: 400_000, refunded_micros: 400_000 },
      ],
    })
  })

  test('a failed task is retried, and a plan is changed by its name', async () => {
    const { secret } = await createCustomer('Garage')
    const id = await createVideo(secret)
    await endTask(gateway.database.postgres, id, {
      kind: 'failed',
      code: 'upstream_error',
      message: '',
    })
    expect(await kinoraJson('tasks', 'list', '--error', 'upstream_error')).toMatchObject({ data: [{ id }] })
    const { stdout } = await kinora('tasks', 'retry', id)
    expect(stdout).toMatch(/^vidB-2:\S+\n$/)
    expect(stdout).not.toContain(id)
    await kinoraJson('plans', 'create', 'Studio', '--quota', '100.00')
    expect((await kinora('plans', 'update', 'studio', '--quota', '120.5')).stdout).toContain(
      '120.50 USD per 30 days',
    )
    expect((await kinora('plans', 'list')).stdout).toContain('\tStudio\t120.50 USD\t30\t0\n')
  })
})

describe('providers and models', () => {
  test('a provider is added with a key from a file, tested, and serves a new model', async () => {
    const authorizations: (string | undefined)[] = []
    await using vendor = await listenForTest(({ headers }, response) => {
      authorizations.push(headers.authorization)
      response.setHeader('content-type', 'application/json')
      response.end('{"object":"list","data":[]}')
    })
    const keyFile = join(place.path, 'acme.key')
    await writeFile(keyFile, 'acme-secret-key\n')
    const add = ['providers', 'add', 'acme', '--kind', 'openai', '--base-url', vendor.url]
    const added = await kinora(...add, '--key-file', keyFile, '--budget', '50.00')
    expect(added).toMatchObject({ code: 0, stderr: '' })
    expect(authorizations).toContain('Bearer acme-secret-key')
    expect(await kinora(...add)).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
    expect((await kinora('providers', 'list')).stdout).toMatch(/^acme\topenai\thealthy\t/m)

    const model = [
      'models',
      'add',
      'clip-1',
      '--kind',
      'video',
      '--set',
      'family=B',
      '--set',
      'seconds=[4,8]',
    ]
    const route = ['--provider', 'acme', '--upstream', 'turbo', '--cost', 'second=0.05']
    model.push('--set', 'sizes=["1280x720"]', '--price', 'second=0.25')
    const misspelled = await kinora(...model, '--provider', 'acne')
    expect(misspelled).toMatchObject({ code: 2, stderr: expect.stringContaining('Did you mean acme?') })
    // The model is new, so nothing was kept of the command before.
    const result = await kinora(...model, ...route)
    expect(result).toEqual({ code: 0, stdout: 'Added the model clip-1.\n', stderr: '' })
    const explained = await kinora('models', 'explain', 'clip-1', '--seconds', '8')
    expect(explained.stdout).toMatch(/^acme\tturbo\t100 %\t0\.40 USD\t1\.60 USD\t/)
  })
})

test('the request log is searched and followed', async () => {
  const { secret } = await createCustomer('Harbour')
  const failed = await ask(`${gateway.url}/v1/videos/vidB-2:unknown`, secret)
  const id = failed.headers.get('x-request-id') ?? ''
  await expect.poll(async () => (await kinora('requests', id)).code).toBe(0)
  expect((await kinora('requests', id)).stdout).toMatch(/status +404 task_not_found\n[^]*account +Harbour\n/)

  const { PATH } = process.env
  const child = spawn(
    process.execPath,
    [inject('command'), 'logs', '-f', '--status', '4xx', '--account', 'Harbour'],
    { env: { PATH, HOME: place.path, OPERATOR_KEY: operatorKey, KINORA_URL: gateway.url } },
  )
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await expect.poll(() => text).toContain(id)
  await ask(`${gateway.url}/v1/models`, secret)
  const next = await ask(`${gateway.url}/v1/videos/vidB-2:other`, secret)
  await expect.poll(() => text).toContain(next.headers.get('x-request-id'))
  child.kill('SIGINT')
  expect(await once(child, 'exit')).toEqual([0, null])
  expect(text.match(/\n/g)).toHaveLength(2)
  expect(text).not.toContain('/v1/models')
})

test('a providers file is checked without the settings of the service', async () => {
  const file = join(place.path, 'providers.yaml')
  await writeFile(file, 'providers:\n  acme: { kind: openai, baseUrl: https://acme.example/v1, slotz: 3 }\n')
  const { code, stdout } = await kinora('config', 'check', file)
  expect(code).toBe(78)
  expect(stdout).toContain(`${file}:2: providers.acme.slotz`)
  await writeFile(file, 'providers:\n  acme: { kind: openai, baseUrl: https://acme.example/v1, slots: 3 }\n')
  expect(await kinoraJson('config', 'check', file)).toEqual({ ok: true, problems: [], warnings: [] })
})
