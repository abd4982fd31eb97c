/** A DNS server on loopback whose answers a test chooses. */
import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'

/** The addresses of a name; empty for a name that does not exist; undefined for a query without a response. */
type Answer = (name: string, family: 4 | 6) => string[] | undefined

export interface DnsServer extends AsyncDisposable {
  /** As the setting FETCH_DNS_SERVERS expects it. */
  server: string
  /** Every name that was asked for, once per query. */
  asked: string[]
}

const addressBytes = (address: string): Buffer => {
  if (!address.includes(':')) return Buffer.from(address.split('.').map(Number))
  const [head = [], tail = []] = address
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))))
  const groups = [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail]
  return Buffer.from(groups.flatMap((group) => [group >> 8, group & 0xff]))
}

const recordTypes = new Map<number, 4 | 6>([
  [1, 4],
  [28, 6],
])

/** Reads the only question of a query. */
const readQuestion = (query: Buffer) => {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const type = query.readUInt16BE(at + 1)
  return { name: labels.join('.').toLowerCase(), type, bytes: query.subarray(12, at + 5) }
}

const responseTo = (query: Buffer, question: Buffer, type: number, addresses: string[]): Buffer => {
  const header = Buffer.from(query.subarray(0, 12))
  // A response with recursion; 3 is the code of a name that does not exist.
  header.writeUInt16BE(0x8180 | (addresses.length === 0 ? 3 : 0), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(addresses.length, 6)
  header.writeUInt32BE(0, 8)
  const records = addresses.map((address) => {
    const bytes = addressBytes(address)
    const record = Buffer.alloc(12)
    // The name is that of the question.
    record.writeUInt16BE(0xc00c, 0)
    record.writeUInt16BE(type, 2)
    record.writeUInt16BE(1, 4)
    record.writeUInt16BE(bytes.length, 10)
    return Buffer.concat([record, bytes])
  })
  return Buffer.concat([header, question, ...records])
}

export const serveDns = async (
  answer: Answer,
  { host = '127.0.0.1', port = 0 }: { host?: string; port?: number } = {},
): Promise<DnsServer> => {
  const asked: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (query: Buffer, { port: from, address }: RemoteInfo) => {
    const { name, type, bytes } = readQuestion(query)
    asked.push(name)
    const family = recordTypes.get(type)
    const addresses = family === undefined ? [] : answer(name, family)
    if (addresses !== undefined) socket.send(responseTo(query, bytes, type, addresses), from, address)
  })
  socket.bind(port, host)
  await once(socket, 'listening')
  return {
    server: `${host}:${socket.address().port}`,
    asked,
    [Symbol.asyncDispose]: async () => {
      const closed = once(socket, 'close')
      socket.close()
      await closed
    },
  }
}
