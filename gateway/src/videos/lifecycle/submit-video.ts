/**
 * The first step of a run: gives the job to its provider, at most once as far as the protocol allows. The
 * record is asked first, because a step may run again after a crash, and so may a whole run.
 */
import type { Log } from '../../platform/log.ts'
import { withExchanges, type Exchange } from '../../providers/port/exchange.ts'
import { ProviderFailure } from '../../providers/port/failure.ts'
import { videoOf, type Provider, type Providers } from '../../providers/port/provider.ts'
import type { Opaque, VideoProvider } from '../../providers/port/video.ts'
import { backoffMs } from '../../routing/backoff.ts'
import type { Decision, Router } from '../../routing/route.ts'
import {
  beginSubmit,
  findUpstream,
  clearOutcomeUnknown,
  recordAttempt,
  recordJobFailures,
  recordOutcome,
  recordSubmitted,
  returnToQueue,
  touchRun,
  waitOut,
  type Attempt,
  type Requeued,
  type OpenTask,
} from '../open-task-store.ts'
import type { JobDurations } from '../polling/job-durations.ts'
import { nextLookMs } from '../polling/poll-schedule.ts'
import { needsEnhancing } from '../prompts/enhance-prompt.ts'
import { findTask, markProcessing } from '../task-store.ts'
import type { Outcome, VideoTask } from '../task.ts'
import { requirementsOf } from '../video-requirements.ts'
import { stopUpstream } from './discard-job.ts'
import { jobOf, type JobDependencies } from './job-of-task.ts'
import { isSameJob } from './same-job.ts'

export interface SubmitDependencies extends JobDependencies {
  providers: Providers
  router: Router
  log: Log
  wakeDispatcher: (provider: string) => void
  wakePoller: (provider: string, taskId: string) => void
  /** Tells watchers that there is something new to read of these tasks. */
  announce: (taskIds: string[]) => void
  pace: Pick<JobDurations, 'of'>
}

/**
 * `over`: this run has nothing more to do · `unenhanced`: its prompt is to be rewritten first · `known`: how it ends
 * is in the record · `waiting`: news will come.
 */
export type Submitted =
  | { kind: 'over' }
  | { kind: 'unenhanced' }
  | { kind: 'known' }
  | { kind: 'waiting'; remainingMs: number }

// A provider that can be asked for a job by our id may show it a little later than it took it.
const lookupGraceMs = 120_000

const waiting = (open: OpenTask): Submitted => ({
  kind: 'waiting',
  remainingMs: Math.max(0, open.deadlineAt.getTime() - Date.now()),
})

const refusalCode = (code: string | undefined): Extract<Outcome, { kind: 'refused' }>['code'] =>
  code === 'invalid_image' || code === 'invalid_parameter' || code === 'content_policy_violation'
    ? code
    : 'upstream_error'

/** One try to hand a task to the provider it is with. */
interface Try {
  open: OpenTask
  task: VideoTask
  provider: Provider
  video: VideoProvider
  upstreamModel: string
}

/** Where else it may go, now that its provider has turned it away; undefined where nowhere else is better. */
const elsewhere = (
  { router }: SubmitDependencies,
  { open, task, provider }: Try,
): { provider: string; shards: number; decision: Decision } | undefined => {
  const tried = [...open.tried, provider.name]
  const chosen = router.choose(task.model, { ...requirementsOf(task.order, provider.name), tried })
  if (chosen === undefined || chosen.route.provider.name === provider.name) return undefined
  const { name, shards } = chosen.route.provider
  return { provider: name, shards, decision: chosen.decision }
}

const requeued = async (dependencies: SubmitDependencies, { open }: Try, back: Requeued) => {
  await returnToQueue(dependencies.postgres, open, back)
  dependencies.wakeDispatcher(back.to?.provider ?? open.provider)
  return { kind: 'over' } as const
}

/** What a failed submit means for the task. */
const takeFailure = async (
  dependencies: SubmitDependencies,
  given: Try,
  failure: ProviderFailure,
): Promise<Submitted> => {
  const { postgres, log } = dependencies
  const { open, provider, video } = given
  log.info(
    { taskId: open.taskId, provider: provider.name, kind: failure.kind, err: failure },
    'submit.failed',
  )
  const waitMs = backoffMs(open.refusals, failure.retryAfterMs)
  // Turning a repeat away says nothing of what became of the first: only the provider that may have it can tell.
  const isOutcomeUnknown = open.outcomeUnknownSince !== null
  switch (failure.kind) {
    case 'not_delivered':
    case 'busy':
    case 'unauthorized': {
      if (isOutcomeUnknown) return requeued(dependencies, given, { waitMs, turnedAway: false })
      const to = elsewhere(dependencies, given)
      return requeued(dependencies, given, { waitMs: to === undefined ? waitMs : 0, turnedAway: true, to })
    }
    case 'moderated':
    case 'rejected': {
      const code = failure.kind === 'moderated' ? 'content_policy_violation' : refusalCode(failure.code)
      // The provider has something against us, not against the order: another may well take it.
      const to = code === 'upstream_error' && !isOutcomeUnknown ? elsewhere(dependencies, given) : undefined
      if (to !== undefined && !open.tried.includes(to.provider)) {
        return requeued(dependencies, given, { waitMs: 0, turnedAway: true, to })
      }
      await recordOutcome(postgres, open.taskId, { kind: 'refused', code, message: '' })
      return { kind: 'known' }
    }
    case 'unknown':
      // A repeat is recognised, or the job can be asked for: both later, and only by the provider that may have it.
      if (video.submitsAreIdempotent || video.lookup !== undefined) {
        return requeued(dependencies, given, { waitMs, turnedAway: false })
      }
      await waitOut(postgres, open.taskId, open.run)
      return waiting(open)
  }
}

/** Keeps what a provider has taken, and what it took it took for. */
const accept = async (
  dependencies: SubmitDependencies,
  { open, task, provider, video }: Try,
  upstream: Opaque,
  attempt: Attempt | undefined,
): Promise<Submitted> => {
  const { postgres, providers, pace, log } = dependencies
  const { taskId, day } = open
  const firstPollMs = nextLookMs(provider, 0, pace.of(provider.name, task.model))
  const { recorded, isDuplicate } = await postgres.transaction(async (database) => {
    const recorded = await recordSubmitted(database, open, upstream, firstPollMs)
    if (recorded !== "another's") await markProcessing(database, day, taskId)
    const known = recorded === 'known' ? await findUpstream(database, taskId) : undefined
    const isDuplicate = known !== undefined && !isSameJob(video, known as Opaque, upstream)
    if (attempt !== undefined) await recordAttempt(database, { ...attempt, isDuplicate })
    return { recorded, isDuplicate }
  })
  if (recorded === "another's") {
    // What the provider made for somebody else is nobody's here; whether it has ours too, it cannot tell.
    log.error({ taskId, provider: provider.name }, 'job.of-another-task')
    const reason = 'the provider answered with a job that it had taken for another task'
    await recordJobFailures(postgres, [{ taskId, day, provider: provider.name, reason }])
    await recordOutcome(postgres, taskId, { kind: 'refused', code: 'upstream_error', message: '' })
    return { kind: 'known' }
  }
  if (isDuplicate) log.warn({ taskId, provider: provider.name }, 'job.duplicate')
  // Cancelled while it was being submitted, or there is one already: nobody could tell the provider to stop before now.
  const isOver = recorded === 'known' && (await findTask(postgres, day, taskId))?.state === 'failed'
  if (isOver || isDuplicate) {
    await stopUpstream(providers, provider.name, upstream).catch((error: unknown) =>
      log.warn({ err: error, taskId }, 'video.not-stopped'),
    )
  }
  if (isOver) return { kind: 'over' }
  dependencies.wakePoller(provider.name, taskId)
  dependencies.announce([taskId])
  return waiting(open)
}

/** Asks a provider that does not recognise a repeat whether it has the job. Undefined where it certainly has not. */
const findOutcomeUnknown = async (dependencies: SubmitDependencies, given: Try, signal: AbortSignal) => {
  const { postgres, log } = dependencies
  const { open, video } = given
  const outcomeUnknownMs = Date.now() - (open.outcomeUnknownSince?.getTime() ?? Date.now())
  // Where the provider cannot tell, only its deadline can, or its own news.
  if (video.lookup === undefined) {
    await waitOut(postgres, open.taskId, open.run)
    return waiting(open)
  }
  let earlier: Opaque | undefined
  try {
    earlier = await video.lookup(open.taskId, signal)
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    log.info({ err: error, taskId: open.taskId }, 'lookup.failed')
    const waitMs = backoffMs(open.submits, error.retryAfterMs)
    return requeued(dependencies, given, { waitMs, turnedAway: false })
  }
  if (earlier !== undefined) return accept(dependencies, given, earlier, undefined)
  if (outcomeUnknownMs < lookupGraceMs) {
    return requeued(dependencies, given, {
      waitMs: Math.min(10_000, outcomeUnknownMs + 1_000),
      turnedAway: false,
    })
  }
  await clearOutcomeUnknown(postgres, open.taskId, open.run)
  return undefined
}

/** Asks the provider, and keeps what was said. */
const ask = async (dependencies: SubmitDependencies, given: Try, signal: AbortSignal): Promise<Submitted> => {
  const { postgres, router } = dependencies
  const { open, task, provider, video, upstreamModel } = given
  const exchanges: Exchange[] = []
  const startedAt = new Date()
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
    const job = await jobOf(dependencies, task, given)
    if (!(await beginSubmit(postgres, open.taskId, open.run))) {
      router.releaseProbe(provider.name, task.model)
      return { kind: 'over' }
    }
    const upstream = await withExchanges(
      (exchange) => exchanges.push(exchange),
      () => video.submit(job, signal),
    )
    router.report(provider.name, task.model, 'ok')
    return await accept(dependencies, given, upstream, { ...attempt, outcome: 'accepted' })
  } catch (error) {
    if (!(error instanceof ProviderFailure)) {
      router.releaseProbe(provider.name, task.model)
      throw error
    }
    router.report(provider.name, task.model, error.kind, error.retryAfterMs)
    await recordAttempt(postgres, { ...attempt, outcome: error.kind, failureReason: error.message })
    return takeFailure(dependencies, given, error)
  }
}

export const submitVideo = async (
  dependencies: SubmitDependencies,
  taskId: string,
  run: number,
  awakeable: string,
): Promise<Submitted> => {
  const { postgres, providers, router } = dependencies
  const open = await touchRun(postgres, taskId, run, { awakeable })
  if (open === undefined) return { kind: 'over' }
  if (open.outcome !== null || open.isOverdue) return { kind: 'known' }
  if (open.upstream !== null) return waiting(open)
  const task = await findTask(postgres, open.day, taskId)
  if (task === undefined) return { kind: 'over' }
  if (needsEnhancing(task)) return { kind: 'unenhanced' }

  const provider = providers.get(open.provider)
  const video = videoOf(provider)
  const route = router.routesOf(task.model).find((each) => each.provider.name === provider.name)
  let given: Try = { open, task, provider, video, upstreamModel: route?.upstreamModel ?? task.model }
  const remainingMs = Math.max(1, open.deadlineAt.getTime() - Date.now())
  const signal = AbortSignal.timeout(Math.min(provider.timeoutsMs.submit, remainingMs))

  if (open.outcomeUnknownSince !== null && !video.submitsAreIdempotent) {
    const found = await findOutcomeUnknown(dependencies, given, signal)
    if (found !== undefined) return found
    given = { ...given, open: { ...open, outcomeUnknownSince: null } }
  }
  const isOutcomeUnknown = given.open.outcomeUnknownSince !== null
  const isRetry = isOutcomeUnknown || open.tried.includes(provider.name)
  const leave = await router.mayCall(provider.name, task.model, isRetry ? 'retry' : 'first')
  if (leave.kind === 'yes') return ask(dependencies, given, signal)
  const to = isOutcomeUnknown ? undefined : elsewhere(dependencies, given)
  const waitMs = to === undefined ? leave.retryAfterMs : 0
  return requeued(dependencies, given, { waitMs, turnedAway: false, to })
}
