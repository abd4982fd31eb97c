import { operations } from '@kinora/contract/operations'

import { deleteCharactersOfTask } from '../characters/character-store.ts'
import { createNamedCharacters } from '../characters/named-characters.ts'
import { bindOperation, type ApiServer } from '../http/server/bind-operation.ts'
import { storeResponses } from '../idempotency/idempotency-store.ts'
import { createSafeFetch } from '../safe-fetch/safe-fetch.ts'
import { createFindLinkedFile } from '../storage/find-linked-file.ts'
import { createMakeVariant } from '../storage/make-variant.ts'
import { cancelVideo, createCancelTask } from '../videos/api/cancel-video.ts'
import { createVideoTask } from '../videos/api/create-video-task.ts'
import { createVideo } from '../videos/api/create-video.ts'
import { deleteVideo } from '../videos/api/delete-video.ts'
import { followVideo } from '../videos/api/follow-video.ts'
import { getVideoContent } from '../videos/api/get-video-content.ts'
import { getVideo } from '../videos/api/get-video.ts'
import { listVideos } from '../videos/api/list-videos.ts'
import { queryVideoTask } from '../videos/api/query-video-task.ts'
import { createReadTask } from '../videos/api/read-task.ts'
import { remixVideo } from '../videos/api/remix-video.ts'
import { createWaitForTask } from '../videos/api/wait-for-task.ts'
import { createFollow } from '../videos/lifecycle/follow-task.ts'
import { createAdmitVideo } from '../videos/queue/admit-video.ts'
import type { WithCharacter } from '../videos/requested-character.ts'
import type { ApiContext } from './api-context.ts'
import { queueLimitsOf } from './connect.ts'

export type VideoTasks = Awaited<ReturnType<typeof createVideoTasks>>

/** Creates, reads, follows and cancels video tasks, for every domain that has to do with them. */
export const createVideoTasks = async (context: ApiContext) => {
  const { config, postgres, router, prices, settings, wake, mediaStore, links, log } = context
  const taskDays = () => context.days().task
  const readTask = createReadTask(postgres, taskDays)
  const { follow, stop } = await createFollow(postgres, context.pubsub, log)
  return {
    taskDays,
    readTask,
    follow,
    stopFollowing: stop,
    admitVideo: createAdmitVideo({
      postgres,
      router,
      prices,
      deadlineMs: config.TASK_DEADLINE_SECONDS * 1000,
      queueLimits: queueLimitsOf(settings),
      wakeDispatcher: wake.dispatcher,
      countWaiting: context.waitingCreates.enter,
      namedCharacters: createNamedCharacters(postgres),
      storeResponses,
    }),
    images: {
      mediaStore,
      safeFetch: createSafeFetch({
        allowOrigins: config.FETCH_ALLOW_ORIGINS,
        minimumRate: context.fetchRate,
      }),
      findLinkedFile: createFindLinkedFile(postgres, links),
    },
    cancelTask: createCancelTask({
      postgres,
      providers: context.providers,
      readTask,
      mediaStore,
      log,
      announce: context.pubsub.publish,
      onSlotFreed: wake.dispatcher,
      forgetCharacters: (taskId) => deleteCharactersOfTask(postgres, taskId),
      wakeRun: context.engine.resolveAwakeable,
    }),
  }
}

export const bindVideos = (
  server: ApiServer,
  { postgres, catalog, providers, enhancer, mediaStore, programs, links, log }: ApiContext,
  { taskDays, readTask, follow, admitVideo, images, cancelTask }: VideoTasks,
  withCharacter: WithCharacter,
): void => {
  const database = postgres
  const creation = { catalog, admitVideo, images, withCharacter }
  const status = { readTask, waitForTask: createWaitForTask(readTask, follow), links, catalog }
  const makeVariant = createMakeVariant({ database, mediaStore, programs, log })
  const content = { database, readTask, mediaStore, makeVariant, links, catalog }
  const deletion = { postgres, providers, mediaStore, readTask, log }

  bindOperation(server, operations.createVideo, createVideo(creation))
  bindOperation(server, operations.createVideoTask, createVideoTask({ ...creation, enhancer }))
  bindOperation(server, operations.getVideo, getVideo(status))
  bindOperation(server, operations.queryVideoTask, queryVideoTask(status))
  bindOperation(server, operations.listVideos, listVideos({ database, links, taskDays }))
  bindOperation(server, operations.deleteVideo, deleteVideo(deletion))
  bindOperation(server, operations.getVideoContent, getVideoContent(content))
  bindOperation(server, operations.followVideo, followVideo({ database, readTask, follow, links }))
  bindOperation(server, operations.remixVideo, remixVideo({ catalog, providers, readTask, admitVideo }))
  bindOperation(server, operations.cancelVideo, cancelVideo({ cancelTask, links }))
}
