/** What can be done with several tasks at once: which ones it concerns, what it costs, and how one is done. */
import { isKinoraError, type CreateVideoParams } from '@kinora/client'

import { formatMoney } from '../../i18n/format.ts'
import { kinora, kinoraAdmin } from '../../service.ts'
import { hasRole, hasScope, type Session } from '../../session/session.ts'
import { isRunning, type TaskRow } from '../rows/task-row.ts'

export type BulkAction = 'cancel' | 'retry' | 'remove'

export const findConcerned = (action: BulkAction, rows: TaskRow[], isOperatorView: boolean): TaskRow[] =>
  rows.filter((row) => {
    if (action === 'cancel') return isRunning(row)
    if (action === 'retry') return row.status === 'failed' && (isOperatorView || row.prompt !== null)
    return !isRunning(row) && !isOperatorView
  })

export const mayAct = (session: Session, isOperatorView: boolean): boolean =>
  isOperatorView ? hasRole(session, 'support') : hasScope(session, 'create')

/** A retry costs what was held; a deletion returns nothing. */
export const sumPrices = (action: BulkAction, rows: TaskRow[]): string => {
  let micros = 0
  for (const row of rows) micros += action === 'remove' ? (row.capturedMicros ?? 0) : row.holdMicros
  return formatMoney(micros, rows.find(({ currency }) => currency !== '')?.currency ?? '')
}

/** The parameters of the failed task that its owner can read. */
const createAgain = async ({ model, prompt, seconds, size, remixOf, metadata }: TaskRow) => {
  const shared = Object.keys(metadata).length > 0 ? { metadata } : {}
  if (remixOf !== null) return await kinora.videos.remix(remixOf, { prompt: prompt ?? '', ...shared })
  return await kinora.videos.create({ model, prompt, seconds, size, ...shared } as CreateVideoParams)
}

const run = async (action: BulkAction, row: TaskRow, isOperatorView: boolean): Promise<unknown> => {
  if (action === 'cancel')
    return isOperatorView ? await kinoraAdmin.tasks.cancel(row.id) : await kinora.videos.cancel(row.id)
  if (action === 'retry')
    return isOperatorView ? await kinoraAdmin.tasks.retry(row.id) : await createAgain(row)
  return await kinora.videos.delete(row.id)
}

export interface BulkFailure {
  row: TaskRow
  error: unknown
}

const parallelMax = 4

/** Runs the action for each task, a few at a time. */
export const runAll = async (
  action: BulkAction,
  rows: TaskRow[],
  isOperatorView: boolean,
  onProgress: (done: number) => void,
): Promise<{ done: TaskRow[]; failures: BulkFailure[] }> => {
  const waiting = [...rows]
  const done: TaskRow[] = []
  const failures: BulkFailure[] = []
  const work = async () => {
    for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
      try {
        await run(action, row, isOperatorView)
        done.push(row)
      } catch (error) {
        const isGone = action === 'remove' && isKinoraError(error) && error.code === 'task_not_found'
        if (isGone) done.push(row)
        else failures.push({ row, error })
      }
      onProgress(done.length + failures.length)
    }
  }
  await Promise.all(Array.from({ length: parallelMax }, work))
  return { done, failures }
}
