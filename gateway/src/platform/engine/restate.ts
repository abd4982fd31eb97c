/**
 * The only access to the engine: calling it, serving it, and its endless loops. The database is complete without the
 * engine, so calls from outside are hints that may be lost, and senders do not wait for their effect.
 */
import { createServer, type Http2Session } from 'node:http2'
import { createServer as createListener } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

import * as restate from '@restatedev/restate-sdk'
import { Pool } from 'undici'

import type { AllowedHosts } from '../allowed-hosts.ts'
import type { Log } from '../log.ts'
import type { Execution, RunningSteps } from './running-steps.ts'

export interface Engine {
  /** Starts a run from outside of the engine. Starting the same key again has no effect. */
  start: (workflow: string, key: string) => Promise<void>
  /** Makes a loop tick soon, at most once per 100 ms and key. It returns at once and never throws. */
  wake: (loop: string, key: string) => void
  /** Starts a loop that has no scheduled tick. */
  startLoop: (loop: string, key: string) => Promise<void>
  /** Whether the engine knows that all of these services are at this URL. */
  isRegistered: (workerUrl: string, services: string[]) => Promise<boolean>
  register: (workerUrl: string) => Promise<void>
  /** Reads the engine's own tables. */
  query: <Row>(sql: string) => Promise<Row[]>
  /** Continues an invocation that the engine has paused. */
  resume: (invocationId: string) => Promise<void>
  /** Ends an invocation at once. */
  kill: (invocationId: string) => Promise<void>
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

  const call = async (
    pool: Pool,
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    body?: unknown,
  ): Promise<string> => {
    const response = await pool.request({
      method,
      path,
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.body.text()
    if (response.statusCode >= 300)
      throw new Error(`the engine answered ${response.statusCode} to ${method} ${path}`)
    return text
  }

  const sendTick = (loop: string, key: string, cause: TickCause) =>
    call(ingress, 'POST', `/restate/send/${loop}/${encodeURIComponent(key)}/tick`, cause)

  const tickNow = (loop: string, key: string) => {
    sendTick(loop, key, { sentAtMs: Date.now() }).catch((error: unknown) =>
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
    startLoop: async (loop, key) => {
      await sendTick(loop, key, {})
    },
    isRegistered: async (workerUrl, services) => {
      const { deployments } = JSON.parse(await call(admin, 'GET', '/deployments')) as {
        deployments: { uri?: string; services: { name: string }[] }[]
      }
      const registered = deployments.find(({ uri }) => uri?.replace(/\/+$/, '') === workerUrl)
      const names = new Set(registered?.services.map(({ name }) => name))
      return registered !== undefined && services.every((name) => names.has(name))
    },
    register: async (workerUrl) => {
      await call(admin, 'POST', '/deployments', { uri: workerUrl, force: true })
    },
    query: async <Row>(sql: string) => {
      const { rows } = JSON.parse(await call(admin, 'POST', '/query', { query: sql })) as { rows: Row[] }
      return rows
    },
    resume: async (id) => {
      await call(admin, 'PATCH', `/invocations/${id}/resume`)
    },
    kill: async (id) => {
      await call(admin, 'PATCH', `/invocations/${id}/kill`)
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

/** The engine need not remember runs that have ended: one that is started again finds in the record that it has no work. */
export const workflowRetention = { seconds: 0 }

// A frozen worker must not hold a loop: the engine gives a tick to another worker after both times, so a tick must end
// before it.
const loopSuspendMs = 1_000
const loopAbortMs = 5_500
const tickMsMax = 5_000

// A wake-up that was sent before the last tick began has had its effect. The margin covers clocks that differ a little.
// If they differ by more, no wake-up counts as old.
const clockMarginMs = 1_000
const oldWakeUpMsMax = 60_000

export interface RunStart {
  workflow: string
  key: string
  input?: unknown
}

/** What a tick has found to do for the engine. */
export interface Ticked {
  /** When the next tick is due, in milliseconds from now. */
  nextMs: number
  /** Runs to start. Starting a run again that has not ended has no effect. */
  starts?: RunStart[]
  /** Awakeables to resolve. Only in the journals of ticks of earlier versions. */
  resolves?: string[]
}

/** Why a loop ticks: as scheduled, or because a wake-up was sent to it. Without a cause, the loop is started anew. */
export interface TickCause {
  generation?: number
  sentAtMs?: number
}

interface LoopState {
  /** Of the tick that is scheduled; ticks scheduled earlier have no effect. */
  generation: number
  dueAtMs: number
  startedAtMs: number
}

const isOutdated = (cause: TickCause | undefined, { generation, startedAtMs }: LoopState): boolean => {
  if (cause?.generation !== undefined) return cause.generation !== generation
  const ageMs = startedAtMs - (cause?.sentAtMs ?? Infinity)
  return ageMs > clockMarginMs && ageMs < oldWakeUpMsMax
}

const jsonBytes = (value: unknown): Uint8Array =>
  value === undefined ? new Uint8Array() : Buffer.from(JSON.stringify(value))

/** Runs a tick, and fails if it takes too long; the engine then repeats it. */
const runInTime = async (
  work: () => Promise<Ticked>,
): Promise<Ticked & { startedAtMs: number; endedAtMs: number }> => {
  const startedAtMs = Date.now()
  const late = new AbortController()
  const tooLate = pause(tickMsMax, undefined, { signal: late.signal }).then(() => {
    throw new Error(`the tick took longer than ${tickMsMax} ms`)
  })
  tooLate.catch(() => undefined)
  try {
    return { ...(await Promise.race([work(), tooLate])), startedAtMs, endedAtMs: Date.now() }
  } finally {
    late.abort()
  }
}

/**
 * An endless loop as a virtual object: each tick does its work in one step, sends what the work returned, and schedules
 * the next tick. The engine runs one tick per key at a time, moves it to another worker after a crash, and delivers
 * everything that a tick sends. A wake-up ticks at once. Work may run more than once for one tick, so it is given the id
 * of the tick, which no other tick ever has.
 */
export const loop = (
  name: string,
  { steps, suspendAfterMs }: Execution,
  work: (key: string, tickId: string) => Promise<Ticked>,
) => {
  const object = restate.object({
    name,
    options: {
      ...durable(Math.min(suspendAfterMs, loopSuspendMs)),
      abortTimeout: { milliseconds: loopAbortMs },
      // The engine would remember each wake-up for a day.
      idempotencyRetention: { seconds: 0 },
    },
    handlers: {
      tick: async (ctx: restate.ObjectContext, cause?: TickCause): Promise<void> => {
        const last = await ctx.get<LoopState>('loop')
        if (last !== null && isOutdated(cause, last)) return
        const tickId = ctx.rand.uuidv4()
        const {
          nextMs,
          starts = [],
          resolves = [],
          startedAtMs,
          endedAtMs,
        } = await ctx.run('tick', () => steps.run(() => runInTime(() => work(ctx.key, tickId))))
        for (const { workflow, key, input } of starts)
          ctx.genericSend({ service: workflow, method: 'run', key, parameter: jsonBytes(input) })
        for (const id of resolves) ctx.resolveAwakeable(id, null)
        const dueAtMs = endedAtMs + nextMs
        // A tick that is scheduled early enough stays.
        if (
          last !== null &&
          cause?.sentAtMs !== undefined &&
          last.dueAtMs > endedAtMs + clockMarginMs &&
          last.dueAtMs <= dueAtMs
        ) {
          ctx.set('loop', { ...last, startedAtMs })
          return
        }
        const generation = (last?.generation ?? 0) + 1
        ctx.set('loop', { generation, dueAtMs, startedAtMs })
        ctx
          .objectSendClient<typeof object>({ name }, ctx.key)
          .tick({ generation }, restate.rpc.sendOpts({ delay: { milliseconds: nextMs } }))
      },
    },
  })
  return object
}

const closeMsMax = 2_000

export type DurableService = Parameters<typeof restate.createEndpointHandler>[0]['services'][number]

/** Closes sessions when their last responses are sent. An engine that does not respond is not waited for. */
const closeSessions = async (sessions: Http2Session[]): Promise<void> => {
  const closed = Promise.all(
    sessions.map(
      (session) =>
        new Promise<void>((resolve) => {
          session.once('close', resolve)
          session.close()
        }),
    ),
  )
  const late = new AbortController()
  await Promise.race([closed, pause(closeMsMax, undefined, { signal: late.signal }).catch(() => undefined)])
  late.abort()
  for (const session of sessions) session.destroy()
}

/**
 * Serves the engine's calls. Workers on one machine share the port, so the address survives each of them, and the
 * engine repeats the calls of a dead worker on another.
 */
export const serveDurable = async (
  services: DurableService[],
  steps: RunningSteps,
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
  // Closing an HTTP/2 server would send GOAWAY to its sessions.
  const listener = createListener((socket) => server.emit('connection', socket))
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject)
    listener.listen({ host: settings.host, port: settings.port, reusePort: true }, resolve)
  })
  return {
    close: async () => {
      listener.close()
      // The engine opens no more streams in these sessions, and connects to another worker. On GOAWAY it would also drop
      // the streams in progress as soon as it has something new to send.
      for (const session of sessions) session.settings({ maxConcurrentStreams: 0 })
      await steps.stop()
      await closeSessions([...sessions])
    },
  }
}
