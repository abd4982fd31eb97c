import { crc32 } from 'node:zlib'

/** A provider's jobs are spread over its watches by their task's id, for good. */
export const shardOf = (taskId: string, shards: number): number => crc32(taskId) % shards

export const shardKey = (provider: string, shard: number): string => `${provider}~${shard}`

export const parseShardKey = (key: string): { provider: string; shard: number } => {
  const at = key.lastIndexOf('~')
  return { provider: key.slice(0, at), shard: Number(key.slice(at + 1)) }
}
