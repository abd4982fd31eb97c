/**
 * The only access to the engine: calling it, serving it, and its endless loops. The database is complete without the
 * engine, so calls from outside are hints that may be lost, and senders do not wait for their effect.
 */
import { createServer, type Http2Session } from 'node:http2'

import * as restate from '@restatedev/restate-sdk'
import { Pool } from 'undici'

import type { AllowedHosts } from '../allowed-hosts.ts'
import type { Log } from '../log.ts'

export interface Engine {
  /** Starts a run. Starting the same key again has no effect. */
  start: (workflow: string, key: string) => Promise<void>
  /** Makes a loop tick soon, at most once per 100 ms and key. It returns at once and never throws. */
  wake: (loop: string, key: string) => void
  /** Resolves the awakeable of a waiting run. The engine ignores it for a run that has ended. */
  resolveAwakeable: (id: string) => Promise<void>
  isRegistered: (workerUrl: string) => Promise<boolean>
  register: (workerUrl: string) => Promise<void>
  close: () => Promise<void>
}

const wakeEveryMs = 100

export const connectEngine = (settings: { ingressUrl: string; adminUrl: string }, log: Log): Engine => {
  const ingress = new Pool(settings.ingressUrl, {
    connections: 32,
    headersTimeout: 15_000,
    bodyTimeout: 15_000,
  })
  const admin = new Pool(settings.adminUrl, { connections: 2, headersTimeout: 30_000, bodyTimeout: 30_000 })
  const wakeUps = new Map<string, { atMs: number; timer: NodeJS.Timeout | undefined }>()

  const call = async (pool: Pool, method: 'GET' | 'POST', path: string, body?: unknown): Promise<string> => {
    const response = await pool.request({
      method,
      path,
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    })
    const text = await response.body.text()
    if (response.statusCode >= 300)
      throw new Error(`the engine answered ${response.statusCode} to ${method} ${path}`)
    return text
  }

  const tickNow = (loop: string, key: string) => {
    call(ingress, 'POST', `/restate/send/${loop}/${encodeURIComponent(key)}/tick`).catch((error: unknown) =>
      log.debug({ err: error, loop, key }, 'engine.wake-failed'),
    )
  }

  return {
    start: async (workflow, key) => {
      await call(ingress, 'POST', `/restate/send/${workflow}/${encodeURIComponent(key)}/run`)
    },
    wake: (loop, key) => {
      const id = `${loop}/${key}`
      const last = wakeUps.get(id)
      if (last?.timer !== undefined) return
      const waitMs = (last?.atMs ?? -Infinity) + wakeEveryMs - performance.now()
      if (waitMs <= 0) {
        wakeUps.set(id, { atMs: performance.now(), timer: undefined })
        tickNow(loop, key)
        return
      }
      // One more tick after the pause, so that the last wake-up of a burst has an effect.
      const timer = setTimeout(() => {
        wakeUps.set(id, { atMs: performance.now(), timer: undefined })
        tickNow(loop, key)
      }, waitMs)
      wakeUps.set(id, { atMs: last?.atMs ?? -Infinity, timer: timer.unref() })
    },
    resolveAwakeable: async (id) => {
      await call(ingress, 'POST', `/restate/awakeables/${id}/resolve`, null)
    },
    isRegistered: async (workerUrl) => {
      const { deployments } = JSON.parse(await call(admin, 'GET', '/deployments')) as {
        deployments: { uri?: string }[]
      }
      return deployments.some(({ uri }) => uri?.replace(/\/+$/, '') === workerUrl)
    },
    register: async (workerUrl) => {
      await call(admin, 'POST', '/deployments', { uri: workerUrl, force: true })
    },
    close: async () => {
      await Promise.all([ingress.destroy(), admin.destroy()])
    },
  }
}

// The abort timeout covers the longest step, which copies a large video, with a margin. Retries never end, because a
// run that the engine pauses would be a task that never ends.
export const durable = (suspendAfterMs: number) => ({
  inactivityTimeout: { milliseconds: suspendAfterMs },
  abortTimeout: { minutes: 15 },
  journalRetention: { seconds: 0 },
  retryPolicy: { initialInterval: 100, maxInterval: 10_000, maxAttempts: 1_000_000 },
})

/**
 * An endless loop as a virtual object: each tick does its work in one step and schedules the next tick after the delay
 * that the work returned. The engine runs one tick per key at a time and moves it to another worker after a crash. A
 * wake-up ticks at once. The generation ensures that only the newest scheduled tick goes on, so wake-ups never multiply
 * the loop.
 */
export const loop = (name: string, suspendAfterMs: number, work: (key: string) => Promise<number>) => {
  const object = restate.object({
    name,
    options: durable(suspendAfterMs),
    handlers: {
      tick: async (ctx: restate.ObjectContext, generation?: number): Promise<void> => {
        const current = (await ctx.get<number>('generation')) ?? 0
        if (generation !== undefined && generation !== current) return
        const next = current + 1
        ctx.set('generation', next)
        const delayMs = await ctx.run('tick', () => work(ctx.key))
        ctx
          .objectSendClient<typeof object>({ name }, ctx.key)
          .tick(next, restate.rpc.sendOpts({ delay: { milliseconds: delayMs } }))
      },
    },
  })
  return object
}

export type DurableService = Parameters<typeof restate.createEndpointHandler>[0]['services'][number]

/**
 * Serves the engine's calls. Workers on one machine share the port, so the address survives each of them, and the
 * engine repeats the calls of a dead worker on another.
 */
export const serveDurable = async (
  services: DurableService[],
  settings: { host: string; port: number; allowedHosts: AllowedHosts; identityKeys: string[] },
  log: Log,
): Promise<{ close: () => Promise<void> }> => {
  const sessions = new Set<Http2Session>()
  const handle = restate.createEndpointHandler({
    services,
    bidirectional: true,
    ...(settings.identityKeys.length > 0 && { identityKeys: settings.identityKeys }),
    // The engine retries failed attempts. Only its warnings and errors are worth a log line.
    logger: ({ level, context }, message: unknown, ...rest: unknown[]) => {
      const severity = level.toLowerCase()
      if (severity !== 'error' && severity !== 'warn') return
      const detail = [message, ...rest].map(String).join(' ')
      log.warn({ target: context?.invocationTarget, detail }, 'engine.attempt-failed')
    },
  })
  const server = createServer((request, response) => {
    // In HTTP/2 this pseudo-header takes the place of the Host header.
    const hostProblem = settings.allowedHosts.problemWith(request.authority)
    if (hostProblem === undefined) handle(request, response)
    else response.writeHead(421, { 'content-type': 'text/plain' }).end(hostProblem)
  })
  server.on('session', (session) => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: settings.host, port: settings.port, reusePort: true }, resolve)
  })
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const session of sessions) session.close()
      }),
  }
}
