/**
 * All that the rest of the code knows of the engine: how to call it, how to serve it, and the shape of
 * its endless loops. The record is complete without it, so calls from outside are hints that may be
 * lost; whoever sends one never waits for more than that it was sent.
 */
import { createServer, type Http2Session } from 'node:http2'

import * as restate from '@restatedev/restate-sdk'
import { Pool } from 'undici'

import type { Log } from '../log.ts'

export interface Engine {
  /** Starts a run; starting the same key again is the same start. */
  start: (workflow: string, key: string) => Promise<void>
  /** Makes a loop turn soon: at most once per 100 ms and key, never awaited, never failing. */
  wake: (loop: string, key: string) => void
  /** Brings a waiting run its news. News for a run that is over is taken and dropped by the engine. */
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

  const turnNow = (loop: string, key: string) => {
    call(ingress, 'POST', `/restate/send/${loop}/${encodeURIComponent(key)}/turn`).catch((error: unknown) =>
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
      const waitMs = (last?.atMs ?? 0) + wakeEveryMs - Date.now()
      if (waitMs <= 0) {
        wakeUps.set(id, { atMs: Date.now(), timer: undefined })
        turnNow(loop, key)
        return
      }
      // One more after the pause, so that the last of a burst is not forgotten.
      const timer = setTimeout(() => {
        wakeUps.set(id, { atMs: Date.now(), timer: undefined })
        turnNow(loop, key)
      }, waitMs)
      wakeUps.set(id, { atMs: last?.atMs ?? 0, timer: timer.unref() })
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

// A step may take as long as copying a large video; the engine gives it that and a margin. Retries never
// end by themselves, because a run that the engine parks is a task that never ends.
export const durable = (suspendAfterMs: number) => ({
  inactivityTimeout: { milliseconds: suspendAfterMs },
  abortTimeout: { minutes: 15 },
  journalRetention: { seconds: 0 },
  retryPolicy: { initialInterval: 100, maxInterval: 10_000, maxAttempts: 1_000_000 },
})

/**
 * An endless loop as a keyed object: each turn does its work as one step and asks for the next after the
 * delay the work answered. The engine runs one turn per key at a time and carries it to another worker
 * after a crash. A nudge turns it at once; the generation makes sure that only the newest of the turns
 * that were asked for goes on, so nudges never multiply the loop.
 */
export const loop = (name: string, suspendAfterMs: number, work: (key: string) => Promise<number>) => {
  const object = restate.object({
    name,
    options: durable(suspendAfterMs),
    handlers: {
      turn: async (ctx: restate.ObjectContext, generation?: number): Promise<void> => {
        const current = (await ctx.get<number>('generation')) ?? 0
        if (generation !== undefined && generation !== current) return
        const next = current + 1
        ctx.set('generation', next)
        const delayMs = await ctx.run('turn', () => work(ctx.key))
        ctx
          .objectSendClient<typeof object>({ name }, ctx.key)
          .turn(next, restate.rpc.sendOpts({ delay: { milliseconds: delayMs } }))
      },
    },
  })
  return object
}

export type DurableService = Parameters<typeof restate.createEndpointHandler>[0]['services'][number]

/**
 * Serves the engine's calls. Workers on one machine share the port, so that one address outlives any of
 * them; the engine takes calls cut off by a dead worker to another.
 */
export const serveDurable = async (
  services: DurableService[],
  settings: { host: string; port: number; identityKeys: string[] },
  log: Log,
): Promise<{ close: () => Promise<void> }> => {
  const sessions = new Set<Http2Session>()
  const server = createServer(
    restate.createEndpointHandler({
      services,
      bidirectional: true,
      ...(settings.identityKeys.length > 0 && { identityKeys: settings.identityKeys }),
      // The engine retries what fails; its own account of a failed attempt is worth a line, its chatter is not.
      logger: ({ level, context }, message: unknown, ...rest: unknown[]) => {
        const severity = level.toLowerCase()
        if (severity !== 'error' && severity !== 'warn') return
        const detail = [message, ...rest].map(String).join(' ')
        log.warn({ target: context?.invocationTarget, detail }, 'engine.attempt-failed')
      },
    }),
  )
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
