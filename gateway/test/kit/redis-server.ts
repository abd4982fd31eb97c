/** Starts a Redis server of its own, which a test can stop and continue. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { reservePorts } from './reserve-ports.ts'

export interface RedisServer extends AsyncDisposable {
  url: string
  /** Suspends the process: connections stay open, and nothing is answered. */
  suspend: () => void
  resume: () => void
}

export const startRedisServer = async (): Promise<RedisServer> => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-redis-'))
  const { redis: port } = await reservePorts(directory, ['redis'])
  const server = spawn(
    'redis-server',
    ['--bind', '127.0.0.1', '--port', String(port), '--save', '', '--appendonly', 'no', '--dir', directory],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const exit = once(server, 'exit')
  let output = ''
  for await (const chunk of server.stdout.iterator({ destroyOnReturn: false })) {
    output += String(chunk)
    if (output.includes('Ready to accept connections')) break
  }
  server.stdout.resume()
  return {
    url: `redis://127.0.0.1:${port}`,
    suspend: () => server.kill('SIGSTOP'),
    resume: () => server.kill('SIGCONT'),
    [Symbol.asyncDispose]: async () => {
      server.kill('SIGKILL')
      await exit
      await rm(directory, { recursive: true, force: true })
    },
  }
}
