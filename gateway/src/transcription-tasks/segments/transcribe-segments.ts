/**
 * The second step of a run: has pieces written down, several at once, and keeps each as soon as it is there. The step
 * ends after a few minutes and is done again until nothing is left, so a crash repeats what was under way and no more.
 */
import { Readable } from 'node:stream'

import { concurrencyLimitPerKey } from '../../platform/concurrency-limit.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { isTurnedAway, ProviderFailure } from '../../providers/port/failure.ts'
import { backoffMs } from '../../routing/full-jitter.ts'
import type { Route, Router } from '../../routing/route.ts'
import type { MediaStore } from '../../storage/media-store.ts'
import { isVerdict } from '../../storage/sandbox.ts'
import { heartbeat } from '../heartbeat.ts'
import { returnToQueue, touchRun } from '../open-transcription-store.ts'
import { findTranscription } from '../transcription-task-store.ts'
import { failed, type Failed, type TranscriptionTask } from '../transcription-task.ts'
import type { CutSegment } from './cut-segment.ts'
import { placedTranscript } from './merge-transcripts.ts'
import type { Worked } from './plan-segments.ts'
import { postponeSegment, recordTranscript, unfinishedSegments, type OpenSegment } from './segment-store.ts'

export interface TranscribeDependencies {
  postgres: Postgres
  mediaStore: MediaStore
  router: Router
  cutSegment: CutSegment
  log: Log
  wakeDispatcher: () => void
}

const segmentsOfTaskAtOnce = 4
const segmentsOfWorkerAtOnce = 8
/** How long pieces are begun in one step. With the longest piece it stays below what the engine gives a step. */
const stepMs = 120_000
const failuresMax = 3

const timeoutMsOf = ({ startMs, endMs }: OpenSegment) => Math.max(120_000, 2 * (endMs - startMs))

/** After an answer that may still have cost something, the provider is given time to recover. */
const pauseMsAfter = (failures: number) => 2_000 * 5 ** (failures - 1)

const enter = concurrencyLimitPerKey(segmentsOfWorkerAtOnce)

/** What became of a piece. */
type Tried = { kind: 'written' } | { kind: 'postponed' } | { kind: 'refused'; waitMs: number } | Failed

const failureOf = ({ kind, code, forCaller }: ProviderFailure): Failed => {
  if (kind === 'moderated') return failed('content_policy_violation')
  if (code === 'invalid_parameter') return failed('invalid_parameter', forCaller)
  return failed('upstream_error', forCaller)
}

const trySegment = async (
  { postgres, mediaStore, router, cutSegment, log }: TranscribeDependencies,
  task: TranscriptionTask & { recordingKey: string },
  segment: OpenSegment,
  stop: AbortSignal,
): Promise<Tried> => {
  const { order } = task
  let flac: Buffer
  try {
    flac = await mediaStore.withLocalPath(task.recordingKey, (path) => cutSegment(path, segment))
  } catch (error) {
    log.warn({ err: error, taskId: task.id, segment: segment.n }, 'segment.not-cut')
    if (isVerdict(error)) return failed('invalid_parameter', 'The recording could not be decoded.')
    throw error
  }
  const transcribe = async ({ provider, upstreamModel }: Route) => {
    if (provider.transcription === undefined) throw new ProviderFailure('rejected', 'it cannot transcribe')
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
        wantsSegments: order.hasSegments,
        wantsWords: false,
      },
      AbortSignal.any([stop, AbortSignal.timeout(timeoutMsOf(segment))]),
    )
  }
  try {
    const need = { capability: 'transcription' } as const
    const { answer } = await router.call(task.model, need, stop, transcribe)
    await recordTranscript(postgres, task, segment.n, placedTranscript(answer, segment))
    return { kind: 'written' }
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    // We hung up ourselves, and that says nothing about the provider.
    if (stop.aborted) return { kind: 'postponed' }
    log.warn({ err: error, taskId: task.id, segment: segment.n }, 'segment.not-transcribed')
    const isRefusal = isTurnedAway(error)
    if (isRefusal) {
      const waitMs = backoffMs(segment.refusals, error.retryAfterMs)
      await postponeSegment(postgres, task.id, segment.n, { isRefusal, waitMs })
      return { kind: 'refused', waitMs }
    }
    const failures = segment.failures + 1
    if (error.kind !== 'unknown' || failures >= failuresMax) return failureOf(error)
    await postponeSegment(postgres, task.id, segment.n, { isRefusal, waitMs: pauseMsAfter(failures) })
    return { kind: 'postponed' }
  }
}

const workThrough = async (
  dependencies: TranscribeDependencies,
  task: TranscriptionTask & { recordingKey: string },
  segments: OpenSegment[],
  over: AbortSignal,
): Promise<{ ending: Failed | undefined; written: number; waitMs: number }> => {
  const due = segments.filter(({ waitMs }) => waitMs <= 0)
  const isTimeUp = AbortSignal.timeout(stepMs)
  const failing = new AbortController()
  const stop = AbortSignal.any([over, failing.signal])
  const result = { ending: undefined as Failed | undefined, written: 0, waitMs: 0 }
  const lane = async () => {
    for (let next = due.shift(); next !== undefined; next = due.shift()) {
      const leave = await enter('segment', AbortSignal.any([stop, isTimeUp])).catch(() => undefined)
      if (leave === undefined) return
      try {
        if (stop.aborted || isTimeUp.aborted) return
        const tried = await trySegment(dependencies, task, next, stop)
        if (tried.kind === 'written') result.written += 1
        else if (tried.kind === 'failed') {
          result.ending ??= tried
          // One piece that cannot be had makes the others worthless.
          failing.abort()
        } else if (tried.kind === 'refused') {
          // A provider that has no time for one more is asked for less at once.
          result.waitMs = Math.max(result.waitMs, tried.waitMs)
          return
        }
      } finally {
        leave()
      }
    }
  }
  // Whatever goes wrong in one, none is left at work when the step ends.
  const lanes = await Promise.allSettled(Array.from({ length: segmentsOfTaskAtOnce }, lane))
  for (const ended of lanes) if (ended.status === 'rejected') throw ended.reason
  return result
}

export const transcribeSegments = async (
  dependencies: TranscribeDependencies,
  taskId: string,
  run: number,
): Promise<Worked> => {
  const { postgres, wakeDispatcher } = dependencies
  const open = await touchRun(postgres, taskId, run)
  const task = open && (await findTranscription(postgres, open.day, taskId))
  if (open === undefined || task === undefined || task.recordingKey === null) return { kind: 'over' }
  const { recordingKey } = task
  const segments = await unfinishedSegments(postgres, taskId)
  if (segments.length === 0) return { kind: 'completed' }
  if (open.isOverdue) return failed('task_timeout')
  return heartbeat(dependencies, taskId, run, async (over) => {
    const result = await workThrough(dependencies, { ...task, recordingKey }, segments, over)
    if (over.aborted) return { kind: 'over' }
    if (result.ending !== undefined) return result.ending
    const left = await unfinishedSegments(postgres, taskId)
    const waitMs =
      result.written === 0 && result.waitMs > 0
        ? result.waitMs
        : Math.min(...left.map((segment) => segment.waitMs))
    if (left.length === 0 || waitMs <= 0) return { kind: 'more' }
    await returnToQueue(postgres, taskId, run, waitMs)
    wakeDispatcher()
    return { kind: 'over' }
  })
}
