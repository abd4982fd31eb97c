/** The logs of the service: one format, one line per request, and none for health probes. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { ask } from '../kit/answers.ts'
import { startStack, type Stack } from '../kit/stack.ts'

let stack: Stack
let taskId: string

beforeAll(async () => {
  stack = await startStack({ provider: 'local' })
  taskId = await stack.create('A whale sim:fail=upstream_error')
  await stack.until('it has ended', async () => (await stack.states())['failed'] === 1)
})
afterAll(() => stack[Symbol.asyncDispose]())

const linesOf = async (role: string) => {
  const text = await readFile(join(stack.directory, 'logs', `${role}-0.log`), 'utf8')
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

test.for(['api', 'worker', 'local'])('every line of %s has the common fields', async (role) => {
  const lines = await linesOf(role)
  expect(lines.length).toBeGreaterThan(0)
  for (const line of lines) {
    expect(line).toMatchObject({ level: expect.any(Number), time: expect.any(Number), role })
    expect(line['version']).toMatch(/^\d+\.\d+\.\d+/)
    expect(line['msg']).toEqual(expect.any(String))
  }
})

test('the built-in provider logs failures with a higher level', async () => {
  const lines = await linesOf('local')
  const levelOf = (event: string) => lines.find(({ msg }) => msg === event)?.['level']
  expect([levelOf('local.accepted'), levelOf('local.render_failed')]).toEqual([30, 40])
})

test('a request is logged with its route, model and task, and a probe is not logged', async () => {
  for (const probe of ['livez', 'readyz', 'healthz']) await fetch(`${stack.url}/${probe}?note=probe`)
  await ask(`${stack.url}/v1/videos/${taskId}?wait=0&note=query-of-a-client`, stack.key)
  const requests = async () => (await linesOf('api')).filter(({ msg }) => msg === 'request.completed')
  await expect
    .poll(requests)
    .toContainEqual(
      expect.objectContaining({ operation: 'getVideo', method: 'GET', path: '/v1/videos/:id', taskId }),
    )
  const lines = await requests()
  expect(lines).toContainEqual(
    expect.objectContaining({ operation: 'createVideo', path: '/v1/videos', model: 'vidB-2', taskId }),
  )
  expect(lines.map(({ path }) => path)).not.toContainEqual(expect.stringMatching(/z$/))
  expect(JSON.stringify(lines)).not.toContain('note=')
})

test('warnings and crashes of Node are logged in the same format', async () => {
  const role = fileURLToPath(new URL('../../../cli/src/role.ts', import.meta.url))
  const script = `
    import { runRole } from ${JSON.stringify(role)}
    await runRole('api', { LOG_LEVEL: 'info', DRAIN_SECONDS: 1 }, async () => {
      process.emitWarning('Take care.')
      setImmediate(() => Promise.reject(new Error('It fell over.')))
      return { close: async () => {} }
    })`
  const crashed = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    env: { PATH: process.env['PATH'] },
  }).catch((error: { code: number; stdout: string; stderr: string }) => error)
  expect(crashed).toMatchObject({ code: 1, stderr: '' })
  // The last line of a crash is written synchronously and may overtake an earlier one.
  const lines = crashed.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { level: number })
  expect(lines.toSorted((one, other) => one.level - other.level)).toEqual([
    expect.objectContaining({ level: 40, role: 'api', msg: 'process.warning' }),
    expect.objectContaining({
      ...{ level: 60, role: 'api', msg: 'process.crashed' },
      err: { type: 'Error', stack: expect.stringMatching(/^ {4}at /) },
    }),
  ])
})
