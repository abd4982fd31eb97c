/** A proxy of the vendor that observes submits, downloads and deletes. Polls and lookups change nothing. */
import { createServer, request as forward, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

import type { EffectHolds } from './effect-holds.ts'

interface Answered {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

const pass = (target: URL, { method, url: path, headers }: IncomingMessage, body: Buffer) =>
  new Promise<Answered>((resolve, reject) => {
    const { hostname: host, port } = target
    forward({ host, port, method, path, headers, agent: false }, (answer) => {
      buffer(answer).then(
        (answered) => resolve({ status: answer.statusCode ?? 502, headers: answer.headers, body: answered }),
        reject,
      )
    })
      .on('error', reject)
      .end(body)
  })

export interface VendorEffects extends AsyncDisposable {
  url: string
}

export const startVendorEffects = async (
  vendorUrl: string,
  { observe }: EffectHolds,
): Promise<VendorEffects> => {
  const target = new URL(vendorUrl)
  const server = createServer((request, response) => {
    const answer = async () => {
      const body = await buffer(request)
      const { method = '', url = '' } = request
      const { pathname } = new URL(url, target)
      const isEffect = method !== 'GET' || pathname.endsWith('/content')
      const action = `${method} ${pathname.replace(/\/video_\w+/, '/{id}')}`
      const hold = isEffect ? observe({ action, values: `${url} ${body.toString()}` }) : undefined
      if (hold?.when === 'before') return hold.onHeld()
      const answered = await pass(target, request, body).catch(() => undefined)
      if (answered === undefined) {
        if (hold === undefined) response.destroy()
        else hold.onHeld()
        return
      }
      response.writeHead(answered.status, answered.headers)
      if (hold === undefined) response.end(answered.body)
      // A download has begun to be stored then.
      else response.write(answered.body.subarray(0, answered.body.length / 2), () => hold.onHeld())
    }
    answer().catch(() => response.destroy())
  })
  server.keepAliveTimeout = 600_000
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}
