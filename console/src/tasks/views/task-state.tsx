/** The state of a task: its progress, or its place in the queue, and how both were when the connection was lost. */
import { useEffect, useState } from 'react'

import { formatDuration } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { Status } from '../../ui/status.tsx'
import { isRunning, type TaskRow } from '../rows/task-row.ts'
import { taskTexts } from '../texts.ts'

/** How a running task was when the connection was lost. */
export const describeLost = (
  { status, progress }: TaskRow,
  { was }: typeof import('../texts.en.ts').texts,
): string => {
  if (status !== 'processing') return was.queued
  return progress > 0 ? was.progress(progress) : was.processing
}

export const TaskState = ({ row, isLost }: { row: TaskRow; isLost: boolean }) => {
  const texts = useTexts(taskTexts)
  const { status, progress, queue } = row
  if (isLost && isRunning(row))
    return (
      <Status status="queued" isBare>
        {describeLost(row, texts)}
      </Status>
    )
  if (status === 'queued')
    return (
      <Status status="queued" isBare>
        {queue === null ? undefined : texts.place(queue.min + 1, queue.max + 1)}
      </Status>
    )
  return <Status status={status} progress={progress} isBare />
}

/** How long a task took, or has been running. */
export const Elapsed = ({ row, isLost }: { row: TaskRow; isLost: boolean }) => {
  const { createdAt, finishedAt } = row
  const [now, setNow] = useState(() => Date.now())
  const ticks = finishedAt === null && !isLost
  useEffect(() => {
    if (!ticks) return undefined
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [ticks])
  const seconds = Math.max(0, (finishedAt ?? Math.floor(now / 1_000)) - createdAt)
  return (
    <span className={finishedAt === null ? 'muted nowrap' : 'nowrap'}>{formatDuration(seconds * 1_000)}</span>
  )
}
