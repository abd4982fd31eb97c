/** Requests without a usable key, more than an address may send: unknown paths, forged links, character pages, wrong keys. */
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'

import { head, paced } from './client.ts'
import type { Attack } from './target.ts'

export const perSecond = 300
const connections = 8

export const anonymous: Attack = async ({ mediaPath }) => {
  const forged = mediaPath.replace('signature=', 'signature=x')
  const kinds = [
    (index: number) => head('GET', `/nothing/here/${index}`, undefined),
    () => head('GET', forged, undefined),
    (index: number) => head('GET', `/characters/nobody.${index}`, undefined),
    () => head('GET', '/v1/videos', `sk-payg-${randomBytes(24).toString('base64url')}`),
  ]
  return async (client, signal) => {
    const sockets = new Map<number, Socket>()
    await paced(signal, { perSecond, atOnceMax: Infinity }, async (index) => {
      const place = index % connections
      let socket = sockets.get(place)
      if (socket === undefined || !socket.writable) {
        socket = client.open()
        sockets.set(place, socket)
      }
      const request = kinds[Math.floor(index / connections) % kinds.length]?.(index)
      if (request !== undefined) socket.write(request)
    })
  }
}
