/**
 * Makes characters: finds the video, cuts the clip and the portrait, and stores both. A video from a URL is downloaded
 * first, so that a slow download does not occupy a slot for media work. The request times out after a minute, but a
 * character for the library is finished anyway, and a repeat of the request returns it. The work is aborted when all
 * waiting clients have disconnected.
 */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'

import { ApiError } from '@kinora/contract/errors'

import type { Call } from '../http/call.ts'
import { uuidV7 } from '../platform/ids/uuid.ts'
import type { Log } from '../platform/log.ts'
import type { Database, Postgres } from '../platform/postgres.ts'
import { createSharedWork } from '../platform/shared-work.ts'
import { SafeFetchError } from '../safe-fetch/safe-fetch-error.ts'
import type { SafeFetch } from '../safe-fetch/safe-fetch.ts'
import type { FindLinkedFile } from '../storage/find-linked-file.ts'
import type { MediaPrograms } from '../storage/media-programs.ts'
import { MediaNotFound, type MediaStore } from '../storage/port/media-store.ts'
import type { Spool, SpooledFile } from '../storage/port/spool.ts'
import { createProbeVideo } from '../storage/probe-video.ts'
import { createSandbox } from '../storage/sandbox.ts'
import { findStoredFile, type StoredFile } from '../storage/stored-file-store.ts'
import type { ReadTask } from '../videos/api/read-task.ts'
import { mediaIdOf } from '../videos/api/source-task.ts'
import { dayOfTaskId } from '../videos/task-id.ts'
import { findTask } from '../videos/task-store.ts'
import { countLibrary, findCharacterFrom, insertCharacter, isUsernameInUse } from './character-store.ts'
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
  spool: Spool
  safeFetch: SafeFetch
  findLinkedFile: FindLinkedFile
  readTask: ReadTask
  programs: MediaPrograms
  /** How long a request waits for its character. */
  waitMs: number
  /** Characters in the library of an account. */
  libraryMax: number
  diskSpace: { assertFree: (neededBytes?: number) => Promise<void> }
  /** Records the event of a new character in the library. */
  recordCreated: (database: Database, character: StoredCharacter) => Promise<void>
  log: Log
}

/** The video to make a character from. `params` are the names of the parameters at the endpoint, for errors. */
interface CharacterRequest {
  accountId: string
  url: string | undefined
  fromTask: string | undefined
  timestamps: string | undefined
  params: { url: string; fromTask: string; timestamps: string }
  /** Whether it would be added to the library. */
  isSaved?: boolean
}

type MediaCall = Pick<Call, 'signal' | 'mediaWork' | 'mediaFetch'>

/** The source video. Equal videos have equal keys. */
interface Source {
  key: string
  param: string
  isPrivate: boolean
  video: StoredFile | { url: string }
}

export interface CharacterMaker {
  /**
   * Refuses a request that would fail, by cutting the clip and discarding it, unless the character exists already.
   */
  check: (request: CharacterRequest, call: MediaCall) => Promise<void>
  /** Finds or makes the library character of this request. */
  forLibrary: (request: CharacterRequest, call: MediaCall) => Promise<StoredCharacter>
  /** Makes a character outside of the library. The caller must insert or discard it. */
  forOneTask: (request: CharacterRequest, call: MediaCall) => Promise<BuiltCharacter>
  discard: (built: BuiltCharacter) => Promise<void>
}

const sourceBytesMax = 200 * 1_000_000
const workTimeoutMs = 300_000
const nameAttempts = 5
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
  const { postgres, mediaStore, spool, safeFetch, findLinkedFile, readTask, programs } = dependencies
  const { waitMs, libraryMax, diskSpace, log } = dependencies
  const share = createSharedWork<StoredCharacter>()
  let downloads = 0
  const tools: CutTools = {
    probeVideo: createProbeVideo(programs),
    ffmpeg: createSandbox(programs.ffmpegPath, programs),
  }

  /** A stored file is as private as its task. If the task was deleted, the file counts as private. */
  const isPrivate = async ({ taskId }: StoredFile) => {
    const day = dayOfTaskId(taskId)
    const task = day === undefined ? undefined : await findTask(postgres, day, taskId)
    return task?.order.isPrivate ?? true
  }

  const sourceOfFile = async (file: StoredFile, param: string): Promise<Source> => ({
    key: `media:${file.id}`,
    param,
    isPrivate: await isPrivate(file),
    video: file,
  })

  const sourceOfTask = async (accountId: string, taskId: string, param: string): Promise<Source> => {
    const task = await readTask(taskId, accountId)
    if (task.family !== 'B') {
      throw invalid(
        param,
        `'${param}' must be a task of a family B model, but its model is '${task.modelName}'.`,
      )
    }
    const file = await findStoredFile(postgres, mediaIdOf(task, param))
    if (file === undefined) throw new ApiError('media_expired', { param })
    return sourceOfFile(file, param)
  }

  const sourceOfUrl = async (url: string, param: string): Promise<Source> => {
    const address = URL.parse(url)
    if (address === null || !/^https?:$/.test(address.protocol)) {
      throw invalid(param, `'${param}' must be an http or https URL.`)
    }
    const linked = await findLinkedFile(url).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error
      throw invalid(param, `'${param}' is a media link that cannot be opened: ${error.message}`, error)
    })
    if (linked !== undefined) return sourceOfFile(linked, param)
    const key = `url:${createHash('sha256').update(address.href).digest('hex')}`
    return { key, param, isPrivate: false, video: { url } }
  }

  const sourceOf = ({ accountId, url, fromTask, params }: CharacterRequest): Promise<Source> =>
    fromTask === undefined
      ? sourceOfUrl(url ?? '', params.url)
      : sourceOfTask(accountId, fromTask, params.fromTask)

  /** Downloads a video and removes it after `work`. */
  const withDownload = async <Result>(
    { param }: Source,
    url: string,
    signal: AbortSignal,
    work: (path: string) => Promise<Result>,
  ) => {
    let downloaded: SpooledFile | undefined
    downloads += 1
    try {
      // Every running download may still grow to the maximum size.
      await diskSpace.assertFree(downloads * sourceBytesMax)
      const withTimeout = AbortSignal.any([signal, AbortSignal.timeout(workTimeoutMs)])
      const { stream } = await safeFetch.open(url, { sizeBytesMax: sourceBytesMax, signal: withTimeout })
      downloaded = await spool.write(stream, { sizeBytesMax: sourceBytesMax })
      return await work(downloaded.path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') {
        throw unavailable(
          'There is not enough disk space for this video at the moment. Try again later.',
          error,
        )
      }
      if (!(error instanceof SafeFetchError)) throw error
      const isTooLarge = error.reason === 'too_large'
      const problem = isTooLarge
        ? `must be a video of at most ${sourceBytesMax / 1_000_000} MB`
        : `could not be fetched: ${error.message}`
      throw invalid(param, `'${param}' ${problem}.`, error)
    } finally {
      downloads -= 1
      if (downloaded !== undefined) await spool.remove(downloaded.path)
    }
  }

  const cut = async (
    source: Source,
    span: Span | undefined,
    timestampsParam: string,
    { signal, mediaWork, mediaFetch }: MediaCall,
  ): Promise<CutClip> => {
    const { video, param } = source
    const cutFrom = (path: string) => mediaWork((stop) => cutClip(tools, path, span, stop), { signal })
    const found = await ('url' in video
      ? mediaFetch((stop) => withDownload(source, video.url, stop, cutFrom), { signal })
      : mediaStore.withLocalPath(video.storageKey, cutFrom, { signal }).catch((error: unknown) => {
          throw error instanceof MediaNotFound
            ? new ApiError('media_expired', { param, cause: error })
            : error
        }))
    if (found === 'not-a-video') throw invalid(param, `'${param}' is not a supported video.`)
    if (found === 'no-such-part') {
      throw span === undefined
        ? invalid(param, `'${param}' must be a video of at least ${spanSeconds.least} second.`)
        : invalid(timestampsParam, `'${timestampsParam}' is outside of the video.`)
    }
    return found
  }

  const unusedUsername = async (): Promise<string> => {
    for (let attempt = 1; attempt < nameAttempts; attempt += 1) {
      const username = createUsername()
      if (!(await isUsernameInUse(postgres, username))) return username
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
    const store = async (
      kind: 'clip' | 'portrait',
      bytes: Buffer,
      traits: Pick<StoredFile, 'contentType' | 'width' | 'height' | 'durationMs'>,
    ): Promise<StoredFile> => {
      const fileId = uuidV7()
      const storageKey = `characters/${id}/${kind}`
      const { sizeBytes, sha256 } = await mediaStore.put(storageKey, Readable.from([bytes]), {
        sizeBytesMax: clipBytesMax,
      })
      const base = { id: fileId, accountId, taskId: id, kind, storageKey, sizeBytes, sha256 }
      return { ...base, ...traits, expiresAt: null }
    }
    const { width, height, durationMs } = made
    const clip = await store('clip', made.clip, { contentType: 'video/mp4', width, height, durationMs })
    const portrait = await store('portrait', made.portrait, {
      contentType: 'image/jpeg',
      width: portraitSide,
      height: portraitSide,
      durationMs: null,
    })
    return {
      id,
      accountId,
      username: await unusedUsername(),
      source: key,
      clipMediaId: clip.id,
      portraitMediaId: portrait.id,
      isPrivate: source.isPrivate,
      files: [clip, portrait],
    }
  }

  const discard = async ({ files }: BuiltCharacter) => {
    await mediaStore.removeMany(files.map(({ storageKey }) => storageKey))
  }

  /** Refuses the last `added` characters of the library if they are too many. */
  const assertRoom = async (database: Database, accountId: string, added: 0 | 1) => {
    if ((await countLibrary(database, accountId)) + added <= libraryMax) return
    throw new ApiError('conflict', {
      message: `The library has ${libraryMax} characters, the maximum of an account. Delete one with DELETE /vidB/v1/characters/{id}, and send the request again.`,
    })
  }

  /** Inserts a character into the library. If another process has inserted the same one, that one is returned. */
  const insert = async (built: BuiltCharacter): Promise<StoredCharacter> => {
    for (let attempt = 0; attempt < nameAttempts; attempt += 1) {
      const named = attempt === 0 ? built : { ...built, username: createUsername() }
      const isInserted = await postgres
        .transaction(async (database) => {
          if (!(await insertCharacter(database, named, null))) return false
          await assertRoom(database, built.accountId, 0)
          await dependencies.recordCreated(database, named)
          return true
        })
        .catch(async (error: unknown) => {
          if (error instanceof ApiError) await discard(built)
          throw error
        })
      if (isInserted) return named
      const existing = await findCharacterFrom(postgres, built.accountId, built.source)
      if (existing !== undefined) {
        await discard(built)
        return existing
      }
    }
    await discard(built)
    throw new Error(`found no unused character name in ${nameAttempts} attempts`)
  }

  /** Waits for `work` up to the time limit. A disconnect within that time aborts its signal. */
  const withWaitLimit = async <Result>(
    { signal }: MediaCall,
    work: (signal: AbortSignal) => Promise<Result>,
    onLate: (stop: AbortController) => void = () => undefined,
  ): Promise<Result> => {
    const stop = new AbortController()
    const abort = () => stop.abort(signal.reason)
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      reject(unavailable('The character is still being made. Send the same request again.'))
      onLate(stop)
    }, waitMs)
    try {
      return await Promise.race([work(stop.signal), late])
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    }
  }

  const keyOf = ({ key }: Source, span: Span | undefined) =>
    `${key}@${span === undefined ? 'start' : `${span.startMs}-${span.endMs}`}`

  return {
    check: async (request, call) => {
      const span = spanOf(request)
      const source = await sourceOf(request)
      const existing = await findCharacterFrom(postgres, request.accountId, keyOf(source, span))
      if (existing !== undefined) return
      if (request.isSaved === true) await assertRoom(postgres, request.accountId, 1)
      const tryToCut = (signal: AbortSignal) =>
        cut(source, span, request.params.timestamps, { ...call, signal })
      await withWaitLimit(call, tryToCut, (stop) => stop.abort())
    },
    discard,
    forLibrary: async (request, call) => {
      const span = spanOf(request)
      const source = await sourceOf(request)
      const key = keyOf(source, span)
      const findExisting = () => findCharacterFrom(postgres, request.accountId, key)
      const existing = await findExisting()
      if (existing !== undefined) return existing
      await assertRoom(postgres, request.accountId, 1)
      const make = async (signal: AbortSignal) => {
        try {
          // Another request may have stored it after the first look.
          const made = await findExisting()
          return made ?? (await insert(await build(request, source, span, key, { ...call, signal })))
        } catch (error) {
          // All waiting requests may have ended, so only this place always sees the error.
          if (!(error instanceof ApiError) && !signal.aborted) log.warn({ err: error }, 'character.not-made')
          throw error
        }
      }
      return withWaitLimit(call, (signal) => share(`${request.accountId} ${key}`, signal, make))
    },
    forOneTask: async (request, call) => {
      const span = spanOf(request)
      const source = await sourceOf(request)
      let building: Promise<BuiltCharacter> | undefined
      const start = (signal: AbortSignal) =>
        (building = build(request, source, span, keyOf(source, span), { ...call, signal }))
      try {
        // No later request can use it, so it is aborted at the time limit.
        return await withWaitLimit(call, start, (stop) => stop.abort())
      } catch (error) {
        building?.then(discard).catch((cause: unknown) => log.debug({ err: cause }, 'character.not-made'))
        throw error
      }
    },
  }
}
