/**
 * Makes images of a video: a thumbnail of one frame, or a spritesheet of many. An image is made on the first request and
 * stored with the same expiry as the video.
 */
import { Readable } from 'node:stream'

import { ApiError } from '@kinora/contract/errors'

import type { Call } from '../http/call.ts'
import { uuidV7 } from '../platform/ids/uuid.ts'
import type { Log } from '../platform/log.ts'
import type { Database } from '../platform/postgres.ts'
import { createSharedWork } from '../platform/shared-work.ts'
import { mediaUnavailable, type MediaPrograms } from './media-programs.ts'
import type { MediaStore } from './port/media-store.ts'
import { createSandbox, isLateError, onlyVideoFiles } from './sandbox.ts'
import { findVariant, insertVariant, type StoredFile } from './stored-file-store.ts'

export const variantKinds = ['thumbnail', 'spritesheet'] as const
type VariantKind = (typeof variantKinds)[number]

/** Returns the variant; undefined if none can be made of this file. */
export type MakeVariant = (
  video: StoredFile,
  kind: VariantKind,
  call: Pick<Call, 'signal' | 'mediaWork'>,
) => Promise<StoredFile | undefined>

const imageBytesMax = 8 * 1_048_576
const limits = { cpuSecondsMax: 20, outputBytesMax: imageBytesMax }
const spritesheetColumns = 4
const spritesheetRows = 4

/** The layout of the spritesheet of a video, as the header `X-Spritesheet`. */
export const spritesheetLayout = ({ durationMs }: Pick<StoredFile, 'durationMs'>): string => {
  const intervalMs = Math.round(secondsOf(durationMs) * 1_000) / (spritesheetColumns * spritesheetRows)
  return `columns=${spritesheetColumns}, rows=${spritesheetRows}, interval-ms=${Math.round(intervalMs)}`
}

const secondsOf = (durationMs: number | null) => Math.max(0.1, (durationMs ?? 1_000) / 1_000)

const within = (side: number) =>
  `scale=w='min(${side},iw)':h='min(${side},ih)':force_original_aspect_ratio=decrease:force_divisible_by=2`

const filterOf: Record<VariantKind, (seconds: number) => string> = {
  thumbnail: () => within(640),
  spritesheet: (seconds) =>
    `fps=${spritesheetColumns * spritesheetRows}/${seconds},${within(320)},tile=${spritesheetColumns}x${spritesheetRows}`,
}

const commandFor = (kind: VariantKind, seconds: number) => (path: string) => [
  ...['-v', 'error', '-nostdin', '-threads', '1', ...onlyVideoFiles],
  ...(kind === 'thumbnail' ? ['-ss', String(seconds / 3)] : []),
  ...['-i', path, '-an', '-sn', '-dn', '-frames:v', '1', '-vf', filterOf[kind](seconds)],
  ...['-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p', '-q:v', '4', '-f', 'image2pipe', 'pipe:1'],
]

export const createMakeVariant = ({
  database,
  mediaStore,
  programs,
  log,
  timeoutMs = 60_000,
}: {
  database: Database
  mediaStore: MediaStore
  programs: MediaPrograms
  log: Log
  timeoutMs?: number
}): MakeVariant => {
  const runOnFile = createSandbox(programs.ffmpegPath, programs)
  const share = createSharedWork<StoredFile | undefined>()

  const render = async (
    video: StoredFile,
    kind: VariantKind,
    signal: AbortSignal,
  ): Promise<Buffer | undefined> => {
    const seconds = secondsOf(video.durationMs)
    try {
      const image = await mediaStore.withLocalPath(
        video.storageKey,
        (path) => runOnFile(path, commandFor(kind, seconds), { ...limits, timeoutMs, signal }),
        { signal },
      )
      return image.length === 0 ? undefined : image
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof ApiError) throw error
      // A busy machine, and not a property of the file.
      if (isLateError(error)) throw mediaUnavailable(error)
      log.warn({ err: error, mediaId: video.id, kind }, 'variant.not-made')
      return undefined
    }
  }

  const findOrMake: MakeVariant = async (video, kind, { signal, mediaWork }) => {
    const existing = await findVariant(database, video.taskId, kind)
    if (existing !== undefined) return existing
    const image = await mediaWork((stop) => render(video, kind, stop), { signal })
    if (image === undefined) return undefined
    const id = uuidV7()
    const storageKey = `variants/${id}.jpg`
    const { sizeBytes, sha256 } = await mediaStore.put(storageKey, Readable.from([image]), {
      sizeBytesMax: imageBytesMax,
    })
    await insertVariant(database, video.id, {
      ...{ id, kind, storageKey, contentType: 'image/jpeg', sizeBytes, sha256 },
    })
    // Another process may have made the same variant concurrently, or the video was deleted.
    const stored = await findVariant(database, video.taskId, kind)
    if (stored?.id !== id) await mediaStore.remove(storageKey)
    return stored
  }

  return (video, kind, call) =>
    share(`${video.id}/${kind}`, call.signal, (signal) => findOrMake(video, kind, { ...call, signal }))
}
