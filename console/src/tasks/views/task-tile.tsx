import { AudioLines, Ban, TriangleAlert } from 'lucide-react'
import { memo } from 'react'

import { useReasons } from '../../errors/use-reasons.ts'
import { commonTexts } from '../../i18n/common.ts'
import { formatDuration, shortenId } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { isRunning, type TaskRow } from '../rows/task-row.ts'
import { taskTexts } from '../texts.ts'
import { Poster } from './poster.tsx'
import { RowLink } from './row-link.tsx'
import { describePrice, TaskCheckbox, type TaskItemProps } from './task-line.tsx'
import { describeLost } from './task-state.tsx'

import styles from './task-gallery.module.css'

interface TaskTileProps extends TaskItemProps {
  left: number
  width: number
  pictureHeight: number
}

/** What is on the picture while there is no video. */
const Overlay = ({ row, isLost }: { row: TaskRow; isLost: boolean }) => {
  const texts = useTexts(taskTexts)
  const common = useTexts(commonTexts)
  const reasons = useReasons()
  const { status, progress, queue } = row
  if (isRunning(row)) {
    const place = queue === null ? common.status.queued : texts.place(queue.min + 1, queue.max + 1)
    const share = progress > 0 ? `${progress} %` : common.status.processing
    const now = status === 'processing' ? share : place
    return (
      <>
        <span className={styles['leaves']} aria-hidden />
        <span className={styles['badge']}>{isLost ? describeLost(row, texts) : now}</span>
        {status === 'processing' && (
          <span className={styles['progress']} aria-hidden>
            <i style={{ width: `${progress}%` }} />
          </span>
        )}
      </>
    )
  }
  if (status === 'failed' || status === 'cancelled')
    return (
      <span className={styles['failure']}>
        {status === 'failed' ? <TriangleAlert aria-hidden /> : <Ban aria-hidden />}
        <span className={styles['reason']}>
          {status === 'failed'
            ? row.error === null
              ? common.status.failed
              : reasons.ofTask(row.error)
            : common.status.cancelled}
        </span>
        {row.currency !== '' && (
          <span className="muted small-text">{texts.returned(describePrice(row))}</span>
        )}
      </span>
    )
  return row.kind === 'transcription' ? (
    <span className={styles['failure']}>
      <AudioLines aria-hidden />
    </span>
  ) : null
}

const Caption = ({ row }: { row: TaskRow }) => {
  const texts = useTexts(taskTexts)
  const parts = [row.model]
  if (row.account !== null) parts.push(row.account.name)
  else if (row.timeLeft !== null && isRunning(row))
    parts.push(texts.timeLeft(formatDuration(row.timeLeft.max * 1_000)))
  const price = describePrice(row)
  if (price !== '' && row.timeLeft === null) parts.push(price)
  return <span className="muted small-text ellipsis">{parts.join(' · ')}</span>
}

export const TaskTile = memo((props: TaskTileProps) => {
  const { row, index, offset, left, width, pictureHeight, isCurrent, isSelected, isLost } = props
  const texts = useTexts(taskTexts)
  return (
    <div
      role="listitem"
      data-task={index}
      data-current={isCurrent || undefined}
      data-selected={isSelected || undefined}
      className={styles['tile']}
      style={{ width, transform: `translate(${left}px, ${offset}px)` }}
    >
      <RowLink
        id={row.id}
        className={styles['link'] ?? ''}
        onFocus={() => props.onCurrent(index)}
        draggable={false}
      >
        <span className={styles['picture']} style={{ height: pictureHeight }}>
          <Poster row={row} isLarge />
          <Overlay row={row} isLost={isLost} />
          {row.status === 'completed' && row.seconds !== null && (
            <span className={styles['length']}>{texts.seconds(row.seconds)}</span>
          )}
          {row.remixOf !== null && <span className={styles['remix']}>{texts.remix}</span>}
        </span>
        <span className={`${row.prompt === null ? 'mono' : 'medium'} ellipsis`} title={row.prompt ?? row.id}>
          {row.prompt ?? shortenId(row.id)}
        </span>
        <Caption row={row} />
      </RowLink>
      <span className={styles['check']}>
        <TaskCheckbox {...props} />
      </span>
    </div>
  )
})
TaskTile.displayName = 'TaskTile'
