/**
 * Makes characters: finds the video, cuts the clip and the portrait out of it, stores both. A video from a URL is
 * downloaded first, so that the media work is the cutting alone. It takes seconds, and a caller waits for no longer
 * than a minute. A character for the library is then finished all the same, and the same request, in this process or
 * another, gets the one that was made. It is aborted when every client that waits for it has disconnected.
 */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'

import { ApiError } from '@kinora/contract/errors'

import type { Call } from '../http/call.ts'
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import { createSharedWork } from '../platform/shared-work.ts'
import { uuidV7 } from '../platform/uuid.ts'
import { SafeFetchError, type SafeFetch } from '../safe-fetch/safe-fetch.ts'
import type { FindLinkedFile } from '../storage/find-linked-file.ts'
import type { MediaStore } from '../storage/media-store.ts'
import { createProbeVideo } from '../storage/probe-video.ts'
import { createSandbox } from '../storage/sandbox.ts'
import { findStoredFile, type StoredFile } from '../storage/stored-file-store.ts'
import type { ReadTask } from '../videos/api/read-task.ts'
import { mediaIdOf } from '../videos/api/source-task.ts'
import { dayOfTaskId } from '../videos/task-id.ts'
import { findTask } from '../videos/task-store.ts'
import { findCharacterFrom, insertCharacter, isUsernameTaken } from './character-store.ts'
import {
  createUsername,
  parseSpan,
  spanSeconds,
  type BuiltCharacter,
  type Span,
  type StoredCharacter,
} from './character.ts'
import { clipBytesMax, cutClip, portraitSide, type CutClip, type CutTools } from './cut-clip.ts'

export interface MakerDependencies {
  postgres: Postgres
  mediaStore: MediaStore
  safeFetch: SafeFetch
  findLinkedFile: FindLinkedFile
  readTask: ReadTask
  ffmpegPath: string
  ffprobePath: string
  /** How long a caller waits. */
  patienceMs: number
  diskSpace: { assertFree: (neededBytes?: number) => Promise<void> }
  log: Log
}

/** What a caller asks to make a character of, and what its parameters are called where they were given. */
interface CharacterRequest {
  accountId: string
  url: string | undefined
  fromTask: string | undefined
  timestamps: string | undefined
  params: { url: string; fromTask: string; timestamps: string }
}

/** The call that a character is made for. */
type MediaCall = Pick<Call, 'signal' | 'mediaWork' | 'mediaFetch'>

/** A video to cut from. The key is the same whenever the video is. */
interface Source {
  key: string
  param: string
  isPrivate: boolean
  video: StoredFile | { url: string }
}

export interface CharacterMaker {
  /**
   * Refuses what cannot be made. The clip is cut and dropped again, unless the character is there already. A caller
   * who could not pay has no work done for them and gets the 402 that the real request would meet.
   */
  check: (
    request: CharacterRequest,
    call: MediaCall & Pick<Call, 'findInsolvency'>,
  ) => Promise<ApiError | undefined>
  /** The character of the library that this request leads to, made now unless it is there already. */
  forLibrary: (request: CharacterRequest, call: MediaCall) => Promise<StoredCharacter>
  /** A character that is in no library; who asked for it notes it, or discards it. */
  forOneTask: (request: CharacterRequest, call: MediaCall) => Promise<BuiltCharacter>
  discard: (built: BuiltCharacter) => Promise<void>
}

const sourceBytesMax = 200 * 1_000_000
const workTimeoutMs = 300_000
const namesTried = 5
const retryAfterSeconds = '10'

const invalid = (param: string, message: string, cause?: unknown) =>
  new ApiError('invalid_parameter', { param, message, ...(cause !== undefined && { cause }) })

const unavailable = (message: string, cause?: unknown) =>
  new ApiError('service_unavailable', {
    message,
    headers: { 'retry-after': retryAfterSeconds },
    ...(cause !== undefined && { cause }),
  })

const spanOf = ({ timestamps, params }: CharacterRequest): Span | undefined => {
  if (timestamps === undefined) return undefined
  const span = parseSpan(timestamps)
  if (span !== undefined) return span
  throw invalid(
    params.timestamps,
    `'${params.timestamps}' must be '<start>,<end>' in seconds, ${spanSeconds.least} to ${spanSeconds.most} seconds apart, such as 0.5,2.5.`,
  )
}

export const createCharacterMaker = (dependencies: MakerDependencies): CharacterMaker => {
  const { postgres, mediaStore, safeFetch, findLinkedFile, readTask, patienceMs, diskSpace, log } =
    dependencies
  const share = createSharedWork<StoredCharacter>()
  let downloads = 0
  const tools: CutTools = {
    probeVideo: createProbeVideo(dependencies.ffprobePath),
    ffmpeg: createSandbox(dependencies.ffmpegPath),
  }

  /** A task's video, or another file of ours, is as private as its task; one whose task is gone counts as private. */
  const isPrivate = async ({ taskId }: StoredFile) => {
    const day = dayOfTaskId(taskId)
    const task = day === undefined ? undefined : await findTask(postgres, day, taskId)
    return task?.order.isPrivate ?? true
  }

  const stored = async (file: StoredFile, param: string): Promise<Source> => ({
    key: `media:${file.id}`,
    param,
    isPrivate: await isPrivate(file),
    video: file,
  })

  const sourceOfTask = async (accountId: string, taskId: string, param: string): Promise<Source> => {
    const task = await readTask(taskId, accountId)
    if (task.family !== 'B') {
      throw invalid(param, `'${param}' must be a task of family B, and that one is of '${task.model}'.`)
    }
    const file = await findStoredFile(postgres, mediaIdOf(task, param))
    if (file === undefined) throw new ApiError('media_expired', { param })
    return stored(file, param)
  }

  const sourceOfUrl = async (url: string, param: string): Promise<Source> => {
    const address = URL.parse(url)
    if (address === null || !/^https?:$/.test(address.protocol)) {
      throw invalid(param, `'${param}' must be an http or https URL.`)
    }
    const linked = await findLinkedFile(url).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error
      throw invalid(param, `'${param}' is a link of ours that does not open: ${error.message}`, error)
    })
    if (linked !== undefined) return stored(linked, param)
    const key = `url:${createHash('sha256').update(address.href).digest('hex')}`
    return { key, param, isPrivate: false, video: { url } }
  }

  const sourceOf = ({ accountId, url, fromTask, params }: CharacterRequest): Promise<Source> =>
    fromTask === undefined
      ? sourceOfUrl(url ?? '', params.url)
      : sourceOfTask(accountId, fromTask, params.fromTask)

  /** Copies a stranger's video to our disk for as long as `work` needs it. */
  const withFetched = async <Result>(
    { param }: Source,
    url: string,
    signal: AbortSignal,
    work: (path: string) => Promise<Result>,
  ) => {
    const key = `characters/sources/${uuidV7()}`
    downloads += 1
    try {
      // Every download under way may still grow to the largest size.
      await diskSpace.assertFree(downloads * sourceBytesMax)
      const inTime = AbortSignal.any([signal, AbortSignal.timeout(workTimeoutMs)])
      const { stream } = await safeFetch.open(url, { sizeBytesMax: sourceBytesMax, signal: inTime })
      await mediaStore.put(key, stream, sourceBytesMax)
      return await mediaStore.withLocalPath(key, work)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') {
        throw unavailable('There is no disk space for this video at the moment.', error)
      }
      if (!(error instanceof SafeFetchError)) throw error
      const isTooLarge = error.reason === 'too_large'
      const problem = isTooLarge
        ? `must be a video of at most ${sourceBytesMax / 1_000_000} MB`
        : 'could not be fetched from that URL'
      throw invalid(param, `'${param}' ${problem}.`, error)
    } finally {
      downloads -= 1
      await mediaStore.remove(key)
    }
  }

  const cut = async (
    source: Source,
    span: Span | undefined,
    timestampsParam: string,
    { signal, mediaWork, mediaFetch }: MediaCall,
  ): Promise<CutClip> => {
    const { video, param } = source
    const cutFrom = (path: string) => mediaWork((stop) => cutClip(tools, path, span, stop), signal)
    const found = await ('url' in video
      ? mediaFetch((stop) => withFetched(source, video.url, stop, cutFrom), signal)
      : mediaStore.withLocalPath(video.storageKey, cutFrom).catch((error: NodeJS.ErrnoException) => {
          throw error.code === 'ENOENT' ? new ApiError('media_expired', { param, cause: error }) : error
        }))
    if (found === 'not-a-video') throw invalid(param, `'${param}' is not a video that can be used.`)
    if (found === 'no-such-part') {
      throw span === undefined
        ? invalid(param, `'${param}' must be a video of at least ${spanSeconds.least} s.`)
        : invalid(timestampsParam, `'${timestampsParam}' names a part that the video does not have.`)
    }
    return found
  }

  const freeUsername = async (): Promise<string> => {
    for (let tried = 1; tried < namesTried; tried += 1) {
      const username = createUsername()
      if (!(await isUsernameTaken(postgres, username))) return username
    }
    return createUsername()
  }

  const build = async (
    { accountId, params }: CharacterRequest,
    source: Source,
    span: Span | undefined,
    key: string,
    call: MediaCall,
  ): Promise<BuiltCharacter> => {
    const made = await cut(source, span, params.timestamps, call)
    const id = uuidV7()
    const keep = async (
      kind: 'clip' | 'portrait',
      bytes: Buffer,
      traits: Pick<StoredFile, 'contentType' | 'width' | 'height' | 'durationMs'>,
    ): Promise<StoredFile> => {
      const fileId = uuidV7()
      const storageKey = `characters/${id}/${kind}`
      const { sizeBytes, sha256 } = await mediaStore.put(storageKey, Readable.from([bytes]), clipBytesMax)
      const base = { id: fileId, accountId, taskId: id, kind, storageKey, sizeBytes, sha256 }
      return { ...base, ...traits, expiresAt: null }
    }
    const { width, height, durationMs } = made
    const clip = await keep('clip', made.clip, { contentType: 'video/mp4', width, height, durationMs })
    const portrait = await keep('portrait', made.portrait, {
      contentType: 'image/jpeg',
      width: portraitSide,
      height: portraitSide,
      durationMs: null,
    })
    return {
      id,
      accountId,
      username: await freeUsername(),
      source: key,
      clipMediaId: clip.id,
      portraitMediaId: portrait.id,
      isPrivate: source.isPrivate,
      files: [clip, portrait],
    }
  }

  const discard = async ({ files }: BuiltCharacter) => {
    await Promise.all(files.map(({ storageKey }) => mediaStore.remove(storageKey)))
  }

  /** Notes what was built, unless another process was quicker with the same. */
  const note = async (built: BuiltCharacter): Promise<StoredCharacter> => {
    for (let tried = 0; tried < namesTried; tried += 1) {
      const named = tried === 0 ? built : { ...built, username: createUsername() }
      if (await postgres.transaction((database) => insertCharacter(database, named, null))) return named
      const earlier = await findCharacterFrom(postgres, built.accountId, built.source)
      if (earlier !== undefined) {
        await discard(built)
        return earlier
      }
    }
    await discard(built)
    throw new Error('no free name was found for a character')
  }

  /** The result, unless it takes longer than a caller is kept waiting. `work` gets the client's signal until then. */
  const withPatience = async <Result>(
    { signal }: MediaCall,
    work: (signal: AbortSignal) => Promise<Result>,
    onLate: (stop: AbortController) => void = () => undefined,
  ): Promise<Result> => {
    const stop = new AbortController()
    const leave = () => stop.abort(signal.reason)
    signal.addEventListener('abort', leave)
    if (signal.aborted) leave()
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      reject(unavailable('The character is still being made; send the same request again.'))
      onLate(stop)
    }, patienceMs)
    try {
      return await Promise.race([work(stop.signal), late])
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', leave)
    }
  }

  const keyOf = ({ key }: Source, span: Span | undefined) =>
    `${key}@${span === undefined ? 'start' : `${span.startMs}-${span.endMs}`}`

  return {
    check: async (request, call) => {
      const span = spanOf(request)
      const source = await sourceOf(request)
      const made = await findCharacterFrom(postgres, request.accountId, keyOf(source, span))
      const insolvency = made === undefined ? await call.findInsolvency() : undefined
      if (made === undefined && insolvency === undefined) {
        const tryToCut = (signal: AbortSignal) =>
          cut(source, span, request.params.timestamps, { ...call, signal })
        await withPatience(call, tryToCut, (stop) => stop.abort())
      }
      return insolvency
    },
    discard,
    forLibrary: async (request, call) => {
      const span = spanOf(request)
      const source = await sourceOf(request)
      const key = keyOf(source, span)
      const made = await findCharacterFrom(postgres, request.accountId, key)
      if (made !== undefined) return made
      const make = async (signal: AbortSignal) => {
        try {
          return await note(await build(request, source, span, key, { ...call, signal }))
        } catch (error) {
          // Whoever waited may have left, so this is the only place that surely hears of it.
          if (!(error instanceof ApiError) && !signal.aborted) log.warn({ err: error }, 'character.not-made')
          throw error
        }
      }
      return withPatience(call, (signal) => share(`${request.accountId} ${key}`, signal, make))
    },
    forOneTask: async (request, call) => {
      const span = spanOf(request)
      const source = await sourceOf(request)
      let building: Promise<BuiltCharacter> | undefined
      const start = (signal: AbortSignal) =>
        (building = build(request, source, span, keyOf(source, span), { ...call, signal }))
      try {
        // No later request could use it, so it is aborted when the caller waited long enough.
        return await withPatience(call, start, (stop) => stop.abort())
      } catch (error) {
        building?.then(discard).catch((late: unknown) => log.debug({ err: late }, 'character.not-made'))
        throw error
      }
    },
  }
}
