import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../../http/call.ts'
import type { Catalog } from '../../models/catalog.ts'
import type { Database } from '../../platform/postgres.ts'
import { variantKinds, type MakeVariant } from '../../storage/make-variant.ts'
import type { MediaStore } from '../../storage/port/media-store.ts'
import { sendFile } from '../../storage/send-file.ts'
import type { LinkSigner } from '../../storage/signed-link.ts'
import { findStoredFile, type StoredFile } from '../../storage/stored-file-store.ts'
import type { VideoTask } from '../task.ts'
import { presentVideoTask } from './present-video.ts'
import { hintHeaders } from './read-status.ts'
import type { ReadTask } from './read-task.ts'
import { mediaIdOf } from './source-task.ts'

/** Whether the `Accept` header prefers the bytes over JSON. A client that accepts anything gets JSON. */
export const prefersBytes = (accept: string | undefined): boolean => {
  const weights = { bytes: 0, json: 0 }
  for (const each of accept?.split(',') ?? []) {
    const [type = '', ...parameters] = each.split(';').map((part) => part.trim().toLowerCase())
    const given = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
    const weight = given === undefined ? 1 : Number(given) || 0
    if (/^(application\/(binary|octet-stream)|video\/(\*|mp4))$/.test(type)) {
      weights.bytes = Math.max(weights.bytes, weight)
    } else if (type === 'application/json') weights.json = Math.max(weights.json, weight)
  }
  return weights.bytes > weights.json
}

const assertCompleted = (task: VideoTask, catalog: Catalog): string => {
  if (task.state === 'failed') {
    throw new ApiError('task_failed', {
      message: `This task has failed (${task.errorCode ?? 'upstream_error'}): ${task.errorMessage ?? ''}`,
    })
  }
  if (task.state !== 'completed') {
    throw new ApiError('task_not_completed', {
      message: `This task is ${task.state} and not completed yet.`,
      headers: hintHeaders(task, catalog),
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

export const getVideoContent =
  ({
    database,
    readTask,
    mediaStore,
    makeVariant,
    links,
    catalog,
    redirectSeconds,
  }: {
    database: Database
    readTask: ReadTask
    mediaStore: MediaStore
    makeVariant: MakeVariant
    links: LinkSigner
    catalog: Catalog
    /** How long the URL of a redirect is valid; 0 to send the file instead. */
    redirectSeconds: number
  }): Handler<typeof operations.getVideoContent> =>
  async (call) => {
    const task = await readTask(call.path.id, call.caller.accountId)
    const mediaId = assertCompleted(task, catalog)
    const { variant } = call.query
    const common = {
      vary: 'Accept',
      ...(task.mediaExpiresAt !== null && { 'x-media-expires-at': task.mediaExpiresAt.toISOString() }),
    }
    if (variant === undefined && !prefersBytes(call.header('accept'))) {
      return { headers: common, body: presentVideoTask(task, links.link(mediaId, 'video.mp4')) }
    }
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
    return { ...sent, headers: { ...sent.headers, ...common } }
  }
