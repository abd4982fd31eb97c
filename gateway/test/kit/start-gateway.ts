/** Starts the API in this process, on its own database and a free port. */
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { inject } from 'vitest'

import { loadConfig, type Environment } from '../../src/config.ts'
import { createLog, type Log } from '../../src/platform/log.ts'
import { openStorage, type Storage } from '../../src/storage/open-storage.ts'
import { wireApi } from '../../src/wiring/api.ts'
import { createDatabase, type TestDatabase } from './database.ts'
import { auditSecret, keySecret, linkSecret } from './factories.ts'
import { listFiles } from './stored-media.ts'

export interface TestGateway extends AsyncDisposable, Storage {
  url: string
  /** The URL of the admin API. It differs from `url` if ADMIN_PORT is set, to any value. */
  adminUrl: string
  database: TestDatabase
  directory: string
  /** The settings of its media store. Empty if that is `media` in the directory. */
  storeSettings: Environment
}

export const testEnvironment = (databaseUrl: string, directory: string): Environment => ({
  DATABASE_URL: databaseUrl,
  KEY_HASH_SECRETS: keySecret,
  LINK_SECRETS: linkSecret,
  AUDIT_SECRETS: auditSecret,
  MEDIA_DIRECTORY: join(directory, 'media'),
  OFFER_MODELS_WITHOUT_ROUTES: 'true',
  // Nothing listens there unless a test starts an engine.
  RESTATE_INGRESS_URL: 'http://127.0.0.1:9',
  RESTATE_ADMIN_URL: 'http://127.0.0.1:9',
  // Nor there, unless a test starts the built-in provider.
  LOCAL_URL: 'http://127.0.0.1:2',
  LIMIT_ADDRESS_PER_3_MINUTES: '0',
  // All clients of a test share one address.
  LIMIT_CONNECTIONS_PER_ADDRESS: '10000',
  // Tests send many creates at once.
  OVERLOAD_WAITING_CREATES: '0',
  // The gateway shares the event loop with the test, so its delay is meaningless.
  OVERLOAD_EVENT_LOOP_DELAY_MS: '0',
  // Would take a tenth of a second for each task. Tests of the check switch it on.
  RESULT_DECODE_PERCENT: '0',
  // A slow machine must not count in memory.
  REDIS_TIMEOUT_MS: '0',
  // The host may stop the whole machine for seconds. Then all timeouts are over before a response is read.
  DATABASE_CONNECT_TIMEOUT_MS: '120000',
  DATABASE_STATEMENT_TIMEOUT_MS: '120000',
  DATABASE_LOCK_TIMEOUT_MS: '0',
  LOG_LEVEL: 'silent',
})

/** A bucket for a gateway if the tests run with media in S3. */
const chooseStore = async (): Promise<Environment> => {
  if (process.env['TEST_MEDIA_STORE'] !== 's3') return {}
  const { createBucket, useCredentials } = await import('./buckets.ts')
  useCredentials()
  return { MEDIA_STORE: (await createBucket()).url }
}

/** What gateways can share. */
export type SharedParts = Pick<TestGateway, 'database' | 'directory'> & Partial<TestGateway>

export const startGateway = async (
  given: Environment = {},
  shared?: SharedParts,
  log?: Log,
): Promise<TestGateway> => {
  const database = shared?.database ?? (await createDatabase())
  const directory = shared?.directory ?? (await mkdtemp(join(tmpdir(), 'kinora-test-')))
  const storeSettings = shared?.storeSettings ?? (await chooseStore())
  const config = loadConfig({
    ...testEnvironment(database.url, directory),
    REDIS_URL: inject('redisUrl'),
    ...storeSettings,
    ...given,
  })
  const { app, adminApp, close } = await wireApi(config, log ?? createLog({ level: config.LOG_LEVEL }, 'api'))
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const adminUrl = (await adminApp?.listen({ host: '127.0.0.1', port: 0 })) ?? url
  return {
    url,
    adminUrl,
    database,
    directory,
    storeSettings,
    ...(await openStorage(config)),
    [Symbol.asyncDispose]: async () => {
      await close()
      if (shared !== undefined) return
      await database[Symbol.asyncDispose]()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

const recordedTables = [
  'video_tasks',
  'task_events',
  'open_tasks',
  'media',
  'characters',
  'metered_requests',
  'transcription_tasks',
  'open_transcriptions',
  'transcription_segments',
  'ledger_entries',
  'balances',
  'key_quotas',
]

/** Everything that a request may leave: the row count and a digest of each table, and the files. */
export const recordOf = async ({
  database,
  ...storage
}: Pick<TestGateway, 'database' | 'mediaStore' | 'spool'>) => {
  const digests = recordedTables.map(
    (table) =>
      `(select count(*) || ' ' || coalesce(sum(hashtextextended(t::text, 0)), 0) from ${table} t) as ${table}`,
  )
  const { rows } = await database.postgres.query<Record<string, string>>(`select ${digests.join(', ')}`)
  return { ...rows[0], files: await listFiles(storage) }
}

export interface TestProxy extends AsyncDisposable {
  /** The same URL through the proxy. */
  url: string
  /** The bytes sent to the server so far. */
  sentBytes: () => number
  /** Closes every connection and refuses new ones, like a server that is down. */
  cut: () => Promise<void>
  /** Accepts connections again, at the same URL. */
  mend: () => Promise<void>
  /** Forwards nothing more, on old and new connections, like a server whose processes are stopped. */
  stall: () => void
  /** Forwards again. */
  resume: () => void
  /**
   * Closes the next connection that commits a transaction with this statement, which must not be prepared yet: after the
   * server has committed, or before it receives the commit. Resolves once that has happened. With `isSilent`, the
   * connection stays open without a response.
   */
  loseCommitOf: (statement: string, isCommitted: boolean, options?: { isSilent?: boolean }) => Promise<void>
  /** Holds the reply to the next query that contains this text. Resolves once the server has sent it, with its release. */
  holdReplyTo: (text: string) => Promise<() => void>
}

/** A proxy between a gateway and its database that counts bytes and can interrupt connections. */
export const startProxy = async (targetUrl: string): Promise<TestProxy> => {
  const target = new URL(targetUrl)
  const sockets = new Set<Socket>()
  let sentBytes = 0
  let isStalled = false
  let losing: { statement: string; isCommitted: boolean; isSilent: boolean; onLost: () => void } | undefined
  let holding: { text: string; onHeld: (release: () => void) => void } | undefined
  const server = createServer((near) => {
    let isMarked = false
    let isMute = false
    const far = connect({ host: target.hostname, port: Number(target.port) })
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(socket)
          if (!isMute || socket === near) near.destroy()
          far.destroy()
        })
    }
    near.on('data', (chunk: Buffer) => {
      sentBytes += chunk.length
      if (holding !== undefined && chunk.includes(holding.text)) {
        const { onHeld } = holding
        holding = undefined
        const held: Buffer[] = []
        const keep = (reply: Buffer) => {
          held.push(reply)
          onHeld(() => {
            far.off('data', keep)
            near.write(Buffer.concat(held))
            far.pipe(near)
          })
        }
        far.unpipe(near)
        far.on('data', keep).resume()
      }
      if (losing === undefined) return
      isMarked ||= chunk.includes(losing.statement)
      if (!isMarked || !chunk.includes('commit\0')) return
      const { isCommitted, isSilent, onLost } = losing
      losing = undefined
      isMute = isSilent
      // Everything before it has a response, so the next response is that of the commit.
      far.unpipe(near)
      const lose = () => {
        if (!isSilent) near.destroy()
        onLost()
      }
      if (isCommitted) far.once('data', lose).resume()
      else {
        far.destroy()
        lose()
      }
    })
    near.pipe(far).pipe(near)
    if (isStalled) for (const socket of [near, far]) socket.pause()
  })
  const listen = (port: number) =>
    new Promise<void>((resolve) => {
      server.listen({ host: '127.0.0.1', port }, resolve)
    })
  await listen(0)
  const { port } = server.address() as AddressInfo
  const cut = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  const url = new URL(targetUrl)
  url.hostname = '127.0.0.1'
  url.port = String(port)
  return {
    url: url.href,
    sentBytes: () => sentBytes,
    cut,
    mend: () => listen(port),
    stall: () => {
      isStalled = true
      for (const socket of sockets) socket.pause()
    },
    resume: () => {
      isStalled = false
      for (const socket of sockets) socket.resume()
    },
    loseCommitOf: (statement, isCommitted, { isSilent = false } = {}) =>
      new Promise((onLost) => {
        losing = { statement, isCommitted, isSilent, onLost }
      }),
    holdReplyTo: (text) =>
      new Promise((onHeld) => {
        holding = { text, onHeld }
      }),
    [Symbol.asyncDispose]: cut,
  }
}
