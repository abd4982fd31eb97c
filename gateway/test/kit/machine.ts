/**
 * Machines of their own for roles: network and mount namespaces on one bridge. Their programs reach services of this machine
 * through relays only, and their directories are empty and invisible to others. Only root can make them.
 */
import { execFile } from 'node:child_process'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Machine {
  address: string
  /** The beginning of a command line, which runs the rest there with the files of this machine. */
  prefix: readonly string[]
  /** The command line that runs a program there, with an empty directory in place of the given one. */
  lineOf: (directory: string, line: readonly string[]) => [string, ...string[]]
  /** Drops all packets between it and another machine, until the returned function is called. Needs nftables. */
  cutFrom: (other: { address: string }) => Promise<() => Promise<void>>
}

export interface Network extends AsyncDisposable {
  /** The address of this machine in the network. */
  address: string
  addMachine: () => Promise<Machine>
  /** The URL of a service of this machine, as the machines reach it. */
  reach: (url: string) => Promise<string>
}

const relay = (near: Socket, target: URL, sockets: Set<Socket>) => {
  const far = connect({ host: target.hostname, port: Number(target.port) })
  for (const socket of [near, far]) {
    sockets.add(socket)
    socket
      .on('error', () => undefined)
      .on('close', () => {
        sockets.delete(socket)
        near.destroy()
        far.destroy()
      })
  }
  near.pipe(far).pipe(near)
}

/** 32 addresses of the range of carriers, for a number that no other network has, such as a reserved port. */
export const createNetwork = async (number: number): Promise<Network> => {
  const addressOf = (index: number) => {
    const offset = number * 32 + index
    return `100.${64 + (offset >> 16)}.${(offset >> 8) & 255}.${offset & 255}`
  }
  const host = addressOf(1)
  const bridge = `kinora${number}`
  await using created = new AsyncDisposableStack()
  await run('ip', ['link', 'add', bridge, 'type', 'bridge'])
  created.defer(async () => {
    await run('ip', ['link', 'delete', bridge])
  })
  await run('ip', ['address', 'add', `${host}/27`, 'dev', bridge])
  await run('ip', ['link', 'set', bridge, 'up'])

  const sockets = new Set<Socket>()
  const relays = new Map<string, Server>()
  created.defer(() => {
    for (const server of relays.values()) server.close()
    for (const socket of sockets) socket.destroy()
  })
  let machines = 0
  const all = created.move()
  return {
    address: host,
    addMachine: async () => {
      machines += 1
      const name = `${bridge}-${machines}`
      const device = `kin${number}m${machines}`
      const address = addressOf(1 + machines)
      await run('ip', ['netns', 'add', name])
      all.defer(async () => {
        await run('ip', ['netns', 'delete', name])
      })
      const inside = (...parameters: string[]) => run('ip', ['-n', name, ...parameters])
      await run('ip', ['link', 'add', device, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name])
      all.defer(async () => {
        // A namespace is removed later than it is deleted, and its devices with it.
        await run('ip', ['link', 'delete', device])
      })
      await run('ip', ['link', 'set', device, 'master', bridge, 'up'])
      await inside('address', 'add', `${address}/27`, 'dev', 'eth0')
      await inside('link', 'set', 'eth0', 'up')
      await inside('link', 'set', 'lo', 'up')
      return {
        address,
        prefix: ['ip', 'netns', 'exec', name],
        cutFrom: async (other) => {
          const table = `cut_${other.address.replaceAll('.', '_')}`
          const filter = async (...words: string[]) => {
            await run('ip', ['netns', 'exec', name, 'nft', ...words])
          }
          await filter(
            `table inet ${table} {
               chain to { type filter hook output priority 0; ip daddr ${other.address} drop; }
               chain from { type filter hook input priority 0; ip saddr ${other.address} drop; }
             }`,
          )
          return () => filter('delete', 'table', 'inet', table)
        },
        lineOf: (directory, line) => [
          ...(['ip', 'netns', 'exec', name, 'sh', '-ec'] as const),
          // All other files of this machine can only be read.
          'mount -t tmpfs -o mode=700 machine "$1"; mount -o remount,bind,ro /; shift; exec "$@"',
          ...['sh', directory, ...line],
        ],
      }
    },
    reach: async (url) => {
      const target = new URL(url)
      const { port } = target
      if (!relays.has(port)) {
        const server = createServer((near) => relay(near, target, sockets))
        relays.set(port, server)
        await new Promise<void>((resolve, reject) => {
          server.once('error', reject).listen({ host, port: Number(port) }, () => resolve())
        })
      }
      return url.replace(target.host, `${host}:${port}`)
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}
