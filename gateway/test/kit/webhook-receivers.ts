/** Receivers of webhooks that behave in every way, and their endpoints. */
import { createHmac } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

import { uuidV7 } from '../../src/platform/ids/uuid.ts'
import type { Postgres } from '../../src/platform/postgres.ts'
import { sealSecret } from '../../src/platform/sealed-secret.ts'
import { Secret } from '../../src/platform/secret.ts'
import { createWebhookSecret, webhookSecretOwner } from '../../src/webhooks/signing/webhook-secret.ts'
import { linkSecret } from './factories.ts'
import { listenForTest } from './listen-for-test.ts'

/** How a receiver behaves. `flaky` rejects the first attempt of every fourth event, `down` everything until it is repaired. */
export type Behaviour =
  | 'ok'
  | 'flaky'
  | 'down'
  | 'error'
  | 'hang'
  | 'trickle'
  | 'redirect'
  | 'gone'
  | 'break'
  | 'slow'

export interface Arrival {
  endpoint: string
  eventId: string
  body: string
  atMs: number
  isAuthentic: boolean
  wasAccepted: boolean
}

interface Receiver {
  behaviour: Behaviour
  secret: Secret
}

const slowMs = 200

export interface WebhookReceivers extends AsyncDisposable {
  arrivals: Arrival[]
  /** Requests that followed a redirect. */
  followed: () => number
  repair: () => void
  /** Adds an endpoint to an account, and returns its id. */
  add: (
    postgres: Postgres,
    accountId: string,
    behaviour: Behaviour,
    events: string[],
  ) => Promise<{ id: string; secret: Secret }>
}

export const startWebhookReceivers = async (): Promise<WebhookReceivers> => {
  const receivers = new Map<string, Receiver>()
  const arrivals: Arrival[] = []
  let followed = 0
  let isDown = true
  const timers = new Set<NodeJS.Timeout>()

  const isAuthentic = ({ headers }: IncomingMessage, body: string, secret: Secret): boolean => {
    const key = Buffer.from(secret.reveal().slice('whsec_'.length), 'base64')
    const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`
    const expected = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
    return String(headers['webhook-signature']).split(' ').includes(expected)
  }

  const respond: Record<Behaviour, (response: ServerResponse, isFirst: boolean, eventId: string) => boolean> =
    {
      ok: (response) => {
        response.end()
        return true
      },
      flaky: (response, isFirst, eventId) => {
        const isRejected = isFirst && Number.parseInt(eventId.slice(-2), 16) % 4 === 0
        response.writeHead(isRejected ? 503 : 204).end()
        return !isRejected
      },
      down: (response) => {
        if (isDown) response.destroy()
        else response.end()
        return !isDown
      },
      error: (response) => {
        response.writeHead(500).end('an error')
        return false
      },
      hang: () => false,
      trickle: (response) => {
        const timer = setInterval(() => response.socket?.write('x'), 100)
        timers.add(timer)
        response.socket?.write('HTTP/1.1 200 OK\r\nx-slow: ')
        response.once('close', () => clearInterval(timer))
        return false
      },
      redirect: (response) => {
        response.writeHead(307, { location: '/followed' }).end()
        return false
      },
      gone: (response) => {
        response.writeHead(410).end()
        return false
      },
      break: (response) => {
        response.writeHead(200, { 'content-length': '10' }).flushHeaders()
        response.write('half', () => response.destroy())
        return true
      },
      slow: (response) => {
        timers.add(setTimeout(() => response.end(), slowMs))
        return true
      },
    }

  const server = await listenForTest((request, response, bytes) => {
    const endpoint = (request.url ?? '').slice(1)
    const receiver = receivers.get(endpoint)
    if (receiver === undefined) {
      followed += 1
      response.end()
      return
    }
    const body = bytes.toString()
    const eventId = String(request.headers['webhook-id'])
    const isFirst = !arrivals.some((each) => each.endpoint === endpoint && each.eventId === eventId)
    arrivals.push({
      ...{ endpoint, eventId, body },
      atMs: performance.now(),
      isAuthentic: isAuthentic(request, body, receiver.secret),
      wasAccepted: respond[receiver.behaviour](response, isFirst, eventId),
    })
  })

  return {
    arrivals,
    followed: () => followed,
    repair: () => {
      isDown = false
    },
    add: async (postgres, accountId, behaviour, events) => {
      const id = uuidV7()
      const secret = createWebhookSecret()
      receivers.set(id, { behaviour, secret })
      await postgres.query(
        `insert into webhook_endpoints (id, account_id, kind, url, events, secret)
         values ($1, $2, 'account', $3, $4, $5)`,
        [
          ...[id, accountId, `${server.url}/${id}`, events],
          sealSecret([new Secret(linkSecret)], webhookSecretOwner(accountId), secret),
        ],
      )
      return { id, secret }
    },
    [Symbol.asyncDispose]: async () => {
      for (const timer of timers) clearTimeout(timer)
      await server[Symbol.asyncDispose]()
    },
  }
}
