/** Long speeches of one key, more than the provider serves at once: of half of them nothing is read. */
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

import { head } from './client.ts'
import type { Attack } from './target.ts'

const speechesAtOnce = 14
const tickMs = 500

export const speechModel = 'chat-4o-mini-tts-2025-12-15'

export const hoggedSpeech: Attack = async ({ keys }) => {
  const input = 'The ships left the harbor before first light. '.repeat(80)
  const body = JSON.stringify({ model: speechModel, voice: 'alloy', response_format: 'wav', input })
  const headers = { 'content-type': 'application/json', 'content-length': body.length }
  const order = Buffer.concat([head('POST', '/v1/audio/speech', keys.funded, headers), Buffer.from(body)])
  return async (client, signal) => {
    const sockets: (Socket | undefined)[] = Array.from({ length: speechesAtOnce }, () => undefined)
    while (!signal.aborted) {
      for (const [index, socket] of sockets.entries()) {
        if (socket?.writable === true) continue
        const opened = index % 2 === 0 ? client.openUnread() : client.open()
        opened.write(order)
        sockets[index] = opened
      }
      await sleep(tickMs, undefined, { signal }).catch(() => undefined)
    }
  }
}
