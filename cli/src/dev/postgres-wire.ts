import { connect } from 'node:net'

/** What the server answered instead of doing as asked, with its SQLSTATE. */
export class PostgresRefusal extends Error {
  readonly sqlState: string
  constructor(sqlState: string, message: string) {
    super(message)
    this.sqlState = sqlState
  }
}

interface StatementOptions {
  port: number
  user: string
  database: string
  /** Without one, connecting is all. */
  statement?: string
  timeoutMs?: number
}

/**
 * Connects to PostgreSQL on 127.0.0.1 as a trusted user and runs at most one statement, ignoring its rows. Just
 * enough of the protocol to know that the server is ready and to create a database: the npm package brings
 * neither psql nor createdb nor pg_isready, and a bare TCP connection also succeeds while it still recovers.
 */
export function runStatement(options: StatementOptions): Promise<void> {
  const { port, user, database, statement, timeoutMs = 10_000 } = options
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port })
    let received = Buffer.alloc(0)
    let sent = statement === undefined
    let refusal: PostgresRefusal | undefined

    const finish = (error?: Error): void => {
      socket.destroy()
      if (error === undefined) resolve()
      else reject(error)
    }
    socket.setTimeout(timeoutMs, () => {
      finish(new Error(`PostgreSQL on port ${port} did not answer within ${timeoutMs} ms`))
    })
    socket.on('error', finish)
    socket.on('close', () => {
      finish(refusal ?? new Error(`PostgreSQL on port ${port} closed the connection`))
    })
    socket.on('connect', () => {
      socket.write(startup(user, database))
    })
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      while (received.length >= 5) {
        const length = 1 + received.readUInt32BE(1)
        if (received.length < length) return
        const kind = String.fromCharCode(received[0] ?? 0)
        const body = received.subarray(5, length)
        received = received.subarray(length)
        if (kind === 'E') refusal = readRefusal(body)
        if (kind === 'R' && body.readUInt32BE(0) !== 0) {
          finish(new Error(`PostgreSQL on port ${port} asks for a password: it is not the one of kinora dev`))
          return
        }
        // Ready for a query: the first time after connecting, then after the statement.
        if (kind === 'Z') {
          if (sent) {
            // Terminate, so that the server does not log a lost connection.
            socket.write(Buffer.from([0x58, 0, 0, 0, 4]))
            finish(refusal)
            return
          }
          sent = true
          const text = Buffer.from(`${statement}\0`)
          socket.write(Buffer.concat([Buffer.from('Q'), lengthOf(text), text]))
        }
      }
    })
  })
}

function startup(user: string, database: string): Buffer {
  const protocolVersion = Buffer.from([0, 3, 0, 0])
  const parameters = Buffer.from(`user\0${user}\0database\0${database}\0\0`)
  const content = Buffer.concat([protocolVersion, parameters])
  return Buffer.concat([lengthOf(content), content])
}

function lengthOf(content: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(content.length + 4)
  return length
}

function readRefusal(body: Buffer): PostgresRefusal {
  const fields = new Map(
    body
      .toString('utf8')
      .split('\0')
      .map((field) => [field.slice(0, 1), field.slice(1)]),
  )
  return new PostgresRefusal(fields.get('C') ?? '', fields.get('M') ?? 'refused')
}
