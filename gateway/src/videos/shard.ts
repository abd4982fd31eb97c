import { crc32 } from 'node:zlib'

/** Spreads a provider's jobs over its poll loops. The shard depends on the task id alone and never changes. */
export const shardOf = (taskId: string, shards: number): number => crc32(taskId) % shards

export const shardKey = (provider: string, shard: number): string => `${provider}~${shard}`

export const parseShardKey = (key: string): { provider: string; shard: number } => {
  const at = key.lastIndexOf('~')
  return { provider: key.slice(0, at), shard: Number(key.slice(at + 1)) }
}
