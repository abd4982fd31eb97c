/**
 * The attacker's HTTP client. It writes raw bytes, because most attacks need what a real HTTP client refuses to send,
 * and because the attacker should use as little CPU time as possible on the API's machine.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Target } from './target.ts'

export interface Client {
  /** How often each status was received, and how many connections were closed before a response. */
  answers: Record<string, number>
  /** Opens a connection whose responses are counted, from the attacker's address or another one. */
  open: (onStatus?: (status: number) => void, from?: string) => Socket
  /** Opens a connection from which nothing is ever read. */
  openUnread: (from?: string) => Socket
  /** Sends one request on its own connection and closes it after the response, or soon after the last byte. */
  exchange: (pieces: Iterable<Buffer>, ending?: 'answer' | 'disconnect') => Promise<void>
}

/** In rotation: during authentication, while the body is read, and during the work. */
const disconnectAfterMs = [0, 20, 300]

/** Writes all chunks, each after the one before was flushed; stops when the connection closes. */
export const send = async (socket: Socket, pieces: Iterable<Buffer>): Promise<void> => {
  for (const piece of pieces) {
    if (socket.destroyed) return
    await new Promise<void>((resolve) => {
      socket.write(piece, () => resolve())
    })
  }
}

export const createClient = ({ port, address }: Target, signal: AbortSignal): Client => {
  const sockets = new Set<Socket>()
  const answers: Record<string, number> = {}
  let disconnects = 0
  const count = (name: string) => {
    answers[name] = (answers[name] ?? 0) + 1
  }
  signal.addEventListener('abort', () => {
    for (const socket of sockets) socket.destroy()
  })

  const openUnread: Client['openUnread'] = (from = address) => {
    const socket = connect({ host: '127.0.0.1', port, localAddress: from, noDelay: true })
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    if (signal.aborted) socket.destroy()
    return socket
  }

  const open: Client['open'] = (onStatus, from) =>
    openUnread(from).on('data', (chunk: Buffer) => {
      for (const [, status = ''] of chunk.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3})/g)) {
        count(status)
        onStatus?.(Number(status))
      }
    })

  const exchange: Client['exchange'] = (pieces, ending = 'answer') =>
    new Promise((resolve) => {
      let isAnswered = false
      const socket = open(() => {
        isAnswered = true
        socket.destroy()
      })
      socket.on('close', () => {
        if (!isAnswered) count('no answer')
        resolve()
      })
      void send(socket, pieces).then(() => {
        if (ending === 'answer') return
        disconnects += 1
        setTimeout(() => socket.destroy(), disconnectAfterMs[disconnects % disconnectAfterMs.length])
      })
    })

  return { answers, open, openUnread, exchange }
}

/** The head of a request; without a key it is anonymous. */
export const head = (
  method: string,
  path: string,
  key: string | undefined,
  headers: Record<string, string | number> = {},
): Buffer => {
  const all = { host: '127.0.0.1', ...(key !== undefined && { authorization: `Bearer ${key}` }), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
}

const boundary = 'attack-boundary'
const closing = Buffer.from(`\r\n--${boundary}--\r\n`)

export const formType = `multipart/form-data; boundary=${boundary}`

/** The head of a part of a form; with a file name the part is a file. */
export const partHead = (name: string, filename?: string): Buffer => {
  const file = filename === undefined ? '' : `; filename="${filename}"`
  return Buffer.from(`\r\n--${boundary}\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n`)
}

/** A complete form. */
export const formBody = (parts: Buffer[]): Buffer => Buffer.concat([...parts, closing])

/** A complete request with a form, in chunks. */
export const formRequest = (path: string, key: string, parts: Buffer[]): Buffer[] => {
  const pieces = [...parts, closing]
  const length = pieces.reduce((sum, { length }) => sum + length, 0)
  return [head('POST', path, key, { 'content-type': formType, 'content-length': length }), ...pieces]
}

/** Starts this many requests, some at a time, to use up a limit per minute at once. */
export const burst = async (
  signal: AbortSignal,
  { count, atOnce }: { count: number; atOnce: number },
  work: (index: number) => Promise<void>,
): Promise<void> => {
  let next = 0
  const worker = async () => {
    while (next < count && !signal.aborted) {
      next += 1
      await work(next - 1)
    }
  }
  await Promise.all(Array.from({ length: Math.min(count, atOnce) }, worker))
}

/** Starts a request at every tick without waiting for earlier ones. Skips ticks while too many are under way. */
export const paced = async (
  signal: AbortSignal,
  { perSecond, atOnceMax = 100 }: { perSecond: number; atOnceMax?: number },
  work: (index: number) => Promise<void>,
): Promise<void> => {
  const startedMs = performance.now()
  let underWay = 0
  for (let index = 0; !signal.aborted; index += 1) {
    if (underWay < atOnceMax) {
      underWay += 1
      void work(index).finally(() => {
        underWay -= 1
      })
    }
    const dueMs = startedMs + ((index + 1) * 1000) / perSecond
    await sleep(Math.max(0, dueMs - performance.now()), undefined, { signal }).catch(() => undefined)
  }
}
