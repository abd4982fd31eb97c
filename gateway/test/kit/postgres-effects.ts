/** A proxy of the database that observes what a process writes, by autocommit or in a transaction. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

import type { EffectHolds, Hold } from './effect-holds.ts'

/** Calls back with each message of the PostgreSQL protocol. The first one of a client has no type. */
const messageReader = (isFromClient: boolean, onMessage: (type: string, message: Buffer) => void) => {
  let rest: Buffer = Buffer.alloc(0)
  let hasType = !isFromClient
  return (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (;;) {
      const lengthAt = hasType ? 1 : 0
      if (rest.length < lengthAt + 4) return
      const end = lengthAt + rest.readUInt32BE(lengthAt)
      if (rest.length < end) return
      const message = rest.subarray(0, end)
      rest = rest.subarray(end)
      onMessage(hasType ? String.fromCharCode(message[0] ?? 0) : 'startup', message)
      hasType = true
    }
  }
}

/** The first texts of a message, each of which ends with a zero. */
const textsOf = (message: Buffer): string[] => message.toString('utf8', 5).split('\0')

const locks = /\b(for( no key)? update|do update)\b/g
const writes = /\b(insert into|update|delete from) \w/

/** Statements with what they write, in one line. */
const collapsed = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()
const isWrite = (text: string): boolean => writes.test(text.replaceAll(locks, ''))

/** Combines the statements of a client to effects. */
const effectReader = (observe: EffectHolds['observe']) => {
  const prepared = new Map<string, string>()
  let open: { actions: string[]; values: string[] } | undefined
  const executed = (text: string, values: string): Hold | undefined => {
    const statement = collapsed(text)
    if (/^begin\b/.test(statement)) open = { actions: [], values: [] }
    else if (statement === 'rollback') open = undefined
    else if (statement === 'commit') {
      const { actions = [], values: all = [] } = open ?? {}
      open = undefined
      if (actions.length > 0) return observe({ action: actions.join('; '), values: all.join(' ') })
    } else if (!isWrite(statement)) return undefined
    else if (open === undefined) return observe({ action: statement, values })
    else {
      open.actions.push(statement)
      open.values.push(values)
    }
    return undefined
  }
  return {
    isInTransaction: () => open !== undefined,
    read: (type: string, message: Buffer): Hold | undefined => {
      const [first = '', second = ''] = textsOf(message)
      if (type === 'P') prepared.set(first, second)
      if (type === 'Q') return executed(first, '')
      if (type === 'B') return executed(prepared.get(second) ?? '', message.toString('latin1'))
      return undefined
    },
  }
}

export interface PostgresEffects extends AsyncDisposable {
  /** The same database through the proxy. */
  url: string
}

export const startPostgresEffects = async (
  targetUrl: string,
  { observe, whenAllowed }: EffectHolds,
): Promise<PostgresEffects> => {
  const target = new URL(targetUrl)
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect({ host: target.hostname, port: Number(target.port) })
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(socket)
          other.destroy()
        })
    }
    let held: Hold | undefined
    const effects = effectReader(observe)
    const send = (type: string, message: Buffer) => {
      // The rest of a statement that is held after its effect has to arrive; the client sends nothing after it.
      if (held?.when === 'before') return
      held ??= effects.read(type, message)
      if (held?.when === 'before') held.onHeld()
      else far.write(message)
    }
    // The messages of a statement that may not start yet.
    let delayed: (() => void)[] | undefined
    const fromClient = messageReader(true, (type, message) => {
      if (delayed !== undefined) return void delayed.push(() => send(type, message))
      const isStart = type === 'P' || type === 'B' || type === 'Q'
      if (!isStart || effects.isInTransaction()) return send(type, message)
      const messages = [() => send(type, message)]
      delayed = messages
      whenAllowed(() => {
        delayed = undefined
        for (const sendNext of messages) sendNext()
      })
    })
    const fromServer = messageReader(false, (type, message) => {
      if (held === undefined) near.write(message)
      // The server is ready for the next statement, so this one has been committed.
      else if (type === 'Z') held.onHeld()
    })
    near.on('data', fromClient)
    far.on('data', fromServer)
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const url = new URL(targetUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
