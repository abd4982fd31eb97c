/** Serves the engine's calls of runs and loops. */
import { createServer, type Http2Session } from 'node:http2'
import { createServer as createListener } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

import * as restate from '@restatedev/restate-sdk'

import type { AllowedHosts } from '../allowed-hosts.ts'
import { summarizeError } from '../describe-error.ts'
import type { Log } from '../log.ts'
import type { RunningSteps } from './running-steps.ts'

const closeMsMax = 2_000

type Service = Parameters<typeof restate.createEndpointHandler>[0]['services'][number]

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
export const serveEngine = async (
  services: Service[],
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
      const detail = [message, ...rest]
        .map((each) => (each instanceof Error ? summarizeError(each) : String(each)))
        .join(' ')
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
