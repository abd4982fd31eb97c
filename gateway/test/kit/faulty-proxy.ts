/** A proxy in front of a simulated vendor that can fail like a vendor that is down, without losing the vendor's jobs. */
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const proxyFaults = ['401', '500', 'refused', 'timeout'] as const
export type ProxyFault = (typeof proxyFaults)[number]

export interface FaultyProxy extends AsyncDisposable {
  url: string
  /** Undefined repairs it. Requests that it has not answered stay without a response. */
  set: (fault: ProxyFault | undefined) => Promise<void>
}

const passOn = (target: URL, request: IncomingMessage, response: ServerResponse): void => {
  const { method, url: path, headers } = request
  const { hostname: host, port } = target
  const passed = forward({ host, port, method, path, headers, agent: false }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  passed.on('error', () => response.destroy())
  request.pipe(passed)
}

const refuse = (response: ServerResponse, status: number, code: string): void => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { code, message: 'The simulated vendor fails.' } }))
}

export const startFaultyProxy = async (vendorUrl: string): Promise<FaultyProxy> => {
  const target = new URL(vendorUrl)
  let fault: ProxyFault | undefined
  const server = createServer((request, response) => {
    if (fault === undefined) passOn(target, request, response)
    else {
      request.resume()
      if (fault === '401') refuse(response, 401, 'invalid_api_key')
      if (fault === '500') refuse(response, 500, 'server_error')
    }
  })
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, '127.0.0.1', () => resolve())
    })
  const close = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    server.closeAllConnections()
    await closed
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    set: async (wanted) => {
      fault = wanted
      if (wanted === 'refused') await close()
      else if (!server.listening) await listen(port)
    },
    [Symbol.asyncDispose]: close,
  }
}
