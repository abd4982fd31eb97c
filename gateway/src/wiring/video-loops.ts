import type { KeptLoop } from '../platform/engine/engine-supervisor.ts'
import type { Providers } from '../providers/port/provider.ts'
import { watchUpstreamName } from '../videos/polling/poll-jobs.workflow.ts'
import { dispatchVideosName } from '../videos/queue/dispatch-videos.workflow.ts'
import { shardKey } from '../videos/shard.ts'

/** The loops that must turn for videos to be made. */
export const videoLoops = (providers: Providers): KeptLoop[] =>
  providers.known().flatMap(({ name, shards }) => [
    { loop: dispatchVideosName, key: name },
    ...Array.from({ length: shards }, (_, shard) => ({
      loop: watchUpstreamName,
      key: shardKey(name, shard),
    })),
  ])
