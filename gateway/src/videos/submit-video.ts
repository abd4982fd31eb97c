/**
 * The first step of a run: gives the job to its provider, at most once as far as the protocol allows. The
 * record is asked first, because a step may run again after a crash, and so may a whole run.
 */
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import { ProviderFailure } from '../providers/port/failure.ts'
import type { Provider, Providers } from '../providers/port/provider.ts'
import type { Opaque, ReferencePicture, SourceVideo, VideoJob } from '../providers/port/video.ts'
import type { MediaStore } from '../storage/media-store.ts'
import { findStoredFile, referencesOfTask, type StoredFile } from '../storage/stored-file-store.ts'
import { stopUpstream } from './discard-upstream.ts'
import { needsEnhancing } from './enhance-prompt.ts'
import {
  beginSubmit,
  recordOutcome,
  recordSubmitted,
  returnToLine,
  touchRun,
  waitOut,
  type OpenTask,
} from './open-task-store.ts'
import { dayOfTaskId } from './task-id.ts'
import { findMaker, findTask, markProcessing } from './task-store.ts'
import type { Outcome, VideoTask } from './task.ts'

export interface SubmitDependencies {
  postgres: Postgres
  providers: Providers
  mediaStore: MediaStore
  log: Log
  nudgeDispatcher: (provider: string) => void
  nudgeWatch: (provider: string, taskId: string) => void
  /** Tells watchers that there is something new to read of these tasks. */
  announce: (taskIds: string[]) => void
  /** The portraits of these characters; of one that is gone there is none. */
  portraitsOf: (characterIds: string[]) => Promise<Map<string, StoredFile>>
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

const submitTimeoutMs = 60_000
const backoffMsMax = 60_000

const backoffMs = (refusals: number, retryAfterMs: number | undefined) =>
  Math.min(backoffMsMax, Math.max(retryAfterMs ?? 0, 500 * 2 ** refusals * (0.5 + Math.random() / 2)))

const readable = (mediaStore: MediaStore, file: StoredFile): ReferencePicture => ({
  contentType: file.contentType,
  sizeBytes: file.sizeBytes,
  open: async () => {
    const stream = await mediaStore.open(file.storageKey)
    if (stream === undefined) throw new ProviderFailure('rejected', `${file.kind} ${file.id} is missing`)
    return stream
  },
})

/** The video a remix is made from; the provider that made it is also told which job of its own that was. */
const sourceOf = async (
  { postgres, mediaStore }: SubmitDependencies,
  { provider, order: { remixOf } }: VideoTask,
): Promise<SourceVideo | undefined> => {
  if (remixOf === undefined) return undefined
  const file = await findStoredFile(postgres, remixOf.mediaId)
  if (file === undefined) throw new ProviderFailure('rejected', `source ${remixOf.mediaId} is missing`)
  const maker = await findMaker(postgres, dayOfTaskId(remixOf.taskId) ?? '', remixOf.taskId)
  const isSameMaker = maker?.provider === provider && maker.upstream !== null
  return { ...readable(mediaStore, file), ref: isSameMaker ? (maker.upstream as Opaque) : undefined }
}

/** Each with its portrait. One that was deleted since stays a name in the prompt. */
const charactersOf = async (
  { mediaStore, portraitsOf }: SubmitDependencies,
  { order: { characters = [] } }: VideoTask,
): Promise<VideoJob['characters']> => {
  if (characters.length === 0) return []
  const portraits = await portraitsOf(characters.map(({ id }) => id))
  return characters.flatMap(({ id, username }) => {
    const portrait = portraits.get(id)
    return portrait === undefined ? [] : { username, picture: readable(mediaStore, portrait) }
  })
}

const jobOf = async (dependencies: SubmitDependencies, task: VideoTask): Promise<VideoJob> => {
  const { postgres, mediaStore, providers } = dependencies
  const references = await referencesOfTask(postgres, task.id)
  const { seconds, width, height, watermark, isPrivate, style, referenceMode } = task.order
  return {
    seconds,
    width,
    height,
    watermark,
    isPrivate,
    taskId: task.id,
    model: providers.forModel(task.model).upstreamModel,
    prompt: task.enhancedPrompt,
    style,
    references: references.map((file) => readable(mediaStore, file)),
    referenceMode,
    source: await sourceOf(dependencies, task),
    characters: await charactersOf(dependencies, task),
  }
}

const waiting = (open: OpenTask): Submitted => ({
  kind: 'waiting',
  remainingMs: Math.max(0, open.deadlineAt.getTime() - Date.now()),
})

/** What a failed submit means for the task. */
const takeFailure = async (
  dependencies: SubmitDependencies,
  open: OpenTask,
  provider: Provider,
  failure: ProviderFailure,
): Promise<Submitted> => {
  const { postgres, log } = dependencies
  log.info(
    { taskId: open.taskId, provider: provider.name, kind: failure.kind, err: failure },
    'submit.failed',
  )
  switch (failure.kind) {
    case 'not_delivered':
    case 'busy':
      await returnToLine(postgres, open.taskId, open.run, backoffMs(open.refusals, failure.retryAfterMs))
      dependencies.nudgeDispatcher(provider.name)
      return { kind: 'over' }
    case 'moderated':
    case 'rejected': {
      const code = failure.kind === 'moderated' ? 'content_policy_violation' : refusalCode(failure.code)
      await recordOutcome(postgres, open.taskId, { kind: 'refused', code, message: '' })
      return { kind: 'known' }
    }
    case 'unknown':
      // The engine tries this step again: the provider answers a repeat with the job it has, or can be asked for it.
      if (provider.video.submitsAreIdempotent || provider.video.lookup !== undefined) throw failure
      await waitOut(postgres, open.taskId, open.run)
      return waiting(open)
  }
}

const refusalCode = (code: string | undefined): Extract<Outcome, { kind: 'refused' }>['code'] =>
  code === 'invalid_image' || code === 'invalid_parameter' || code === 'content_policy_violation'
    ? code
    : 'upstream_error'

export const submitVideo = async (
  dependencies: SubmitDependencies,
  taskId: string,
  run: number,
  awakeable: string,
): Promise<Submitted> => {
  const { postgres, providers } = dependencies
  const open = await touchRun(postgres, taskId, run, { awakeable })
  if (open === undefined) return { kind: 'over' }
  if (open.outcome !== null || open.isOverdue) return { kind: 'known' }
  if (open.upstream !== null) return waiting(open)
  const task = await findTask(postgres, open.day, taskId)
  if (task === undefined) return { kind: 'over' }
  if (needsEnhancing(task)) return { kind: 'unenhanced' }

  const provider = providers.get(open.provider)
  const accept = async (upstream: Opaque) => {
    const isRecorded = await postgres.transaction(async (database) => {
      const isFirst = await recordSubmitted(database, taskId, upstream, provider.checkEveryMs.least)
      await markProcessing(database, open.day, taskId)
      return isFirst
    })
    // Cancelled while it was being submitted: nobody could tell the provider to stop before now.
    if (!isRecorded && (await findTask(postgres, open.day, taskId))?.state === 'failed') {
      await stopUpstream(providers, provider.name, upstream).catch((error: unknown) =>
        dependencies.log.warn({ err: error, taskId }, 'video.not-stopped'),
      )
      return { kind: 'over' } as const
    }
    dependencies.nudgeWatch(provider.name, taskId)
    dependencies.announce([taskId])
    return waiting(open)
  }
  if (open.submits > 0 && !provider.video.submitsAreIdempotent) {
    // An earlier submit may have arrived. Where the provider cannot tell, only its deadline can.
    if (provider.video.lookup === undefined) {
      await waitOut(postgres, taskId, run)
      return waiting(open)
    }
    const earlier = await provider.video.lookup(taskId, AbortSignal.timeout(submitTimeoutMs))
    if (earlier !== undefined) return accept(earlier)
    throw new ProviderFailure('unknown', 'the provider does not know of the job yet')
  }
  try {
    const job = await jobOf(dependencies, task)
    if (!(await beginSubmit(postgres, taskId, run))) return { kind: 'over' }
    return await accept(await provider.video.submit(job, AbortSignal.timeout(submitTimeoutMs)))
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    return takeFailure(dependencies, open, provider, error)
  }
}
