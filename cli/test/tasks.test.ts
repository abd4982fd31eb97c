import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { askJson } from '../../gateway/test/kit/answers.ts'
import { createAccount, createKey } from '../../gateway/test/kit/factories.ts'
import { startGateway, type TestGateway } from '../../gateway/test/kit/start-gateway.ts'

const run = promisify(execFile)

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway[Symbol.asyncDispose]())

const why = async (parameters: string[], environment: Record<string, string>) => {
  const { PATH = '' } = process.env
  return run(process.execPath, [inject('command'), 'tasks', 'why', ...parameters], {
    env: { PATH, ...environment },
  }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  )
}

test('tasks why prints the explanation of the admin API, as sentences or as JSON', async () => {
  const { postgres } = gateway.database
  const key = await createKey(postgres, await createAccount(postgres))
  const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
  const { body } = await askJson(`${gateway.url}/v1/videos`, key.text, order)
  const id = String(body['id'])
  const { text: OPERATOR_KEY } = await createKey(postgres, '', { kind: 'admin', role: 'read' })

  const [said, told, unknown, unauthorized, unreachable] = await Promise.all([
    why([id, '--url', `${gateway.adminUrl}/`], { OPERATOR_KEY }),
    why([id, '--json'], { OPERATOR_KEY, PUBLIC_URL: gateway.adminUrl }),
    why(['nonsense', '--url', gateway.adminUrl], { OPERATOR_KEY }),
    why([id, '--url', gateway.adminUrl], { OPERATOR_KEY: 'sk-admin-wrong' }),
    why([id, '--url', 'http://127.0.0.1:9'], { OPERATOR_KEY }),
  ])
  expect(said).toMatchObject({ code: 0, stderr: '' })
  const { sentences, cause } = JSON.parse(told.stdout) as { sentences: string[]; cause: { code: string } }
  expect(cause.code).toBe('engine_lost')
  const withoutTimes = (text: string) => text.replace(/\d+(\.\d+)? (s|min)/g, '–')
  expect(withoutTimes(said.stdout)).toBe(withoutTimes(`${sentences.join('\n')}\n`))
  expect(said.stdout).toContain(`Task ${id} of account`)
  expect(unknown).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/\S+\n$/) })
  expect(unauthorized).toMatchObject({ code: 3, stderr: expect.stringContaining('key') })
  expect(unreachable).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('Check that the service runs'),
  })
  expect((await why([id], {})).stderr).toContain('kinora admin create --role read')
})
