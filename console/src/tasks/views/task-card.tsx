import { memo } from 'react'

import { shortenId } from '../../i18n/format.ts'
import { Time } from '../../ui/values.tsx'
import { Poster } from './poster.tsx'
import { RowLink } from './row-link.tsx'
import { TaskCheckbox, TaskPrice, type TaskItemProps } from './task-line.tsx'
import { Elapsed, TaskState } from './task-state.tsx'

import styles from './task-list.module.css'

/** A row on narrow screens. */
export const TaskCard = memo((props: TaskItemProps) => {
  const { row, index, offset, isCurrent, isSelected, isLost, isOperatorView } = props
  return (
    <div
      role="row"
      data-task={index}
      data-current={isCurrent || undefined}
      data-selected={isSelected || undefined}
      className={`${styles['card']} ${styles['item']}`}
      style={{ transform: `translateY(${offset}px)` }}
    >
      <span role="cell" className={styles['picture']}>
        <Poster row={row} />
        <TaskCheckbox {...props} />
      </span>
      <span role="cell" className={styles['text']}>
        <RowLink
          id={row.id}
          className={`${styles['link']} ${styles['clamped']} ${row.prompt === null ? 'mono' : 'medium'}`}
          onFocus={() => props.onCurrent(index)}
        >
          {row.prompt ?? shortenId(row.id)}
        </RowLink>
        <span className="row between">
          <TaskState row={row} isLost={isLost} />
          <span className="muted small-text">
            <Time at={row.createdAt} isAge />
          </span>
        </span>
        <span className="muted small-text ellipsis">
          {row.model}
          {' · '}
          {isOperatorView && row.account !== null ? row.account.name : <Elapsed row={row} isLost={isLost} />}
          {' · '}
          <TaskPrice row={row} />
        </span>
      </span>
    </div>
  )
})
TaskCard.displayName = 'TaskCard'
