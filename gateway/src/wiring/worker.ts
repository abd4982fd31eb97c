/** The worker: it runs the workflows, the loops that drive them, and the periodic maintenance. */
import { startBillingLoop } from '../billing/billing-loop.ts'
import { createMeter } from '../billing/metering/meter.ts'
import { deleteCharactersOfTask, portraitsOf } from '../characters/character-store.ts'
import type { Config } from '../config.ts'
import { createErasureList } from '../erasure/erasure-list.ts'
import { startErasureLoop } from '../erasure/erasure-loop.ts'
import { withLongStatements } from '../platform/database/long-statements.ts'
import { observeInvocations } from '../platform/engine/invocation-metrics.ts'
import { createRunningSteps } from '../platform/engine/running-steps.ts'
import { serveEngine } from '../platform/engine/serve-engine.ts'
import { superviseEngine } from '../platform/engine/supervise-engine.ts'
import type { Log } from '../platform/log.ts'
import { ensurePartitions } from '../platform/migrate.ts'
import type { Postgres } from '../platform/postgres.ts'
import { deleteRemovedProviders } from '../provider-config/provider-config-store.ts'
import { observeCertificate } from '../readings/observe-certificate.ts'
import { observeDatabase } from '../readings/observe-database.ts'
import { startRetentionLoop } from '../retention/retention-loop.ts'
import { createCompareDurations } from '../routing/compare-durations.ts'
import { createIsDamaged } from '../storage/decode-sample.ts'
import { createProbeVideo } from '../storage/probe-video.ts'
import { startSpoolSweep } from '../storage/spool-sweep.ts'
import { dispatchRecordingsLoop } from '../transcription-tasks/lifecycle/dispatch-recordings.ts'
import { transcribeRecording } from '../transcription-tasks/lifecycle/transcribe-recording.ts'
import { createCutSegment } from '../transcription-tasks/segments/cut-segment.ts'
import { createReadLevels } from '../transcription-tasks/segments/read-levels.ts'
import { createDownloadPace } from '../videos/download-pace.ts'
import { createDownloadPermits } from '../videos/download-permits.ts'
import { advanceVideo, type AdvanceDependencies } from '../videos/lifecycle/advance-video.ts'
import { cancelJob, discardJob } from '../videos/lifecycle/discard-job.ts'
import { createFinishTask } from '../videos/lifecycle/settle-video.ts'
import { createStepRecords } from '../videos/lifecycle/step-records.ts'
import { createDurationLearner } from '../videos/polling/duration-learner.ts'
import { createJobDurations } from '../videos/polling/job-durations.ts'
import { pollJobs } from '../videos/polling/poll-jobs.ts'
import { addTaskDurations, taskDurationRatio, type TaskKind } from '../videos/polling/task-duration-store.ts'
import { dispatchVideos } from '../videos/queue/dispatch-videos.ts'
import { createFillSlot } from '../videos/queue/fill-slot.ts'
import { jobKeepingOf, retainingProviders } from '../videos/removal/remove-jobs.ts'
import { advanceVideoName } from '../videos/video-run.ts'
import { createWebhookUrls } from '../webhooks/inbound/webhook-url.ts'
import {
  connect,
  dayMs,
  loadInstanceSettings,
  queueLimitsOf,
  retentionDaysOf,
  retentionMsOf,
} from './connect.ts'
import { engineWork } from './engine.ts'
import { observeBudgets, observeRoutes, observeStorage } from './metrics.ts'
import { startNotices } from './notices.ts'
import { createWebhookDelivery } from './webhooks.ts'

const minuteMs = 60_000
const downloadRateWindowMs = 30_000
const slowDownloadWindowMs = 5_000
/** Estimates change slowly. */
const learnEveryMs = 30_000

/** Starts the jobs that depend on time alone. Each also runs once at the start. */
const startMaintenance = async (postgres: Postgres, log: Log) => {
  const makePartitions = () =>
    ensurePartitions(postgres).catch((error: unknown) => log.warn({ err: error }, 'partitions.not-made'))
  await makePartitions()
  const daily = setInterval(() => void makePartitions(), dayMs)
  const meter = createMeter({ postgres, log })
  const releaseAbandoned = () =>
    meter.releaseAbandoned().catch((error: unknown) => log.warn({ err: error }, 'meter.not-released'))
  await releaseAbandoned()
  const forgetRemoved = () =>
    deleteRemovedProviders(postgres).catch((error: unknown) =>
      log.warn({ err: error }, 'provider-config.not-cleared'),
    )
  const everyMinute = setInterval(() => {
    void releaseAbandoned()
    void forgetRemoved()
  }, minuteMs)
  return {
    stopTimers: () => {
      clearInterval(daily)
      clearInterval(everyMinute)
    },
    closeMeter: () => meter.close(),
  }
}

export const wireWorker = async (config: Config, log: Log) => {
  const connected = await connect(config, log, 'worker')
  const {
    postgres,
    redis,
    pubsub,
    engine,
    wake,
    liveConfig,
    catalog,
    providers,
    router,
    mediaStore,
    erasureStore,
    spool,
    programs,
  } = connected
  const maintained = withLongStatements(postgres)
  const settings = await loadInstanceSettings(config, postgres, log)
  const days = retentionDaysOf(settings)
  const retentionMs = retentionMsOf(postgres, days)
  const jobDurations = createJobDurations({ postgres, log })
  const taskDurations = createDurationLearner<TaskKind>(
    (kind, durations, decay) => addTaskDurations(postgres, kind, durations, decay),
    taskDurationRatio,
    log,
    learnEveryMs,
  )
  const downloadPermits = createDownloadPermits({
    total: config.LIMIT_DOWNLOADS,
    perProvider: config.LIMIT_DOWNLOADS_PER_PROVIDER,
  })
  const downloadPace = createDownloadPace({
    total: config.LIMIT_DOWNLOAD_BYTES_PER_SECOND,
    perProvider: config.LIMIT_DOWNLOAD_BYTES_PER_SECOND_PER_PROVIDER,
  })
  const steps = createRunningSteps()
  const { stopping, record } = steps
  const videos: AdvanceDependencies = {
    postgres,
    providers,
    router,
    jobDurations,
    learnDuration: taskDurations.learn,
    mediaStore,
    log,
    finishTask: createFinishTask(postgres, () => jobKeepingOf(providers)),
    records: createStepRecords(postgres),
    probeVideo: createProbeVideo(programs, createIsDamaged(programs, config.RESULT_DECODE_PERCENT, log)),
    enhancer: connected.enhancer,
    retentionMsOf: retentionMs,
    downloadPermits,
    downloadPace,
    downloadRate: {
      bytesPerSecondMin: config.LIMIT_DOWNLOAD_BYTES_PER_SECOND_MIN,
      windowMs: downloadRateWindowMs,
    },
    slowDownloadRate: {
      bytesPerSecondMin: config.LIMIT_DOWNLOAD_BYTES_PER_SECOND_SLOW,
      windowMs: slowDownloadWindowMs,
    },
    wakeDispatcher: wake.dispatcher,
    announce: pubsub.publish,
    onSlotFreed: createFillSlot({ database: postgres, wakeDispatcher: wake.dispatcher, stopping, log }),
    wakePoller: wake.poller,
    discardJob: discardJob({ postgres, providers }),
    portraitsOf: (characterIds) => portraitsOf(postgres, characterIds),
    forgetCharacters: (taskId) => deleteCharactersOfTask(postgres, taskId),
    webhookUrlOf: createWebhookUrls(config.LINK_SECRETS, config.publicUrl).urlFor,
    ...{ stopping, record },
  }
  const recordings = {
    postgres,
    router,
    mediaStore,
    log,
    readLevels: createReadLevels(programs),
    cutSegment: createCutSegment(programs),
    compareDurations: createCompareDurations({ database: postgres, log }),
    retentionMsOf: retentionMs,
    wakeDispatcher: wake.recordingDispatcher,
    stopping,
  }
  const webhooks = await createWebhookDelivery(config, { postgres, engine, log }, () => days().task, steps)
  const services = [
    advanceVideo(videos, steps, (run, input) => engine.start(advanceVideoName, { ...run, ...input })),
    dispatchVideos(
      { postgres, providers, router, catalog, engine, queueLimits: queueLimitsOf(settings) },
      steps,
    ),
    pollJobs(
      {
        ...{ postgres, providers, engine, catalog, jobDurations, router, downloadPermits, log },
        announce: pubsub.publish,
      },
      steps,
    ),
    transcribeRecording(recordings, steps),
    dispatchRecordingsLoop({ postgres, mediaStore, log }, steps),
    webhooks.service,
  ]
  const served = await serveEngine(
    services,
    steps,
    {
      host: config.WORKER_HOST,
      port: config.WORKER_PORT,
      allowedHosts: config.ALLOWED_HOSTS.and(config.workerUrl),
      identityKeys: config.engineIdentityKeys,
    },
    log,
  )
  const supervisor = await superviseEngine({
    postgres,
    engine,
    ...engineWork(providers, maintained),
    workerUrl: config.workerUrl,
    services: services.map(({ name }) => name),
    log,
  })
  const maintenance = await startMaintenance(postgres, log)
  const billing = startBillingLoop({ postgres, log })
  const notices = startNotices({ config, postgres: maintained, catalog, log })
  const retention = startRetentionLoop({ postgres: maintained, mediaStore, providers, days, log })
  const erasures = startErasureLoop({
    ...{ postgres: maintained, mediaStore, log, erasureList: createErasureList(erasureStore) },
    auditSecrets: config.AUDIT_SECRETS,
    retaining: () => retainingProviders(providers),
    cancelJob: ({ provider, upstream }) => cancelJob(providers, provider, upstream),
    onEnded: (provider, taskIds) => {
      wake.dispatcher(provider)
      pubsub.publish(taskIds)
    },
  })
  const spoolSweep = startSpoolSweep(spool, log)
  const readings = observeDatabase({ postgres, log }, () => providers.all().map(({ name }) => name))
  const observing = [
    observeRoutes({ providers, router }, 'task'),
    observeBudgets(router),
    observeCertificate(config.publicUrl, log),
    observeStorage({ spool }, log),
    observeInvocations(),
  ]
  return {
    recording: steps.recording,
    untilRecorded: steps.untilRecorded,
    close: async () => {
      // Begun first: other workers get new calls of the engine, while this one finishes its steps and its maintenance.
      const drained = served.close()
      maintenance.stopTimers()
      spoolSweep.stop()
      readings.stop()
      for (const stop of observing) stop()
      await webhooks.stop()
      await billing.stop()
      await notices.stop()
      await retention.stop()
      await erasures.stop()
      await maintenance.closeMeter()
      await supervisor.stop()
      await drained
      await jobDurations.stop()
      await taskDurations.stop()
      await settings.stop()
      await router.stop()
      await liveConfig.stop()
      await engine.close()
      redis?.disconnect()
      await postgres.close()
    },
  }
}
