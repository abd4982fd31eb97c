import type { KeptLoop } from '../platform/keep-engine-turning.ts'
import type { Providers } from '../providers/port/provider.ts'
import { dispatchVideosName } from './dispatch-videos.workflow.ts'
import { shardKey } from './shard.ts'
import { watchUpstreamName } from './watch-upstream.workflow.ts'

/** The loops that must turn for videos to be made. */
export const videoLoops = (providers: Providers): KeptLoop[] =>
  providers.known().flatMap(({ name, shards }) => [
    { loop: dispatchVideosName, key: name },
    ...Array.from({ length: shards }, (_, shard) => ({
      loop: watchUpstreamName,
      key: shardKey(name, shard),
    })),
  ])
