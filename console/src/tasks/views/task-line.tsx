import { memo } from 'react'

import { useReasons } from '../../errors/use-reasons.ts'
import { formatMoney, shortenId } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { Money, Time } from '../../ui/values.tsx'
import { isRunning, type TaskRow } from '../rows/task-row.ts'
import { taskTexts } from '../texts.ts'
import { Poster } from './poster.tsx'
import { RowLink } from './row-link.tsx'
import { Elapsed, TaskState } from './task-state.tsx'

import styles from './task-list.module.css'

export interface TaskItemProps {
  row: TaskRow
  index: number
  /** Distance to the top of the list. */
  offset: number
  isCurrent: boolean
  isSelected: boolean
  keyName: string | null
  isLost: boolean
  isOperatorView: boolean
  now: number
  onSelect: (index: number, isRange: boolean) => void
  onCurrent: (index: number) => void
}

export const TaskCheckbox = ({ row, index, isSelected, onSelect }: TaskItemProps) => {
  const texts = useTexts(taskTexts)
  return (
    <input
      type="checkbox"
      aria-label={texts.selectTask(row.prompt ?? row.id)}
      checked={isSelected}
      onChange={({ nativeEvent }) =>
        onSelect(index, nativeEvent instanceof MouseEvent && nativeEvent.shiftKey)
      }
    />
  )
}

/** An event tells that a task is completed before its charge is read. */
const isHeld = (row: TaskRow) => isRunning(row) || (row.status === 'completed' && row.capturedMicros === null)

/** The price: held while the task runs, charged once it has ended. */
export const TaskPrice = ({ row }: { row: TaskRow }) => {
  const texts = useTexts(taskTexts)
  if (row.currency === '') return null
  if (!isHeld(row)) return <Money micros={row.capturedMicros ?? 0} currency={row.currency} />
  return (
    <span className="nowrap">
      <span className="muted tiny-text">{texts.held}</span>{' '}
      <Money micros={row.holdMicros} currency={row.currency} />
    </span>
  )
}

export const TaskLine = memo((props: TaskItemProps) => {
  const { row, index, offset, isCurrent, isSelected, keyName, isLost, isOperatorView } = props
  const texts = useTexts(taskTexts)
  const reasons = useReasons()
  const name = row.prompt ?? shortenId(row.id)
  const reason = row.error === null || row.status !== 'failed' ? undefined : reasons.ofTask(row.error)
  return (
    <div
      role="row"
      data-task={index}
      data-current={isCurrent || undefined}
      data-selected={isSelected || undefined}
      className={`${styles['line']} ${styles['item']}`}
      style={{ transform: `translateY(${offset}px)` }}
    >
      <span role="cell" className={styles['check']}>
        <TaskCheckbox {...props} />
      </span>
      <span role="cell" className={styles['name']}>
        <RowLink id={row.id} tabIndex={-1} aria-hidden>
          <Poster row={row} />
        </RowLink>
        <span className={styles['two']}>
          <RowLink
            id={row.id}
            title={row.prompt ?? row.id}
            className={`${styles['link']} ${row.prompt === null ? 'mono' : 'medium'} ellipsis`}
            onFocus={() => props.onCurrent(index)}
          >
            {name}
          </RowLink>
          <span className="muted tiny-text ellipsis" title={reason ?? row.id}>
            {reason !== undefined ? (
              reason
            ) : row.prompt === null ? (
              row.kind === 'video' ? (
                texts.video
              ) : (
                texts.transcription
              )
            ) : (
              <span className="mono">{shortenId(row.id)}</span>
            )}
          </span>
        </span>
      </span>
      <span role="cell">
        <TaskState row={row} isLost={isLost} />
      </span>
      <span role="cell" className={styles['two']}>
        <span className="ellipsis">{row.model}</span>
        <span className="muted tiny-text ellipsis">
          {isOperatorView ? (row.provider ?? texts.startsSoon) : (keyName ?? shortenId(row.keyId))}
        </span>
      </span>
      {isOperatorView ? (
        <span role="cell" className={styles['two']}>
          <span className="ellipsis">{row.account?.name}</span>
          <span className="muted tiny-text ellipsis">{keyName}</span>
        </span>
      ) : (
        <span role="cell" className={`${styles['two']} ${styles['extra']}`}>
          <span>{row.seconds !== null && texts.seconds(row.seconds)}</span>
          <span className="muted tiny-text">{row.size?.replace('x', '×')}</span>
        </span>
      )}
      <span role="cell" className={`number ${styles['extra']}`}>
        <Elapsed row={row} isLost={isLost} />
      </span>
      <span role="cell" className="number">
        <TaskPrice row={row} />
      </span>
      <span role="cell" className="number muted">
        <Time at={row.createdAt} isAge />
      </span>
    </div>
  )
})
TaskLine.displayName = 'TaskLine'

/** The price as text, for captions. */
export const describePrice = (row: TaskRow): string =>
  row.currency === ''
    ? ''
    : formatMoney(isHeld(row) ? row.holdMicros : (row.capturedMicros ?? 0), row.currency)
