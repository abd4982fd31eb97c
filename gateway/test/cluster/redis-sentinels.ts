/** A Redis server, a replica and three sentinels that replace a primary which is down. */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'

import { createPart, until, type Part } from '../faults/part.ts'
import { lineAt, type Place } from './machine-line.ts'

interface RedisMachine extends Place {
  /** The port of the server; the third machine has only a sentinel. */
  port: number
  sentinelPort: number
}

export interface RedisSentinels {
  url: string
  servers: readonly [Part, Part]
  sentinels: readonly Part[]
  /** The index of the server that the sentinels name. */
  primary: () => Promise<0 | 1>
  stop: () => Promise<void>
}

const name = 'kinora'
const sentinelPassword = 'sentinels-of-tests'

/** Sends commands and returns the response to the last one. */
const ask = async (host: string, port: number, ...commands: string[]): Promise<string> => {
  const socket = connect({ host, port, timeout: 2_000 })
  socket.on('timeout', () => socket.destroy(new Error('Redis does not respond')))
  try {
    let reply = ''
    for (const command of commands) {
      socket.write(`${command}\r\n`)
      const [data] = (await once(socket, 'data')) as [Buffer]
      reply = data.toString()
    }
    return reply
  } finally {
    socket.destroy()
  }
}

export const startRedisSentinels = async (
  directory: string,
  machines: readonly [RedisMachine, RedisMachine, RedisMachine],
  logDirectory: string,
): Promise<RedisSentinels> => {
  const [first, second] = machines
  const environment = { PATH: process.env['PATH'] }
  const createServer = (index: 0 | 1) => {
    const machine = machines[index]
    const { address, port } = machine
    const other = machines[index === 0 ? 1 : 0]
    return createPart({
      name: `redis-${index}`,
      line: lineAt(machine, [
        ...(['redis-server', '--port', String(port), '--bind', address, '--protected-mode', 'no'] as const),
        ...['--dir', directory, '--save', '', '--appendonly', 'no', '--repl-diskless-sync-delay', '0'],
        // At the first start. Afterwards the sentinels decide.
        ...(index === 1 ? ['--replicaof', other.address, String(other.port)] : []),
      ]),
      environment,
      logDirectory,
      untilReady: () =>
        until('Redis responds', async () => (await ask(address, port, 'PING')).startsWith('+PONG')),
    })
  }
  const servers = [createServer(0), createServer(1)] as const
  await servers[0].start()
  await servers[1].start()
  const sentinels = await Promise.all(
    machines.map(async (machine, index) => {
      const { address, sentinelPort } = machine
      const file = join(directory, `sentinel-${index}.conf`)
      await writeFile(
        file,
        [
          `port ${sentinelPort}`,
          `bind ${address}`,
          'protected-mode no',
          `dir ${directory}`,
          `requirepass ${sentinelPassword}`,
          `sentinel sentinel-pass ${sentinelPassword}`,
          `sentinel monitor ${name} ${first.address} ${first.port} 2`,
          `sentinel down-after-milliseconds ${name} 2000`,
          `sentinel failover-timeout ${name} 6000`,
          '',
        ].join('\n'),
      )
      return createPart({
        name: `sentinel-${index}`,
        line: lineAt(machine, ['redis-server', file, '--sentinel']),
        environment,
        logDirectory,
        untilReady: () =>
          until('the sentinel responds', async () =>
            (await ask(address, sentinelPort, `AUTH ${sentinelPassword}`, 'PING')).startsWith('+PONG'),
          ),
      })
    }),
  )
  await Promise.all(sentinels.map((sentinel) => sentinel.start()))
  const askSentinel = async (command: string) => {
    for (const { address, sentinelPort } of machines) {
      const reply = await ask(address, sentinelPort, `AUTH ${sentinelPassword}`, command).catch(() => '')
      if (reply !== '') return reply
    }
    throw new Error('no sentinel responds')
  }
  await until('the sentinels know each other and the replica', async () => {
    const master = await askSentinel(`SENTINEL MASTER ${name}`)
    const valueOf = (field: string) => new RegExp(`${field}\r\n\\$\\d+\r\n(\\d+)`).exec(master)?.[1]
    return valueOf('num-other-sentinels') === '2' && valueOf('num-slaves') === '1'
  })
  const hosts = machines.map(({ address, sentinelPort }) => `${address}:${sentinelPort}`)
  return {
    url: `redis+sentinel://${hosts.join()}/${name}/0?sentinel_password=${encodeURIComponent(sentinelPassword)}`,
    servers,
    sentinels,
    primary: async () => {
      const reply = await askSentinel(`SENTINEL GET-MASTER-ADDR-BY-NAME ${name}`)
      return reply.includes(`${second.address}\r\n`) && reply.includes(`\r\n${second.port}\r\n`) ? 1 : 0
    },
    stop: async () => {
      await Promise.all([...servers, ...sentinels].map((part) => part.kill()))
    },
  }
}
