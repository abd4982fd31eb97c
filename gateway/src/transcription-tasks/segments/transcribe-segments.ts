/**
 * The second step of a run: transcribes several segments concurrently and stores each transcript immediately. The step
 * ends after a few minutes and is repeated until no segment is left, so a crash only repeats the segments in progress.
 */
import { Readable } from 'node:stream'

import { costOf } from '../../billing/prices/price.ts'
import { concurrencyLimitPerKey } from '../../platform/concurrency-limit.ts'
import type { Run } from '../../platform/engine/run-key.ts'
import type { Log } from '../../platform/log.ts'
import { count } from '../../platform/metrics/metrics.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { isRetryable, ProviderFailure } from '../../providers/port/failure.ts'
import { backoffMs } from '../../routing/backoff.ts'
import type { CompareDurations } from '../../routing/compare-durations.ts'
import type { Route, Router } from '../../routing/route.ts'
import type { MediaStore } from '../../storage/port/media-store.ts'
import { isInvalidFileError } from '../../storage/sandbox.ts'
import { returnToQueue } from '../../tasks/queue-store.ts'
import { beginStep } from '../../tasks/run-store.ts'
import { whileCurrent } from '../../tasks/while-current.ts'
import { findTranscription } from '../transcription-task-store.ts'
import {
  checkEveryMs,
  failed,
  transcriptionTables as tables,
  type Failed,
  type TranscriptionTask,
} from '../transcription-task.ts'
import type { CutSegment } from './cut-segment.ts'
import { placedTranscript } from './merge-transcripts.ts'
import type { StepResult } from './plan-segments.ts'
import { postponeSegment, recordTranscript, unfinishedSegments, type OpenSegment } from './segment-store.ts'

export interface TranscribeDependencies {
  postgres: Postgres
  mediaStore: MediaStore
  router: Router
  cutSegment: CutSegment
  compareDurations: CompareDurations
  log: Log
  wakeDispatcher: () => void
  /** Aborted when this worker begins to stop. */
  stopping: AbortSignal
}

const concurrencyPerTask = 4
const concurrencyPerWorker = 8
/** How long one step starts segments. Together with the longest segment this is below the engine's step timeout. */
const stepMs = 120_000
const failuresMax = 3

const timeoutMsOf = ({ startMs, endMs }: OpenSegment) => Math.max(120_000, 2 * (endMs - startMs))

/** The backoff after a failed request that the provider may have charged for. */
const pauseMsAfter = (failures: number) => 2_000 * 5 ** (failures - 1)

const acquireSlot = concurrencyLimitPerKey(concurrencyPerWorker)

type SegmentResult =
  | { kind: 'transcribed' }
  | { kind: 'postponed' }
  | { kind: 'refused'; waitMs: number }
  | Failed

const endingOf = ({ kind, code, forCaller }: ProviderFailure): Failed => {
  if (kind === 'moderated') return failed('content_policy_violation')
  if (code === 'invalid_parameter') return failed('invalid_parameter', forCaller)
  return failed('upstream_error', forCaller)
}

const trySegment = async (
  { postgres, router, cutSegment, compareDurations, log }: TranscribeDependencies,
  task: TranscriptionTask,
  recordingPath: string,
  segment: OpenSegment,
  stop: AbortSignal,
): Promise<SegmentResult> => {
  const { order } = task
  let flac: Buffer
  try {
    flac = await cutSegment(recordingPath, segment)
  } catch (error) {
    log.warn({ err: error, taskId: task.id, segment: segment.n }, 'segment.not-cut')
    if (isInvalidFileError(error)) return failed('invalid_parameter', 'The recording could not be decoded.')
    throw error
  }
  let called: string | null = null
  const transcribe = async ({ provider, upstreamModel }: Route) => {
    called = provider.name
    if (provider.transcription === undefined)
      throw new ProviderFailure('rejected', 'the provider has no transcription capability')
    return provider.transcription.transcribe(
      {
        model: upstreamModel,
        task: order.task,
        file: {
          filename: 'recording.flac',
          contentType: 'audio/flac',
          sizeBytes: flac.length,
          open: async () => Readable.from([flac]),
        },
        language: order.language,
        prompt: order.prompt,
        temperature: order.temperature,
        wantsSegments: order.hasTimestamps,
        wantsWords: false,
      },
      AbortSignal.any([stop, AbortSignal.timeout(timeoutMsOf(segment))]),
    )
  }
  try {
    const requirements = { capability: 'transcription' } as const
    const { answer, route } = await router.call(task.model, requirements, stop, transcribe)
    const measuredSeconds = (segment.endMs - segment.startMs) / 1000
    compareDurations({
      ...{ provider: route.provider.name, model: task.model, id: task.id },
      ...{ measuredSeconds, reportedSeconds: answer.durationSeconds },
    })
    const work = { counted: { minute: measuredSeconds } }
    await recordTranscript(postgres, task, segment.n, placedTranscript(answer, segment), {
      provider: route.provider.name,
      costMicros: costOf(route.costs, work),
    })
    return { kind: 'transcribed' }
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    // We aborted the request, so this is not a failure of the provider.
    if (stop.aborted) return { kind: 'postponed' }
    log.warn({ err: error, taskId: task.id, segment: segment.n }, 'segment.not-transcribed')
    count('kinora.task.retries', { kind: 'transcription', stage: 'segment' })
    const isRefusal = isRetryable(error)
    const failure = { provider: called, kind: error.kind, reason: error.message }
    if (isRefusal) {
      const waitMs = backoffMs(segment.refusals, error.retryAfterMs)
      await postponeSegment(postgres, task.id, segment.n, { isRefusal, waitMs, failure })
      return { kind: 'refused', waitMs }
    }
    const failures = segment.failures + 1
    if (error.kind !== 'unknown' || failures >= failuresMax) return { ...endingOf(error), failure }
    const waitMs = pauseMsAfter(failures)
    await postponeSegment(postgres, task.id, segment.n, { isRefusal, waitMs, failure })
    return { kind: 'postponed' }
  }
}

const transcribeDue = async (
  dependencies: TranscribeDependencies,
  task: TranscriptionTask,
  recordingPath: string,
  segments: OpenSegment[],
  superseded: AbortSignal,
): Promise<{ ending: Failed | undefined; transcribed: number; waitMs: number }> => {
  const due = segments.filter(({ waitMs }) => waitMs <= 0)
  // From then on no segment is started, and those in progress are finished.
  const isOver = AbortSignal.any([AbortSignal.timeout(stepMs), dependencies.stopping])
  const failing = new AbortController()
  const stop = AbortSignal.any([superseded, failing.signal])
  const result = { ending: undefined as Failed | undefined, transcribed: 0, waitMs: 0 }
  const lane = async () => {
    for (let next = due.shift(); next !== undefined; next = due.shift()) {
      const release = await acquireSlot('segment', AbortSignal.any([stop, isOver])).catch(() => undefined)
      if (release === undefined) return
      try {
        if (stop.aborted || isOver.aborted) return
        const outcome = await trySegment(dependencies, task, recordingPath, next, stop)
        if (outcome.kind === 'transcribed') result.transcribed += 1
        else if (outcome.kind === 'failed') {
          result.ending ??= outcome
          // The task fails, so the other segments are no longer needed.
          failing.abort()
        } else if (outcome.kind === 'refused') {
          // Ending this lane reduces the concurrency for an overloaded provider.
          result.waitMs = Math.max(result.waitMs, outcome.waitMs)
          return
        }
      } finally {
        release()
      }
    }
  }
  // Waits for all lanes even if one fails, so that none is still running when the step ends.
  const lanes = await Promise.allSettled(Array.from({ length: concurrencyPerTask }, lane))
  for (const ended of lanes) if (ended.status === 'rejected') throw ended.reason
  return result
}

export const transcribeSegments = async (
  dependencies: TranscribeDependencies,
  run: Run,
): Promise<StepResult> => {
  const { postgres, mediaStore, log, wakeDispatcher } = dependencies
  const { taskId } = run
  const open = await beginStep(postgres, tables, run)
  const task = open && (await findTranscription(postgres, open.day, taskId))
  if (open === undefined || task === undefined || task.recordingKey === null) return { kind: 'stop' }
  const { recordingKey } = task
  const segments = await unfinishedSegments(postgres, taskId)
  if (segments.length === 0) return { kind: 'completed' }
  if (open.isOverdue) return failed('task_timeout')
  return whileCurrent({ postgres, log, tables }, run, { checkEveryMs }, async (superseded) => {
    // One local copy for all segments, because a recording in a bucket is downloaded for it.
    const transcribe = (path: string) => transcribeDue(dependencies, task, path, segments, superseded)
    const result = await mediaStore
      .withLocalPath(recordingKey, transcribe, { signal: superseded })
      .catch((error: unknown) => {
        if (superseded.aborted) return undefined
        throw error
      })
    if (result === undefined || superseded.aborted) return { kind: 'stop' }
    if (result.ending !== undefined) return result.ending
    const left = await unfinishedSegments(postgres, taskId)
    const waitMs =
      result.transcribed === 0 && result.waitMs > 0
        ? result.waitMs
        : Math.min(...left.map((segment) => segment.waitMs))
    if (left.length === 0 || waitMs <= 0) return { kind: 'repeat' }
    await returnToQueue(postgres, tables, run, waitMs)
    wakeDispatcher()
    return { kind: 'stop' }
  })
}
