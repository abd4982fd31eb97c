/** The nodes of the engine. Requests go to one of them until it fails, and then to the next. */
import { Pool, type Dispatcher } from 'undici'

export interface Nodes {
  request: (request: Dispatcher.RequestOptions) => Promise<{ status: number; text: string }>
  close: () => Promise<void>
}

/** Then another node is tried. */
const connectTimeoutMs = 2_000

/** The request was certainly not sent, so another node may get it. */
const isUnsent = (error: unknown) =>
  /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT)$/.test(
    String((error as { code?: unknown }).code),
  )

/** A node that is starting, or a proxy without a node. */
const isUnavailable = (status: number) => status >= 502 && status <= 504

export const createNodes = (
  urls: string[],
  { connections, timeoutMs }: { connections: number; timeoutMs: number },
): Nodes => {
  const pools = urls.map(
    (url) =>
      new Pool(url, {
        connections,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
        ...(urls.length > 1 && { connect: { timeout: connectTimeoutMs } }),
      }),
  )
  let preferred = 0

  const attempt = async (
    request: Dispatcher.RequestOptions,
    attemptsLeft: number,
  ): Promise<{ status: number; text: string }> => {
    const node = preferred
    const pool = pools[node]
    if (pool === undefined) throw new Error('the engine has no URL')
    // Requests that have failed at the same time move on by one node together.
    const moveOn = () => {
      if (preferred === node) preferred = (node + 1) % pools.length
    }
    try {
      const response = await pool.request(request)
      const text = await response.body.text()
      if (isUnavailable(response.statusCode)) moveOn()
      return { status: response.statusCode, text }
    } catch (error) {
      moveOn()
      if (attemptsLeft === 0 || !isUnsent(error)) throw error
    }
    return attempt(request, attemptsLeft - 1)
  }
  return {
    request: (request) => attempt(request, pools.length - 1),
    close: async () => {
      await Promise.all(pools.map((pool) => pool.destroy()))
    },
  }
}
