/** Redis behind sentinels, which replace a primary that is down. */
import { mkdir, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { thisMachine } from '../../test/cluster/machine-line.ts'
import { startRedisSentinels } from '../../test/cluster/redis-sentinels.ts'
import { reservePorts } from '../../test/kit/reserve-ports.ts'
import { minutes } from '../../test/kit/time-limits.ts'
import { createLog } from './log.ts'
import { redisPubsub } from './pubsub.ts'
import { connectRedis } from './redis.ts'

test('commands and notifications continue on the new primary', { timeout: minutes(3) }, async () => {
  await using started = new AsyncDisposableStack()
  const directory = started.use(await mkdtempDisposable(join(tmpdir(), 'kinora-sentinels-')))
  const logs = join(directory.path, 'logs')
  await mkdir(logs)
  const ports = await reservePorts(directory.path, ['a', 'b', 'none', 'first', 'second', 'third'])
  const redis = await startRedisSentinels(
    directory.path,
    [
      { ...thisMachine, port: ports.a, sentinelPort: ports.first },
      { ...thisMachine, port: ports.b, sentinelPort: ports.second },
      { ...thisMachine, port: ports.none, sentinelPort: ports.third },
    ],
    logs,
  )
  started.defer(() => redis.stop())

  const log = createLog({ level: 'silent' }, 'test')
  const connection = connectRedis({ url: redis.url, timeoutMs: 1_000 }, log)
  started.defer(() => connection.disconnect())
  const pubsub = redisPubsub(connection, log)
  const heard: string[] = []
  const subscription = await pubsub.subscribe((ids) => heard.push(...ids))
  started.defer(() => subscription.stop())
  const set = (value: string) => connection.set('key', value).catch((error: Error) => error.name)
  await expect.poll(() => set('before')).toBe('OK')
  const first = await redis.primary()
  const publish = async (id: string) => {
    pubsub.publish([id])
    return heard
  }
  await expect.poll(() => publish('a')).toContain('a')

  await redis.servers[first].kill()
  await expect.poll(() => redis.primary()).not.toBe(first)
  await expect.poll(() => set('after')).toBe('OK')
  await expect.poll(() => publish('b')).toContain('b')

  // It comes back as a replica, and is used again after a second failover.
  await redis.servers[first].start()
  await expect.poll(() => connection.info('replication')).toMatch(/connected_slaves:1[^]*state=online/)
  expect(await connection.get('key')).toBe('after')
})
