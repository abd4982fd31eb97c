import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type Server } from 'node:tls'
import { promisify } from 'node:util'

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'

import { createLog } from '../platform/log.ts'
import { readGauge, recordWith } from '../platform/metrics/metrics.ts'
import { observeCertificate } from './observe-certificate.ts'

const run = promisify(execFile)
const daySeconds = 86_400
const log = createLog({ level: 'silent' }, 'test')

let directory: string
let server: Server | undefined

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-certificate-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))
beforeEach(() => recordWith({ add: () => undefined, record: () => undefined }))
afterEach(() => {
  recordWith(undefined)
  server?.close()
})

/** A server whose certificate, signed by itself, is valid for so many days. */
const serve = async (days: number): Promise<string> => {
  const file = (ending: string) => join(directory, `${days}.${ending}`)
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc', '-keyout', file('key')]
  await run('openssl', ['req', ...key, '-subj', '/CN=test', '-out', file('csr')])
  const signed = ['x509', '-req', '-in', file('csr'), '-signkey', file('key'), '-days', String(days)]
  await run('openssl', [...signed, '-out', file('pem')])
  const started = createServer({ key: await readFile(file('key')), cert: await readFile(file('pem')) })
  server = started
  await new Promise<void>((resolve) => {
    started.listen({ host: '127.0.0.1', port: 0 }, resolve)
  })
  return `https://127.0.0.1:${(started.address() as AddressInfo).port}`
}

const read = () => readGauge('kinora.certificate.expires_in').map(({ value }) => value)

test.each([
  ['about to expire', 5],
  ['that has expired', -1],
])('a certificate %s is reported, although nothing trusts it', async (_, days) => {
  const stop = observeCertificate(await serve(days), log)
  await expect.poll(read).toHaveLength(1)
  const [seconds = 0] = read()
  stop()
  // A slow machine may take a minute.
  expect(Math.abs(seconds - days * daySeconds)).toBeLessThan(600)
  expect(read()).toEqual([])
})

test('a URL without TLS has no certificate', () => {
  const stop = observeCertificate('http://127.0.0.1:1', log)
  expect(read()).toEqual([])
  stop()
})

test('a server that is not reached is logged once', async () => {
  const url = await serve(5)
  await new Promise((resolve) => server?.close(resolve))
  const lines: string[] = []
  const stop = observeCertificate(url, {
    ...log,
    warn: (...line: unknown[]) => lines.push(String(line[1])),
  } as never)
  await expect.poll(() => lines).toEqual(['certificate.not-read'])
  expect(read()).toEqual([])
  stop()
})
