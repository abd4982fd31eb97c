/**
 * A program that waits for tasks with very many connections, so that the clients share no processor time with what measures
 * them. It is told by messages what to open, and responds to each with what its clients have received so far.
 */
import { connect, type Socket } from 'node:net'

export type Waiting = 'streams' | 'polls'

export type HoldRequest =
  | { open: Waiting; count: number; taskIds: string[]; keys: string[]; port: number }
  | { close: Waiting }
  | Record<string, never>

/** Counts of one kind of clients. */
export interface Received {
  open: number
  /** Streams: events. Long polls: responses with a state. */
  changes: number
  /** Streams: comments that keep the connection alive. Long polls: responses without a change. */
  idle: number
  bytes: number
  /** Responses other than 200 and 304, and connections that ended. */
  failures: number
  lastFailure: string
}

export type HoldReport = Record<Waiting, Received>

const waitSeconds = 60
/** Each address has its own ports. */
const clientsPerAddress = 5_000
const opensAtOnce = 64

const none = (): Received => ({ open: 0, changes: 0, idle: 0, bytes: 0, failures: 0, lastFailure: '' })
const received: HoldReport = { streams: none(), polls: none() }
const sockets: Record<Waiting, Set<Socket>> = { streams: new Set(), polls: new Set() }
let opened = 0

const countOf = (text: string, part: string) => text.split(part).length - 1

const requestOf = (path: string, key: string, more = '') =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n${more}\r\n`

/** Receives a stream; calls back with its first bytes. */
const readStream = (socket: Socket, onFirst: () => void) => {
  const counts = received.streams
  let isFirst = true
  return (text: string) => {
    if (isFirst) {
      isFirst = false
      if (!text.startsWith('HTTP/1.1 200')) fail('streams', text)
      onFirst()
    }
    counts.changes += countOf(text, '\nevent: ') + (text.startsWith('event: ') ? 1 : 0)
    counts.idle += countOf(text, ': ping')
  }
}

/** Receives one response after the other; each is followed by the next request. */
const readPolls = (socket: Socket, next: (tag: string) => string, onFirst: () => void) => {
  const counts = received.polls
  let text = ''
  return (chunk: string) => {
    text += chunk
    const headEnd = text.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const head = text.slice(0, headEnd)
    const [, length = '0'] = /\r\ncontent-length: (\d+)/i.exec(head) ?? []
    if (text.length < headEnd + 4 + Number(length)) return
    const isUnchanged = head.startsWith('HTTP/1.1 304')
    if (isUnchanged) counts.idle += 1
    else if (head.startsWith('HTTP/1.1 200')) counts.changes += 1
    else fail('polls', text)
    const [, tag = ''] = /\r\netag: ([^\r]+)/i.exec(head) ?? []
    text = ''
    onFirst()
    socket.write(next(tag))
  }
}

const fail = (kind: Waiting, why: string) => {
  received[kind].failures += 1
  received[kind].lastFailure = why.slice(0, 500)
}

/** Resolves when the client waits: a stream that has begun, or a long poll after the state at its start. */
const openOne = (kind: Waiting, port: number, taskId: string, key: string): Promise<void> =>
  new Promise((resolve) => {
    const address = `127.0.${1 + Math.floor(opened / clientsPerAddress)}.1`
    opened += 1
    const socket = connect({ port, host: '127.0.0.1', localAddress: address })
    sockets[kind].add(socket)
    received[kind].open += 1
    const path = `/v1/videos/${encodeURIComponent(taskId)}`
    const poll = (tag: string) =>
      requestOf(
        path,
        key,
        `Prefer: wait=${waitSeconds}, until=change\r\n${tag === '' ? '' : `If-None-Match: ${tag}\r\n`}`,
      )
    const read = kind === 'streams' ? readStream(socket, resolve) : readPolls(socket, poll, resolve)
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      received[kind].bytes += chunk.length
      read(String(chunk))
    })
    socket.on('error', (error) => fail(kind, String(error)))
    socket.on('close', () => {
      received[kind].open -= 1
      if (sockets[kind].delete(socket)) fail(kind, 'the connection was closed')
      resolve()
    })
    // The first poll returns the state at once, so that the next one waits for its change.
    socket.write(kind === 'streams' ? requestOf(`${path}/events`, key) : requestOf(path, key))
  })

const open = async ({ open: kind, count, taskIds, keys, port }: Extract<HoldRequest, { open: Waiting }>) => {
  let next = 0
  const openNext = async () => {
    while (next < count) {
      const index = next
      next += 1
      await openOne(kind, port, taskIds[index % taskIds.length] ?? '', keys[index % keys.length] ?? '')
    }
  }
  await Promise.all(Array.from({ length: opensAtOnce }, openNext))
}

const handle = async (request: HoldRequest) => {
  if ('open' in request) await open(request as Extract<HoldRequest, { open: Waiting }>)
  if ('close' in request) {
    for (const socket of sockets[request.close]) {
      sockets[request.close].delete(socket)
      socket.destroy()
    }
  }
  process.send?.(received)
}

process.on('message', (request: HoldRequest) => void handle(request))
process.on('disconnect', () => process.exit(0))
process.send?.('ready')
