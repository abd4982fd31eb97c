/** The operator's commands against a real gateway. They run in this process, because starting one takes a second. */
import { mkdtempDisposable, type DisposableTempDir } from 'node:fs/promises'
import { tmpdir } from 'node:os'

import { keyScopes } from '@kinora/contract/key-scope'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { createKey } from '../../gateway/test/kit/factories.ts'
import { startGateway, type TestGateway } from '../../gateway/test/kit/start-gateway.ts'
import { commands, nouns } from '../src/commands/all-commands.ts'
import { describeError, runWords } from '../src/frame/run-command.ts'

let gateway: TestGateway
let place: DisposableTempDir
let operatorKey: string

beforeAll(async () => {
  gateway = await startGateway()
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
