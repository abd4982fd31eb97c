/** What a seeded service calls: a slow vendor, one that refuses every key, and receivers of webhooks. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

import { startVendor, type Vendor } from '../../../dev/vendor/vendor.ts'

export const vendorKey = 'the-right-key-of-the-vendor'

export interface Upstreams {
  vendor: Vendor
  /** A vendor that answers 401 to a key other than `vendorKey`. */
  strictUrl: string
  /** Accepts every webhook. */
  receiverUrl: string
  /** Refuses every webhook. */
  brokenReceiverUrl: string
  close: () => Promise<void>
}

const serve = async (listener: RequestListener) => {
  const server = createServer(listener)
  await new Promise<void>((resolve) => {
    server.listen({ host: '127.0.0.1', port: 0 }, resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export const startUpstreams = async (): Promise<Upstreams> => {
  const vendor = await startVendor({ durationMs: 500 })
  const strict = await startVendor({ apiKey: vendorKey })
  const answer =
    (status: number, text: string): RequestListener =>
    (request, response) => {
      request.resume().once('end', () => response.writeHead(status).end(text))
    }
  const receiver = await serve(answer(200, 'received'))
  const brokenReceiver = await serve(answer(500, 'out of order'))
  return {
    vendor,
    strictUrl: strict.url,
    receiverUrl: `${receiver.url}/hooks`,
    brokenReceiverUrl: `${brokenReceiver.url}/hooks`,
    close: async () => {
      for (const each of [vendor, strict, receiver, brokenReceiver]) await each.close()
    },
  }
}
