/**
 * The submit step of a run: gives the job to its provider, at most once as far as the provider's protocol allows. It
 * reads the record first, because the step, or the whole run, may execute again after a crash.
 */
import type { RunningSteps } from '../../platform/engine/running-steps.ts'
import type { Log } from '../../platform/log.ts'
import { repeatWhileUnavailable } from '../../platform/while-unavailable.ts'
import { withExchanges, type Exchange } from '../../providers/port/exchange.ts'
import { ProviderFailure } from '../../providers/port/failure.ts'
import { videoOf, type Provider, type Providers } from '../../providers/port/provider.ts'
import { sendUntil } from '../../providers/port/send-deadline.ts'
import type { Opaque, VideoProvider } from '../../providers/port/video.ts'
import { backoffMs } from '../../routing/backoff.ts'
import type { Router, Unavailable } from '../../routing/route.ts'
import { leaveToPollLoop, recordOutcome, type CurrentRun, type OpenTask } from '../open-task-store.ts'
import type { JobDurations } from '../polling/job-durations.ts'
import { nextPollDelayMs } from '../polling/poll-schedule.ts'
import { costAt } from '../priced-work.ts'
import { needsEnhancing } from '../prompts/enhance-prompt.ts'
import { recordAttempts, recordJobFailures, type Attempt } from '../task-attempt-store.ts'
import { findTask } from '../task-store.ts'
import type { Outcome, VideoTask } from '../task.ts'
import { requirementsOf } from '../video-requirements.ts'
import { cancelJob } from './discard-job.ts'
import { jobOf, type JobDependencies } from './job-of-task.ts'
import type { StepRecords } from './step-records.ts'
import {
  clearOutcomeUnknown,
  returnToQueue,
  waitForDeadline,
  type Requeue,
  type Target,
} from './submit-store.ts'
import { timeLimitOf, type TimeLimit } from './submit-time-limit.ts'
import { traceStep } from './trace-video.ts'

export interface SubmitDependencies extends JobDependencies {
  records: Pick<StepRecords, 'findCurrentRun' | 'beginSubmit' | 'recordJob'>
  providers: Providers
  router: Router
  log: Log
  wakeDispatcher: (provider: string) => void
  /** Called when a job is to be polled, and after how long. */
  wakePoller: (provider: string, taskId: string, dueInMs?: number) => void
  /** Notifies watchers that these tasks have changed. */
  announce: (taskIds: string[]) => void
  jobDurations: Pick<JobDurations, 'of'>
  /** Aborted when this worker begins to stop. */
  stopping: AbortSignal
  /** Runs what must survive the drain of a stopping worker, because no other process knows the response. */
  record: RunningSteps['record']
}

/**
 * `stop`: this run has nothing more to do · `needs_enhancing`: the prompt must be enhanced first · `outcome_known`: the
 * record has the outcome, or the deadline is over · `waiting`: the poll loop starts another run at the outcome.
 */
export type Submitted =
  | { kind: 'stop' | 'outcome_known' | 'waiting' }
  | { kind: 'needs_enhancing'; open: OpenTask }

// A lookup that finds no job counts from this time after the submit on. It covers the longest submit timeout, after
// which no execution sends a request any more, and the time until a provider lists a job that it has accepted.
const lookupGraceMs = 120_000

/** A task waits so long for a spent budget before it tries again: operators may raise it at any time. */
const stoppedWaitMs = 60_000

const refusalCode = (code: string | undefined): Extract<Outcome, { kind: 'refused' }>['code'] =>
  code === 'invalid_image' || code === 'invalid_parameter' || code === 'content_policy_violation'
    ? code
    : 'upstream_error'

/** One submit of a task to its current provider. */
interface Submission {
  open: OpenTask
  task: VideoTask
  provider: Provider
  video: VideoProvider
  upstreamModel: string
  /** What the job costs at the provider; undefined if unknown. */
  costMicros: number | undefined
}

/** Another provider, because the current one has refused the task or may not be asked now; undefined if there is none. */
const otherProvider = (
  { router }: SubmitDependencies,
  { open, task, provider }: Submission,
  whyNot: 'refused' | Omit<Unavailable, 'provider'>,
): Target | undefined => {
  const without =
    whyNot === 'refused'
      ? { tried: [...open.tried, provider.name] }
      : { tried: open.tried, unavailable: [{ provider: provider.name, ...whyNot }] }
  const chosen = router.choose(task.model, { ...requirementsOf(task.order, provider.name), ...without })
  if (chosen === undefined || chosen.route.provider.name === provider.name) return undefined
  const { name, shards } = chosen.route.provider
  return { provider: name, shards, decision: chosen.decision, costMicros: costAt(chosen.route, task.order) }
}

const requeue = async (dependencies: SubmitDependencies, { open }: Submission, how: Requeue) => {
  await repeatWhileUnavailable(() => returnToQueue(dependencies.postgres, open, how), dependencies.log)
  dependencies.wakeDispatcher(how.to?.provider ?? open.provider)
  return { kind: 'stop' } as const
}

/** Its provider may not be called now: the task moves to another one, or waits. */
const requeueUncalled = (
  dependencies: SubmitDependencies,
  submission: Submission,
  { reason, forMs }: { reason: string; forMs: number },
) => {
  const isOutcomeUnknown = submission.open.outcomeUnknownSinceMs !== null
  const to = isOutcomeUnknown ? undefined : otherProvider(dependencies, submission, { reason, forMs })
  return requeue(dependencies, submission, { waitMs: to === undefined ? forMs : 0, isRefused: false, to })
}

const untilDeadline = async (
  { postgres, wakePoller }: SubmitDependencies,
  open: OpenTask,
): Promise<Submitted> => {
  await waitForDeadline(postgres, open)
  wakePoller(open.provider, open.taskId)
  return { kind: 'waiting' }
}

/** A removed provider that may have the job is waited for. Otherwise the dispatcher moves the task to another provider. */
const leaveRemovedProvider = async (dependencies: SubmitDependencies, open: OpenTask): Promise<Submitted> => {
  if (open.outcomeUnknownSinceMs !== null) return untilDeadline(dependencies, open)
  await returnToQueue(dependencies.postgres, open, { waitMs: 0, isRefused: false })
  dependencies.wakeDispatcher(open.provider)
  return { kind: 'stop' }
}

const handleFailure = async (
  dependencies: SubmitDependencies,
  submission: Submission,
  failure: ProviderFailure,
): Promise<Submitted> => {
  const { postgres, log } = dependencies
  const { open, provider, video } = submission
  log.info(
    { taskId: open.taskId, provider: provider.name, kind: failure.kind, err: failure },
    'submit.failed',
  )
  const waitMs = backoffMs(open.refusals, failure.retryAfterMs)
  // A refused repeat does not resolve the outcome of the first submit, so the task stays with its provider.
  const isOutcomeUnknown = open.outcomeUnknownSinceMs !== null
  switch (failure.kind) {
    case 'not_delivered':
    case 'busy':
    case 'unauthorized': {
      if (isOutcomeUnknown) return requeue(dependencies, submission, { waitMs, isRefused: false })
      const to = otherProvider(dependencies, submission, 'refused')
      return requeue(dependencies, submission, { waitMs: to === undefined ? waitMs : 0, isRefused: true, to })
    }
    case 'moderated':
    case 'rejected': {
      const code = failure.kind === 'moderated' ? 'content_policy_violation' : refusalCode(failure.code)
      // Any other code names a fault of the order. An upstream error is the provider's, and another may accept the task.
      const to =
        code === 'upstream_error' && !isOutcomeUnknown
          ? otherProvider(dependencies, submission, 'refused')
          : undefined
      if (to !== undefined && !open.tried.includes(to.provider)) {
        return requeue(dependencies, submission, { waitMs: 0, isRefused: true, to })
      }
      await repeatWhileUnavailable(
        () => recordOutcome(postgres, open.taskId, { kind: 'refused', code, message: '' }),
        log,
      )
      return { kind: 'outcome_known' }
    }
    case 'unknown':
      // Repeating the submit, or looking up the job, is safe later, but only at the provider that may have it.
      if (video.submitsAreIdempotent || video.lookup !== undefined) {
        return requeue(dependencies, submission, { waitMs, isRefused: false })
      }
      return untilDeadline(dependencies, open)
  }
}

/** Records the job that a provider accepted, and the attempt that created it. */
const recordJob = async (
  dependencies: SubmitDependencies,
  { open, task, provider, video }: Submission,
  upstream: Opaque,
  attempt: Attempt | undefined,
): Promise<Submitted> => {
  const { postgres, providers, records, jobDurations, log } = dependencies
  const { taskId, day } = open
  const firstPollMs = nextPollDelayMs(provider, 0, jobDurations.of(provider.name, task.model))
  const job = { taskId, day, provider: provider.name, upstream, firstPollMs, video, attempt }
  const { record, isDuplicate } = await repeatWhileUnavailable(() => records.recordJob(job), log)
  if (record === 'claimed_by_other') {
    // The job may show another customer's video. The provider cannot tell whether it has one for this task as well.
    log.error({ taskId, provider: provider.name }, 'job.of-another-task')
    const reason = 'the provider returned a job that belongs to another task'
    await recordJobFailures(postgres, [{ taskId, day, provider: provider.name, reason }])
    await recordOutcome(postgres, taskId, { kind: 'refused', code: 'upstream_error', message: '' })
    return { kind: 'outcome_known' }
  }
  if (isDuplicate) log.warn({ taskId, provider: provider.name }, 'job.duplicate')
  // The task was cancelled during the submit or has another job. This job can be cancelled only now.
  const hasEnded = record === 'not_recorded' && (await findTask(postgres, day, taskId))?.state === 'failed'
  if (hasEnded || isDuplicate) {
    await cancelJob(providers, provider.name, upstream).catch((error: unknown) =>
      log.warn({ err: error, taskId }, 'job.cancel-failed'),
    )
  }
  if (hasEnded) return { kind: 'stop' }
  dependencies.wakePoller(provider.name, taskId, firstPollMs)
  dependencies.announce([taskId])
  return { kind: 'waiting' }
}

/**
 * Resolves an unknown outcome at a provider that does not deduplicate submits. Returns `no_job` if the provider certainly
 * has no job, so that the task may be submitted again, and `outdated` if another execution has submitted it meanwhile.
 */
const resolveUnknownOutcome = async (
  dependencies: SubmitDependencies,
  submission: Submission,
  unknownSinceMs: number,
  signal: AbortSignal,
): Promise<Submitted | 'no_job' | 'outdated'> => {
  const { postgres, log } = dependencies
  const { open, video } = submission
  const outcomeUnknownMs = performance.now() - unknownSinceMs
  // Without a lookup only a webhook or the deadline can resolve it.
  if (video.lookup === undefined) return untilDeadline(dependencies, open)
  let job: Opaque | undefined
  try {
    job = await video.lookup(open.taskId, signal)
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    log.info({ err: error, taskId: open.taskId }, 'lookup.failed')
    const waitMs = backoffMs(open.submits, error.retryAfterMs)
    return requeue(dependencies, submission, { waitMs, isRefused: false })
  }
  if (job !== undefined) return recordJob(dependencies, submission, job, undefined)
  if (outcomeUnknownMs < lookupGraceMs) {
    return requeue(dependencies, submission, {
      waitMs: Math.min(10_000, outcomeUnknownMs + 1_000),
      isRefused: false,
    })
  }
  return (await clearOutcomeUnknown(postgres, open)) ? 'no_job' : 'outdated'
}

/** Calls the provider and records the result. Returns `outdated` if another execution has changed the record. */
const submitToProvider = async (
  dependencies: SubmitDependencies,
  given: Submission,
  limit: TimeLimit,
): Promise<Submitted | 'outdated'> => {
  const { postgres, records, router, stopping, record, log } = dependencies
  const { open, task, provider, video, upstreamModel, costMicros } = given
  let submission = given
  const exchanges: Exchange[] = []
  const startedAt = new Date()
  // After the permit, so that the failure of a probe is recognized.
  const startedMs = performance.now()
  const attempt = {
    taskId: open.taskId,
    day: open.day,
    provider: provider.name,
    upstreamModel,
    decision: open.decision,
    startedAt,
    isDuplicate: false,
    exchanges,
    failureReason: null,
  }
  try {
    const job = await jobOf(dependencies, task, submission)
    // The worker might end before the provider responds. Another one submits the task.
    stopping.throwIfAborted()
    if (!(await records.beginSubmit({ ...open, costMicros }))) {
      router.releaseProbe(provider.name, task.model)
      return 'outdated'
    }
    router.addCost(provider.name, costMicros ?? 0)
    submission = { ...given, open: { ...open, submits: open.submits + 1 } }
    const upstream = await withExchanges(
      (exchange) => exchanges.push(exchange),
      () => sendUntil(limit.endsMs, () => video.submit(job, limit.signal)),
    )
    router.report(provider.name, task.model, 'ok')
    return await record(() =>
      recordJob(dependencies, submission, upstream, { ...attempt, outcome: 'accepted' }),
    )
  } catch (error) {
    if (!(error instanceof ProviderFailure)) {
      router.releaseProbe(provider.name, task.model)
      throw error
    }
    const { isCutShort, signal } = limit
    const isLocal = error.isLocal || (isCutShort && signal.aborted)
    router.report(provider.name, task.model, error.kind, {
      retryAfterMs: error.retryAfterMs,
      startedMs,
      isLocal,
    })
    // Without these writes the next execution would not know whether the provider has a job.
    return record(async () => {
      await repeatWhileUnavailable(
        () => recordAttempts(postgres, [{ ...attempt, outcome: error.kind, failureReason: error.message }]),
        log,
      )
      return handleFailure(dependencies, submission, error)
    })
  }
}

/** Executes the step on the record as read; `outdated` if another execution changed it before the provider was called. */
const submitOnce = async (
  dependencies: SubmitDependencies,
  { open, task }: CurrentRun,
): Promise<Submitted | 'outdated'> => {
  const { postgres, providers, router } = dependencies
  const { taskId } = open
  if (open.outcome !== null || open.isOverdue) return { kind: 'outcome_known' }
  if (open.upstream !== null) {
    // An earlier execution, or a webhook, has recorded the job.
    if (open.stage !== 'waiting') await leaveToPollLoop(postgres, open, { waitMs: 0 })
    dependencies.wakePoller(open.provider, taskId)
    return { kind: 'waiting' }
  }
  if (needsEnhancing(task)) return { kind: 'needs_enhancing', open }

  const provider = providers.find(open.provider)
  if (provider === undefined) return leaveRemovedProvider(dependencies, open)
  const video = videoOf(provider)
  const route = router.routesOf(task.model).find((each) => each.provider.name === provider.name)
  let submission: Submission = {
    open,
    task,
    provider,
    video,
    upstreamModel: route?.upstreamModel ?? task.model,
    costMicros: costAt(route, task.order),
  }
  const limit = timeLimitOf(open, provider)

  if (open.outcomeUnknownSinceMs !== null && !video.submitsAreIdempotent) {
    const { outcomeUnknownSinceMs } = open
    const resolved = await resolveUnknownOutcome(
      dependencies,
      submission,
      outcomeUnknownSinceMs,
      limit.signal,
    )
    if (resolved !== 'no_job') return resolved
    submission = { ...submission, open: { ...open, outcomeUnknownSinceMs: null } }
  }
  // Another execution of this run has put the task back into the queue, or ended it.
  if (open.stage !== 'starting' && open.stage !== 'submitting') return { kind: 'stop' }
  const isOutcomeUnknown = submission.open.outcomeUnknownSinceMs !== null
  const isRetry = isOutcomeUnknown || open.tried.includes(provider.name)
  // A job that the provider may have already costs nothing more.
  const stop = isOutcomeUnknown ? undefined : router.stopAt(provider.name)
  if (stop !== undefined) {
    const forMs = Math.min(stop.forMs, stoppedWaitMs)
    return requeueUncalled(dependencies, submission, { reason: stop.reason, forMs })
  }
  const permit = await router.mayCall(provider.name, task.model, isRetry ? 'retry' : 'first')
  if (permit.kind === 'no') {
    return requeueUncalled(dependencies, submission, { reason: permit.reason, forMs: permit.retryAfterMs })
  }
  return submitToProvider(dependencies, submission, limit)
}

/**
 * An execution whose record is outdated reads it again, and finds the outcome of the other submit unknown or known.
 * `runStartedMs` is given if this is the first step of its run.
 */
export const submitVideo = async (
  dependencies: SubmitDependencies,
  taskId: string,
  run: number,
  runStartedMs?: number,
): Promise<Submitted> => {
  for (let startedMs = runStartedMs; ; startedMs = undefined) {
    const current = await dependencies.records.findCurrentRun({ taskId, run })
    if (current === undefined) return { kind: 'stop' }
    const submit = () => submitOnce(dependencies, current)
    const submitted = await traceStep('submit', current.open, startedMs, submit)
    if (submitted !== 'outdated') return submitted
  }
}
