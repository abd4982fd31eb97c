/**
 * Calls the engine. The database is complete without the engine, so these calls are hints that may be lost, and senders do
 * not wait for their effect.
 */
import type { Log } from '../log.ts'
import { describeService, unusable } from '../service-address.ts'
import { createNodes, type Nodes } from './nodes.ts'
import { keyOfRuns, type Run } from './run-key.ts'

export interface Engine {
  /** Starts a run, or several in one call. It has no effect if the call is under way already. */
  start: (service: string, call: Run & { others?: Run[] }) => Promise<void>
  /**
   * Makes a loop tick soon, at most once per 100 ms and key, or after a time. While one wake-up of any process waits for its
   * time, others have no effect. It returns at once and never throws.
   */
  wake: (loop: string, key: string, afterMs?: number) => void
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

/** Each URL of the list leads to another node, or to a proxy in front of them. */
export const connectEngine = (settings: { ingressUrls: string[]; adminUrls: string[] }, log: Log): Engine => {
  const ingress = createNodes(settings.ingressUrls, { connections: 32, timeoutMs: 15_000 })
  const admin = createNodes(settings.adminUrls, { connections: 2, timeoutMs: 30_000 })
  const wakeUps = new Map<string, { atMs: number; timer: NodeJS.Timeout | undefined }>()

  const services = new Map([
    [ingress, describeService('Restate', 'RESTATE_INGRESS_URL', ...settings.ingressUrls)],
    [admin, describeService('Restate', 'RESTATE_ADMIN_URL', ...settings.adminUrls)],
  ])

  const call = async (
    nodes: Nodes,
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<string> => {
    const service = services.get(nodes) ?? 'Restate'
    const request = {
      method,
      path,
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }
    const { status, text } = await nodes.request(request).catch((error: unknown) => {
      throw unusable(service, error)
    })
    if (status >= 300) throw new Error(`${service} answered ${status} to ${method} ${path}`)
    return text
  }

  const sendToLoop = (
    loop: string,
    key: string,
    handler: 'tick' | 'wake',
    headers?: Record<string, string>,
    delay = '',
  ) =>
    call(
      ingress,
      'POST',
      `/restate/send/${loop}/${encodeURIComponent(key)}/${handler}${delay}`,
      undefined,
      headers,
    )

  const wakeNow = (loop: string, key: string) => {
    sendToLoop(loop, key, 'wake', { 'idempotency-key': 'wake' }).catch((error: unknown) =>
      log.debug({ err: error, loop, key }, 'engine.wake-failed'),
    )
  }

  /** When the delayed wake-ups that this process has sent take effect. */
  const delayed = new Map<string, number>()

  const wakeLater = (loop: string, key: string, afterMs: number) => {
    const id = `${loop}/${key}`
    if ((delayed.get(id) ?? -Infinity) > performance.now()) return
    delayed.set(id, performance.now() + afterMs)
    // A key of its own, because a wake-up that is not delayed must not wait for this one.
    const headers = { 'idempotency-key': 'wake-later' }
    sendToLoop(loop, key, 'wake', headers, `?delay=${Math.ceil(afterMs)}ms`).then(
      (answer) => {
        // It was merged with an earlier one of another process, which does not cover what this process sends until its own time.
        if (answer.includes('PreviouslyAccepted')) delayed.delete(id)
      },
      (error: unknown) => {
        delayed.delete(id)
        log.debug({ err: error, loop, key }, 'engine.wake-failed')
      },
    )
  }

  return {
    start: async (service, runs) => {
      const headers = { 'idempotency-key': keyOfRuns([runs, ...(runs.others ?? [])]) }
      await call(ingress, 'POST', `/restate/send/${service}/run`, runs, headers)
    },
    wake: (loop, key, afterMs = 0) => {
      if (afterMs > 0) {
        wakeLater(loop, key, afterMs)
        return
      }
      const id = `${loop}/${key}`
      const last = wakeUps.get(id)
      if (last?.timer !== undefined) return
      const waitMs = (last?.atMs ?? -Infinity) + wakeEveryMs - performance.now()
      if (waitMs <= 0) {
        wakeUps.set(id, { atMs: performance.now(), timer: undefined })
        wakeNow(loop, key)
        return
      }
      // One more tick after the pause, so that the last wake-up of a burst has an effect.
      const timer = setTimeout(() => {
        wakeUps.set(id, { atMs: performance.now(), timer: undefined })
        wakeNow(loop, key)
      }, waitMs)
      wakeUps.set(id, { atMs: last?.atMs ?? -Infinity, timer: timer.unref() })
    },
    startLoop: async (loop, key) => {
      await sendToLoop(loop, key, 'tick')
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
      await Promise.all([ingress.close(), admin.close()])
    },
  }
}
