/** Requests without a valid key above the limit of an address: unknown paths, forged links, character pages, wrong keys. */
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'

import { head, paced } from './client.ts'
import type { Attack } from './target.ts'

export const perSecond = 300
const connections = 8
/** Fewer than the API accepts on one connection, above which Node responds by itself. */
const perConnection = 500

export const anonymous: Attack = async ({ mediaPath }) => {
  const forged = mediaPath.replace('signature=', 'signature=x')
  const kinds = [
    (index: number) => head('GET', `/nothing/here/${index}`, undefined),
    () => head('GET', forged, undefined),
    (index: number) => head('GET', `/characters/nobody.${index}`, undefined),
    () => head('GET', '/v1/videos', `sk-payg-${randomBytes(24).toString('base64url')}`),
  ]
  return async (client, signal) => {
    const open = new Map<number, { socket: Socket; sent: number }>()
    await paced(signal, { perSecond, atOnceMax: Infinity }, async (index) => {
      const place = index % connections
      let used = open.get(place)
      if (used === undefined || !used.socket.writable || used.sent >= perConnection) {
        used?.socket.end()
        used = { socket: client.open(), sent: 0 }
        open.set(place, used)
      }
      used.sent += 1
      const request = kinds[Math.floor(index / connections) % kinds.length]?.(index)
      if (request !== undefined) used.socket.write(request)
    })
  }
}
