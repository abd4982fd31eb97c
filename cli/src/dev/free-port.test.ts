import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { choosePorts } from './free-port.ts'

let onWait: () => Promise<void> = async () => {}
// Replaces the delay between two attempts, so that a test can act exactly then.
vi.mock('node:timers/promises', () => ({ setTimeout: () => onWait() }))

let directory: string
let file: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-ports-'))
  file = join(directory, 'nested/ports.json')
})
afterEach(async () => {
  await rm(directory, { recursive: true })
})

async function occupy(port: number): Promise<() => Promise<void>> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return () =>
    new Promise((resolve) => {
      server.close(() => {
        resolve()
      })
    })
}

test('chooses distinct ports below the ephemeral range and reuses them at the next start', async () => {
  const first = await choosePorts(file, ['api', 'worker', 'postgres'])
  expect(new Set(Object.values(first)).size).toBe(3)
  for (const port of Object.values(first)) {
    expect(port).toBeGreaterThanOrEqual(20_000)
    expect(port).toBeLessThan(32_000)
  }
  expect(await choosePorts(file, ['api', 'worker', 'postgres'])).toEqual(first)
})

test('replaces only the stored port that is in use', async () => {
  const first = await choosePorts(file, ['api', 'worker'])
  const release = await occupy(first.worker)
  const second = await choosePorts(file, ['api', 'worker'], { patienceMs: 0 })
  await release()
  expect(second.api).toBe(first.api)
  expect(second.worker).not.toBe(first.worker)
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(second)
})

test('waits for a stored port that becomes free', async () => {
  const first = await choosePorts(file, ['worker'])
  onWait = await occupy(first.worker)
  expect(await choosePorts(file, ['worker'], { patienceMs: 120_000 })).toEqual(first)
})

test('retains the stored ports of names that were not requested', async () => {
  const { postgres } = await choosePorts(file, ['postgres'])
  await choosePorts(file, ['api'])
  expect((await choosePorts(file, ['postgres'])).postgres).toBe(postgres)
})

test('a damaged file is replaced', async () => {
  await choosePorts(file, ['api'])
  await writeFile(file, '{"api": 8')
  const { api } = await choosePorts(file, ['api'])
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ api })
})
