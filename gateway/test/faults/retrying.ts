/** Sends a request as a client library does: with a timeout for each attempt, and a few attempts with growing pauses. */
import { setTimeout as sleep } from 'node:timers/promises'

export interface Sender {
  key: string
  /** Where the requests come from, as a proxy reports it; limits per address count each alone. */
  address?: string
}

export interface Customer extends Required<Sender> {
  accountId: string
}

export interface Sending extends Sender {
  /** The APIs. An attempt goes to another one than the attempt before, as behind a load balancer. */
  origins: string[]
  path: string
  method?: 'GET' | 'POST' | 'DELETE'
  headers?: Record<string, string>
  body?: string | FormData
  retriesMax?: number
  /** Gives up. */
  signal: AbortSignal
}

export type Sent = { attempts: number } & (
  | { kind: 'ok'; bytes: Buffer }
  /** Refused for good, or still without success after the last attempt. */
  | { kind: 'failed'; reason: string }
)

/** How patient a client is. A create whose API has died is answered with 409 for 20 s, until its claim expires. */
const usualRetriesMax = 7
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

export const headersOf = ({ key, address }: Sender): Record<string, string> => ({
  authorization: `Bearer ${key}`,
  ...(address !== undefined && { 'x-forwarded-for': address }),
})

export const send = async (sending: Sending): Promise<Sent> => {
  const { origins, path, method = 'GET', headers, body, signal, retriesMax = usualRetriesMax } = sending
  turn += 1
  const first = turn
  for (let attempt = 0; ; attempt += 1) {
    let retryAfter: string | null = null
    let reason = ''
    let status: number | undefined
    try {
      const response = await fetch(`${origins[(first + attempt) % origins.length]}${path}`, {
        method,
        headers: { ...headersOf(sending), ...headers },
        ...(body !== undefined && { body }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(attemptMsMax)]),
      })
      const bytes = Buffer.from(await response.arrayBuffer())
      if (response.ok) return { kind: 'ok', bytes, attempts: attempt + 1 }
      status = response.status
      reason = `${status} ${bytes.toString('utf8', 0, 200)}`
      retryAfter = response.headers.get('retry-after')
    } catch (error) {
      const { name, cause } = error as Error
      reason = (cause as NodeJS.ErrnoException | undefined)?.code ?? name
    }
    const isFinal = status !== undefined && !isTemporary(status)
    if (isFinal || signal.aborted || attempt === retriesMax)
      return { kind: 'failed', reason, attempts: attempt + 1 }
    await sleep(pauseMs(attempt, retryAfter), undefined, { signal }).catch(() => undefined)
  }
}

export const jsonOf = (bytes: Buffer) => JSON.parse(bytes.toString('utf8')) as Record<string, unknown>
