/** Sends a request as a client library does: with a timeout for each attempt, and a few attempts with growing pauses. */
import { setTimeout as sleep } from 'node:timers/promises'

export interface Sending {
  /** The APIs. An attempt goes to another one than the attempt before, as behind a load balancer. */
  origins: string[]
  path: string
  key: string
  method?: 'GET' | 'POST'
  headers?: Record<string, string>
  body?: string
  /** Gives up. */
  signal: AbortSignal
}

export type Sent =
  | { kind: 'ok'; body: Record<string, unknown> }
  /** Refused for good, or still without success after the last attempt. */
  | { kind: 'failed'; reason: string }

/** How patient a client is. A create whose API has died is answered with 409 for 20 s, until its claim expires. */
const retriesMax = 7
const attemptMsMax = 10_000
const firstPauseMs = 500
const pauseMsMax = 8_000
const isTemporary = (status: number) => status >= 500 || [408, 409, 429].includes(status)

let turn = 0

const pauseMs = (attempt: number, retryAfter: string | null) => {
  const backoffMs = Math.min(pauseMsMax, firstPauseMs * 2 ** attempt) * (0.75 + Math.random() / 4)
  return retryAfter === null
    ? backoffMs
    : Math.max(backoffMs, Math.min(pauseMsMax, Number(retryAfter) * 1_000))
}

export const send = async (sending: Sending): Promise<Sent> => {
  const { origins, path, key, method = 'GET', headers, body, signal } = sending
  turn += 1
  const first = turn
  for (let attempt = 0; ; attempt += 1) {
    let retryAfter: string | null = null
    let reason = ''
    let status: number | undefined
    try {
      const response = await fetch(`${origins[(first + attempt) % origins.length]}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, ...headers },
        ...(body !== undefined && { body }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(attemptMsMax)]),
      })
      const text = await response.text()
      if (response.ok) return { kind: 'ok', body: JSON.parse(text) as Record<string, unknown> }
      status = response.status
      reason = `${status} ${text.slice(0, 200)}`
      retryAfter = response.headers.get('retry-after')
    } catch (error) {
      const { name, cause } = error as Error
      reason = (cause as NodeJS.ErrnoException | undefined)?.code ?? name
    }
    const isFinal = status !== undefined && !isTemporary(status)
    if (isFinal || signal.aborted || attempt === retriesMax) return { kind: 'failed', reason }
    await sleep(pauseMs(attempt, retryAfter), undefined, { signal }).catch(() => undefined)
  }
}
