/** Lost responses, and clients that retry. */
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import { connect, createServer as createSocketServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import OpenAI from 'openai'
import pLimit from 'p-limit'
import { expect, inject, test } from 'vitest'

import { askJson } from '../kit/answers.ts'
import { createDatabase, type TestDatabase } from '../kit/database.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { brokenInvariants } from '../kit/ledger.ts'
import { isLongForm } from '../kit/long-form.ts'
import { reservePorts } from '../kit/reserve-ports.ts'
import { roleProcess } from '../kit/role-process.ts'
import { startGateway, testEnvironment } from '../kit/start-gateway.ts'

const lostResponses = isLongForm ? 1_000 : 150

const order = { model: 'vidB-2', seconds: '4', size: '1280x720' } as const

const listening = async (server: {
  listen: (port: number, host: string, done: () => void) => unknown
  address: () => unknown
}): Promise<number> => {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return (server.address() as AddressInfo).port
}

/**
 * Forwards requests, reads the whole response, and drops it if `isLost` returns true. It loses nothing else: neither side
 * closes an idle connection, which after a pause of this process could meet a request that is just being sent. A retry
 * that never arrived could not be told from that of its equal.
 */
const startLossyProxy = async (targetUrl: string, isLost: (request: IncomingMessage) => boolean) => {
  let lost = 0
  const server = createServer((near, reply) => {
    const far = httpRequest(
      new URL(near.url ?? '', targetUrl),
      { method: near.method, headers: near.headers },
      (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () => {
          if (isLost(near)) {
            lost += 1
            near.socket.destroy()
          } else reply.writeHead(answer.statusCode ?? 502, answer.headers).end(Buffer.concat(chunks))
        })
      },
    )
    far.on('error', () => near.socket.destroy())
    near.pipe(far)
  })
  server.keepAliveTimeout = 0
  const port = await listening(server)
  return {
    url: `http://127.0.0.1:${port}`,
    lost: () => lost,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => {
        server.close(resolve)
      })
    },
  }
}

const ledgerOf = async ({ postgres }: TestDatabase) => {
  const { rows } = await postgres.query<Record<string, number>>(
    `select (select count(*) from video_tasks) as tasks, (select count(*) from open_tasks) as open,
            (select count(*) from ledger_entries where movement = 'hold' and book = 'held') as holds,
            (select held_micros from balances) as held,
            (select sum(hold_micros) from video_tasks) as wanted`,
  )
  return { counts: rows[0], audit: await brokenInvariants(postgres) }
}

test(`after ${lostResponses} lost responses and retries of the client library there are exactly as many tasks`, async () => {
  await using gateway = await startGateway()
  const accountId = await createAccount(gateway.database.postgres, { balance: 1_000_000 })
  const { text } = await createKey(gateway.database.postgres, accountId)
  const isFirst = (request: IncomingMessage) => request.headers['x-stainless-retry-count'] === '0'
  await using proxy = await startLossyProxy(gateway.url, isFirst)
  const client = new OpenAI({ apiKey: text, baseURL: `${proxy.url}/openai/v1`, maxRetries: 4 })
  // So few at once that even a slow machine does not refuse one: a retry of a refused order could not be told from that of
  // its equal.
  const limited = pLimit(16)
  // Every prompt is ordered twice at the same time on purpose; both orders must be created.
  const promptAt = (index: number) => `Whale number ${Math.floor(index / 2)}`
  const videos = await Promise.all(
    Array.from({ length: lostResponses }, (_, index) =>
      limited(() => client.videos.create({ ...order, prompt: promptAt(index) })),
    ),
  )
  expect(proxy.lost()).toBe(lostResponses)
  expect(new Set(videos.map(({ id }) => id)).size).toBe(lostResponses)
  const { counts, audit } = await ledgerOf(gateway.database)
  expect(counts).toMatchObject({
    ...{ tasks: lostResponses, open: lostResponses, holds: lostResponses },
    held: counts?.['wanted'],
  })
  expect(audit).toEqual([])
  const { rows } = await gateway.database.postgres.query<{ id: string; prompt: string }>(
    `select id, video_order ->> 'prompt' as prompt from video_tasks`,
  )
  const promptOf = new Map(rows.map(({ id, prompt }) => [id, prompt]))
  videos.forEach(({ id }, index) => expect(promptOf.get(id)).toBe(promptAt(index)))
})

/** A proxy of the database that withholds the confirmation of commits on demand. */
const startSilentProxy = async (targetUrl: string) => {
  const target = new URL(targetUrl)
  const sockets = new Set<Socket>()
  let isSilent = false
  const server = createSocketServer((near) => {
    const far = connect({ host: target.hostname, port: Number(target.port) })
    let isWithheld = false
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    }
    near.on('data', (chunk: Buffer) => {
      if (isSilent && chunk.includes('commit\0')) isWithheld = true
      far.write(chunk)
    })
    far.on('data', (chunk: Buffer) => {
      if (!isWithheld) near.write(chunk)
    })
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
  })
  const url = new URL(targetUrl)
  url.hostname = '127.0.0.1'
  url.port = String(await listening(server))
  return {
    url: url.href,
    withholdCommits: () => {
      isSilent = true
    },
    confirmCommits: () => {
      isSilent = false
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => {
        server.close(resolve)
      })
    },
  }
}

test('a retry returns the task that a killed API process had committed before its response', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-killed-'))
  await using database = await createDatabase()
  await using proxy = await startSilentProxy(database.url)
  const ports = await reservePorts(directory, ['api'])
  const environment = {
    ...testEnvironment(proxy.url, directory),
    PORT: String(ports['api']),
    REDIS_URL: inject('redisUrl'),
  }
  const api = roleProcess('api', environment, join(directory, 'api.log'))
  try {
    await api.start()
    const accountId = await createAccount(database.postgres)
    const { text } = await createKey(database.postgres, accountId)
    const url = `http://127.0.0.1:${ports['api']}/v1/videos`
    const tries = [
      {
        body: { ...order, prompt: 'Named' },
        headers: [{ 'idempotency-key': 'one' }, { 'idempotency-key': 'one' }],
      },
      {
        body: { ...order, prompt: 'Only tried again' },
        headers: [{ 'x-stainless-retry-count': '0' }, { 'x-stainless-retry-count': '1' }],
      },
    ]
    for (const [index, { body, headers }] of tries.entries()) {
      const count = async () =>
        (await database.postgres.query<{ count: number }>('select count(*) from video_tasks')).rows[0]?.count
      proxy.withholdCommits()
      const lost = askJson(url, text, body, headers[0]).catch(() => 'lost')
      await expect.poll(count, { interval: 20 }).toBe(index + 1)
      await api.kill()
      expect(await lost).toBe('lost')
      proxy.confirmCommits()
      await api.start()
      const again = await askJson(url, text, body, headers[1])
      expect(again.status).toBe(200)
      expect(again.headers.get('idempotent-replayed')).toBe('true')
      const { rows } = await database.postgres.query<{ id: string }>(
        `select id from video_tasks where video_order ->> 'prompt' = $1`,
        [body.prompt],
      )
      expect(rows).toEqual([{ id: again.body['id'] }])
    }
    expect(await ledgerOf(database)).toMatchObject({
      counts: { tasks: 2, holds: 2 },
      audit: [],
    })
  } finally {
    await api.stop()
    await rm(directory, { recursive: true, force: true })
  }
})
