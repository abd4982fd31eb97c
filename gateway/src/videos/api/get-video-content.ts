import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../../http/call.ts'
import type { Catalog } from '../../models/catalog.ts'
import type { LinkSigner } from '../../storage/signed-link.ts'
import { presentVideoTask } from './present-video.ts'
import type { ReadTask } from './read-task.ts'
import { assertCompleted, sendVideoFile, type VideoFiles } from './send-video-file.ts'

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

export const getVideoContent =
  ({
    readTask,
    links,
    catalog,
    files,
  }: {
    readTask: ReadTask
    links: LinkSigner
    catalog: Catalog
    files: VideoFiles
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
    const sent = await sendVideoFile(files, call, task, { mediaId, variant })
    return { ...sent, headers: { ...sent.headers, ...common } }
  }
