import { operations } from '@kinora/contract/operations'

import type { DiskSpace } from '../admission/disk-space.ts'
import { createMeasureAudio } from '../audio/measure-audio.ts'
import { deleteCharactersOfTask } from '../characters/character-store.ts'
import { createNamedCharacters } from '../characters/named-characters.ts'
import { bindOperation, type ApiServer } from '../http/server/bind-operation.ts'
import { storeResponses } from '../idempotency/idempotency-store.ts'
import { countWaitingTasks, readInFlight, readStarts } from '../routing/queue-wait-store.ts'
import { createQueueWait } from '../routing/queue-wait.ts'
import { createSafeFetch } from '../safe-fetch/safe-fetch.ts'
import { createFindLinkedFile } from '../storage/find-linked-file.ts'
import { createMakeVariant } from '../storage/make-variant.ts'
import { getVideoTimeline } from '../timelines/get-video-timeline.ts'
import { cancelVideo, createCancelTask } from '../videos/api/cancel-video.ts'
import { createVideoTask } from '../videos/api/create-video-task.ts'
import { createVideo } from '../videos/api/create-video.ts'
import { deleteVideo } from '../videos/api/delete-video.ts'
import { editVideo } from '../videos/api/edit-video.ts'
import { followVideo } from '../videos/api/follow-video.ts'
import { getVideoContent } from '../videos/api/get-video-content.ts'
import { getVideo } from '../videos/api/get-video.ts'
import { listVideos } from '../videos/api/list-videos.ts'
import { queryVideoTask } from '../videos/api/query-video-task.ts'
import { createReadTask } from '../videos/api/read-task.ts'
import { remixVideo } from '../videos/api/remix-video.ts'
import { createWaitForTask } from '../videos/api/wait-for-task.ts'
import { clipSecondsMax } from '../videos/images/reference-clip.ts'
import { discardJob } from '../videos/lifecycle/discard-job.ts'
import { createFollow } from '../videos/lifecycle/follow-task.ts'
import { createCachedDurations } from '../videos/polling/cached-durations.ts'
import { createCachedTaskDurations } from '../videos/polling/task-durations.ts'
import { createAdmitVideo } from '../videos/queue/admit-video.ts'
import { dispatchVideosName } from '../videos/queue/dispatch-videos.ts'
import { createEstimateTask } from '../videos/queue/estimate-task.ts'
import { createFindOverload } from '../videos/queue/find-overload.ts'
import { createQueueOverload } from '../videos/queue/queue-overload.ts'
import { createReadQueuePlace } from '../videos/queue/queue-place.ts'
import type { WithCharacter } from '../videos/requested-character.ts'
import type { ApiContext } from './api-context.ts'
import { queueLimitsOf, queueWaitMsMax } from './connect.ts'
import { createTaskWebhooks } from './task-webhooks.ts'

export type VideoTasks = Awaited<ReturnType<typeof createVideoTasks>>

/** Creates, reads, follows and cancels video tasks, for every domain that has to do with them. */
export const createVideoTasks = async (
  context: ApiContext,
  diskSpace: DiskSpace,
  /** Called when tasks have changed. */
  onChange: () => void,
) => {
  const { config, postgres, router, prices, settings, wake, mediaStore, links, log } = context
  const taskDays = () => context.days().task
  const webhooks = createTaskWebhooks(config)
  const readTask = createReadTask(postgres, taskDays)
  const { watch, follow, stop } = await createFollow(postgres, context.pubsub, log, (ids) => {
    readTask.forget(ids)
    onChange()
  })
  const durations = createCachedDurations(postgres, log)
  const queueWait = createQueueWait({
    read: async () => {
      await durations.refresh()
      const waiting = await countWaitingTasks(postgres)
      return {
        waiting,
        starts: await readStarts(postgres, dispatchVideosName),
        ...(await readInFlight(postgres, [...new Set(waiting.map(({ queue }) => queue))])),
      }
    },
    isPaused: (provider, model) => router.healthOf(provider, model).kind === 'unhealthy',
    log,
  })
  const readQueuePlace = createReadQueuePlace(postgres)
  const settle = {
    ...{ postgres, mediaStore, log },
    announce: context.pubsub.publish,
    onSlotFreed: (provider: string) => {
      readQueuePlace.forget()
      queueWait.invalidate()
      wake.dispatcher(provider)
    },
    forgetCharacters: (taskId: string) => deleteCharactersOfTask(postgres, taskId),
    discardJob: discardJob(context),
    providers: context.providers,
  }
  const files = {
    ...{ database: postgres, mediaStore, redirectSeconds: config.MEDIA_REDIRECT_SECONDS },
    makeVariant: createMakeVariant({ database: postgres, mediaStore, programs: context.programs, log }),
  }
  return {
    taskDays,
    files,
    readWebhook: webhooks.read,
    readTask,
    watch,
    follow,
    stopFollowing: stop,
    estimateTask: createEstimateTask({
      ...{ queueWait, router, log },
      readQueuePlace,
      durationsOf: createCachedTaskDurations(postgres, log),
    }),
    admitVideo: createAdmitVideo({
      postgres,
      router,
      prices,
      deadlineMs: config.TASK_DEADLINE_SECONDS * 1000,
      queueLimits: queueLimitsOf(settings),
      wakeDispatcher: wake.dispatcher,
      queueOverload: createQueueOverload(queueWait, durations.of, queueWaitMsMax(config), router.stopAt),
      countWaiting: context.waitingCreates.enter,
      namedCharacters: createNamedCharacters(postgres),
      assignWebhooks: webhooks.assign,
      storeResponses,
    }),
    images: {
      mediaStore,
      safeFetch: createSafeFetch({
        allowOrigins: config.FETCH_ALLOW_ORIGINS,
        dnsServers: config.FETCH_DNS_SERVERS,
        minimumRate: context.fetchRate,
      }),
      findLinkedFile: createFindLinkedFile(postgres, links),
      measureClip: createMeasureAudio({
        programs: context.programs,
        secondsMax: clipSecondsMax,
        adviceForLonger: 'Use a part of it.',
      }),
      diskSpace,
    },
    settle,
    cancelTask: createCancelTask({
      ...settle,
      providers: context.providers,
      readTask,
      wakePoller: wake.poller,
    }),
  }
}

export const bindVideos = (
  server: ApiServer,
  { postgres, catalog, providers, router, enhancer, mediaStore, links, pubsub, log }: ApiContext,
  {
    taskDays,
    readTask,
    readWebhook,
    watch,
    follow,
    estimateTask,
    admitVideo,
    images,
    files,
    cancelTask,
  }: VideoTasks,
  withCharacter: WithCharacter,
): void => {
  const database = postgres
  const creation = { catalog, admitVideo, images, withCharacter, readWebhook }
  const waitForTask = createWaitForTask(readTask, watch)
  const status = { readTask, waitForTask, links, catalog, estimateTask }
  const deletion = { postgres, providers, mediaStore, readTask, announce: pubsub.publish, log }

  const findOverload = createFindOverload({ catalog, router, overloadOf: admitVideo.overloadOf })
  const { createVideo: create, createVideoTask: createTask } = operations
  bindOperation(server, create, createVideo(creation), findOverload(create.path))
  bindOperation(server, createTask, createVideoTask({ ...creation, enhancer }), findOverload(createTask.path))
  bindOperation(server, operations.getVideo, getVideo(status))
  bindOperation(server, operations.queryVideoTask, queryVideoTask(status))
  bindOperation(
    server,
    operations.listVideos,
    listVideos({ postgres: database, links, taskDays, estimateTask }),
  )
  bindOperation(server, operations.deleteVideo, deleteVideo(deletion))
  bindOperation(server, operations.getVideoContent, getVideoContent({ readTask, links, catalog, files }))
  bindOperation(
    server,
    operations.followVideo,
    followVideo({ database, readTask, follow, links, estimateTask }),
  )
  bindOperation(
    server,
    operations.getVideoTimeline,
    getVideoTimeline({ database, readTask, estimateTask, taskDays }),
  )
  const remixing = { catalog, providers, readTask, admitVideo, readWebhook }
  bindOperation(server, operations.remixVideo, remixVideo(remixing))
  bindOperation(server, operations.editVideo, editVideo(remixing))
  bindOperation(server, operations.cancelVideo, cancelVideo({ cancelTask, links }))
}
