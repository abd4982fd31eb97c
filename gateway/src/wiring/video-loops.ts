import type { SupervisedLoop } from '../platform/engine/engine-supervisor.ts'
import type { Providers } from '../providers/port/provider.ts'
import { pollJobsName } from '../videos/polling/poll-jobs.workflow.ts'
import { dispatchVideosName } from '../videos/queue/dispatch-videos.workflow.ts'
import { shardKey } from '../videos/shard.ts'

/** The loops that must turn for videos to be made. */
export const videoLoops = (providers: Providers): SupervisedLoop[] =>
  providers.known().flatMap(({ name, shards }) => [
    { loop: dispatchVideosName, key: name },
    ...Array.from({ length: shards }, (_, shard) => ({
      loop: pollJobsName,
      key: shardKey(name, shard),
    })),
  ])
