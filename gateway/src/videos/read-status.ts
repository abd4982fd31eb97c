/**
 * What the reads of a task's status share: the link that is made anew, the tag by which a reader who has seen
 * this much is told so, when to look again, and the wait for a change where the reader asks for one.
 */
import { createHash } from 'node:crypto'

import type { Call, NotModified, Reply } from '../http/call.ts'
import type { Catalog } from '../models/catalog.ts'
import { isKnownTag } from '../platform/entity-tag.ts'
import type { LinkSigner } from '../storage/signed-link.ts'
import { pollAfterMs } from './check-schedule.ts'
import { speaksOpenAi, videoUrlOf } from './present-video.ts'
import type { ReadTask } from './read-task.ts'
import { isFinal, type VideoTask } from './task.ts'
import type { WaitForChange } from './wait-for-change.ts'

export interface StatusDependencies {
  readTask: ReadTask
  waitForChange: WaitForChange
  links: LinkSigner
  catalog: Catalog
}

const waitSecondsMax = 60
// Its own time-out for a poll must not run out while we hold it.
const pollHelperSecondsMax = 10

/** How long the reader wants to be held, in seconds: a preference is cut to what we do, a parameter was checked. */
export const waitSecondsOf = ({ header, query }: Pick<Call, 'header' | 'query'>): number => {
  const preferred = /(?:^|,)\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)/i.exec(header('prefer') ?? '')?.[1]
  const seconds = Math.min(waitSecondsMax, Number(query['wait'] ?? preferred ?? 0))
  return header('x-stainless-poll-helper') === 'true' ? Math.min(pollHelperSecondsMax, seconds) : seconds
}

export const hintHeaders = (task: VideoTask, catalog: Catalog): Record<string, string> => {
  if (isFinal(task.state)) return {}
  const elapsedMs = Date.now() - task.createdAt.getTime()
  const afterMs = pollAfterMs(elapsedMs, task.progress, catalog.usualSeconds(task.model))
  return { 'openai-poll-after-ms': String(afterMs), 'retry-after': String(Math.ceil(afterMs / 1000)) }
}

/** Reads the task for the caller, waits if asked to, and answers it as `present` shows it. */
export const readStatus = async <Body>(
  { readTask, waitForChange, links, catalog }: StatusDependencies,
  call: Call,
  id: string,
  present: (task: VideoTask, videoUrl: string | null, isOpenAi: boolean) => Body,
): Promise<Reply<Body> | NotModified> => {
  const isOpenAi = speaksOpenAi(call)
  const known = call.header('if-none-match')
  // The link is new on each read, so the tag changes before a link that came with it has run out.
  const etagOf = (task: VideoTask) => {
    const shown = [
      ...[task.state, task.progress, task.statusUpdatedAt.getTime(), task.enhancedPrompt],
      ...[task.mediaId === null ? '' : links.period(), isOpenAi],
    ]
    return `W/"${createHash('sha256').update(shown.join('\n')).digest('base64url').slice(0, 22)}"`
  }
  const waitMs = waitSecondsOf(call) * 1000
  let task = await readTask(id, call.caller.accountId, { isFresh: waitMs > 0 })
  // A reader who says what they have seen, and has not seen this, need not wait for more.
  const isSeen = known === undefined || isKnownTag(known, etagOf(task))
  if (waitMs > 0 && isSeen) task = await waitForChange(task, waitMs, call.waitSignal())

  const etag = etagOf(task)
  const headers = {
    etag,
    vary: 'Accept, X-API-Dialect',
    'cache-control': 'private, no-cache',
    ...hintHeaders(task, catalog),
    ...(task.mediaExpiresAt !== null && { 'x-media-expires-at': task.mediaExpiresAt.toISOString() }),
  }
  if (isKnownTag(known, etag)) return { status: 304, headers, body: undefined }
  return { headers, body: present(task, videoUrlOf(links, task.mediaId), isOpenAi) }
}
