/** Reads pages of tasks, and single tasks again. */
import { isKinoraError } from '@kinora/client'

import { kinora, kinoraAdmin } from '../../service.ts'
import { buildTaskParams, buildVideoParams, type TaskSearch } from '../filters.ts'
import { createOperatorRow, createVideoRow, isRunning, readStatus, type TaskRow } from './task-row.ts'

/** Whose tasks are shown. */
export interface Scope {
  isOperatorView: boolean
  ownAccountId: string | undefined
}

export interface TaskPage {
  rows: TaskRow[]
  next: string | null
}

/** The greatest page of the public API. */
const pageSize = 100
/** Of the newest tasks, which are read again and again. */
export const headSize = 25

/** How long a refused page has to wait, in seconds. */
export const readPauseSeconds = (error: unknown): number | undefined =>
  isKinoraError(error) && (error.status === 429 || error.status === 503) ? error.retryAfter : undefined

export const readPage = async (
  { isOperatorView, ownAccountId }: Scope,
  search: TaskSearch,
  cursor: string | null,
  limit = pageSize,
): Promise<TaskPage> => {
  // The list says what a further page waits for, so the client does not wait by itself.
  const options = cursor === null ? {} : { maxRetries: 0 }
  if (isOperatorView) {
    const params = { ...buildTaskParams(search, Date.now()), limit }
    const { data, next } = await kinoraAdmin.tasks.list(
      { ...params, ...(cursor !== null && { cursor }) },
      options,
    )
    return { rows: data.map((task) => createOperatorRow(task, ownAccountId)), next }
  }
  const params = { ...buildVideoParams(search, Date.now()), limit, include: 'details' as const }
  const page = await kinora.videos.list({ ...params, ...(cursor !== null && { after: cursor }) }, options)
  return { rows: page.data.map(createVideoRow), next: page.has_more ? page.last_id : null }
}

/** The current state of a task that is already listed. */
export const readRow = async ({ isOperatorView, ownAccountId }: Scope, row: TaskRow): Promise<TaskRow> => {
  if (isOperatorView) return createOperatorRow(await kinoraAdmin.tasks.get(row.id), ownAccountId)
  const [video, { details }] = await Promise.all([kinora.videos.get(row.id), kinora.videos.timeline(row.id)])
  return createVideoRow({ ...video, details })
}

/** What an event tells about a task: its state, before the rest is read. */
export const patchRow = (row: TaskRow, data: Record<string, unknown>, at: number): TaskRow => {
  const { status, progress } = data
  const patched = {
    ...row,
    ...(typeof status === 'string' && { status: readStatus(status, row.error?.code) }),
    ...(typeof progress === 'number' && { progress: Math.max(row.progress, progress) }),
  }
  return patched.status === row.status && patched.progress === row.progress
    ? row
    : { ...patched, queue: null, finishedAt: isRunning(patched) ? null : (row.finishedAt ?? at) }
}
