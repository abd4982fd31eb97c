/** Moves tasks through their states like a run would, without a provider or an engine, and notifies watchers. */
import { inject } from 'vitest'

import { createLog } from '../../src/platform/log.ts'
import { redisPubsub } from '../../src/platform/pubsub.ts'
import { connectRedis } from '../../src/platform/redis.ts'
import { markProcessing } from '../../src/tasks/task-store.ts'
import { recordPolls } from '../../src/videos/polling/poll-store.ts'
import { dayOfTaskId } from '../../src/videos/task-id.ts'
import { videoTables } from '../../src/videos/task.ts'
import { completeTask, endTask } from './factories.ts'

type FailedEnding = Extract<Parameters<typeof endTask>[2], { kind: 'failed' }>

export interface TaskLife {
  begin: (taskId: string) => Promise<void>
  progress: (taskId: string, percent: number) => Promise<void>
  complete: (taskId: string, accountId: string) => Promise<string>
  fail: (taskId: string, code?: FailedEnding['code'], message?: string) => Promise<void>
  close: () => void
}

export const startTaskLife = (gateway: Parameters<typeof completeTask>[0]): TaskLife => {
  const log = createLog({ level: 'silent' }, 'test')
  const redis = connectRedis({ url: inject('redisUrl'), timeoutMs: 0 }, log)
  const pubsub = redisPubsub(redis, log)
  const { postgres } = gateway.database
  const dayOf = (taskId: string) => dayOfTaskId(taskId) ?? ''
  return {
    begin: async (taskId) => {
      await markProcessing(postgres, videoTables, [{ day: dayOf(taskId), id: taskId }])
      pubsub.publish([taskId])
    },
    progress: async (taskId, percent) => {
      await recordPolls(postgres, [
        { taskId, day: dayOf(taskId), nextPollMs: 60_000, progress: percent, outcome: null },
      ])
      pubsub.publish([taskId])
    },
    complete: async (taskId, accountId) => {
      const { mediaId } = await completeTask(gateway, accountId, taskId)
      pubsub.publish([taskId])
      return mediaId
    },
    fail: async (taskId, code = 'upstream_error', message = 'It broke.') => {
      await endTask(postgres, taskId, { kind: 'failed', code, message })
      pubsub.publish([taskId])
    },
    close: () => redis.disconnect(),
  }
}
