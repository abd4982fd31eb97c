import { once } from 'node:events'
import { connect } from 'node:net'

import { createPart, until, type Part } from './part.ts'

export interface RedisPart extends Part {
  url: string
  /** Sends one command and returns the first line of the response. */
  command: (text: string) => Promise<string>
}

export const createRedisPart = (port: number, logDirectory: string): RedisPart => {
  const command = async (text: string) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: 2_000 })
    socket.on('timeout', () => socket.destroy(new Error('Redis does not respond')))
    try {
      socket.write(`${text}\r\n`)
      const [reply] = (await once(socket, 'data')) as [Buffer]
      return reply.toString().split('\r\n')[0] ?? ''
    } finally {
      socket.destroy()
    }
  }
  const part = createPart({
    name: 'redis',
    line: [
      'redis-server',
      ...['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
    ],
    environment: { PATH: process.env['PATH'] },
    logDirectory,
    untilReady: () => until('Redis responds', async () => (await command('PING')) === '+PONG'),
  })
  return { ...part, url: `redis://127.0.0.1:${port}/0`, command }
}
