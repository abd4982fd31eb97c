/** Sends the video of a task, or an image of it. */
import { ApiError } from '@kinora/contract/errors'

import type { Call } from '../../http/call.ts'
import type { Catalog } from '../../models/catalog.ts'
import type { Database } from '../../platform/postgres.ts'
import { spritesheetLayout, variantKinds, type MakeVariant } from '../../storage/make-variant.ts'
import type { MediaStore } from '../../storage/port/media-store.ts'
import { sendFile } from '../../storage/send-file.ts'
import { findStoredFile, type StoredFile } from '../../storage/stored-file-store.ts'
import type { VideoTask } from '../task.ts'
import { hintHeaders } from './read-status.ts'
import { mediaIdOf } from './source-task.ts'

export interface VideoFiles {
  database: Database
  mediaStore: MediaStore
  makeVariant: MakeVariant
  /** How long the URL of a redirect is valid; 0 to send the file instead. */
  redirectSeconds: number
}

/** Returns the id of the video, or throws if the task has none. */
export const assertCompleted = (task: VideoTask, catalog: Catalog): string => {
  if (task.state === 'failed') {
    throw new ApiError('task_failed', {
      message: `This task has failed (${task.errorCode ?? 'upstream_error'}): ${task.errorMessage ?? ''}`,
    })
  }
  if (task.state !== 'completed') {
    throw new ApiError('task_not_completed', {
      message: `This task is ${task.state} and not completed yet.`,
      headers: hintHeaders(task, catalog, {}),
    })
  }
  return mediaIdOf(task)
}

/** A name that is safe in any file system; an id may contain a colon. */
const fileNameOf = (task: VideoTask, { kind, contentType }: StoredFile): string => {
  const stem = task.id.replace(/[^A-Za-z0-9._-]/g, '-')
  const name = kind === 'video' ? stem : `${stem}-${kind}`
  return `${name}.${contentType === 'image/jpeg' ? 'jpg' : 'mp4'}`
}

/** Sends the file. Without a variant that is an image, it is the video. */
export const sendVideoFile = async (
  { database, mediaStore, makeVariant, redirectSeconds }: VideoFiles,
  call: Pick<Call, 'signal' | 'mediaWork' | 'header' | 'method'>,
  task: VideoTask,
  { mediaId, variant }: { mediaId: string; variant: string | undefined },
) => {
  const video = await findStoredFile(database, mediaId)
  if (video === undefined) throw new ApiError('media_expired')
  const kind = variantKinds.find((each) => each === variant)
  const file = kind === undefined ? video : await makeVariant(video, kind, call)
  if (file === undefined) {
    throw new ApiError('variant_not_available', {
      param: 'variant',
      message: `This video has no ${kind}: none could be made of its file. Use \`video\`.`,
    })
  }
  const sent = await sendFile(mediaStore, file, call, {
    disposition: `attachment; filename="${fileNameOf(task, file)}"`,
    redirectSeconds,
  })
  const layout = kind === 'spritesheet' ? { 'x-spritesheet': spritesheetLayout(video) } : {}
  return { ...sent, headers: { ...sent.headers, ...layout } }
}
