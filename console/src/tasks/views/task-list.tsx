import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useEffect } from 'react'

import { useTexts } from '../../i18n/texts.ts'
import type { TaskRow } from '../rows/task-row.ts'
import { taskTexts } from '../texts.ts'
import { TaskCard } from './task-card.tsx'
import { TaskLine } from './task-line.tsx'
import { useIsCompact, usePlace } from './use-screen.ts'

import styles from './task-list.module.css'

export interface TaskViewProps {
  rows: TaskRow[]
  /** Index of the task that has the focus of the keyboard; -1 for none. */
  current: number
  selected: ReadonlySet<string>
  onSelect: (index: number, isRange: boolean) => void
  onSelectAll: () => void
  onCurrent: (index: number) => void
  onEnd: () => void
  isOperatorView: boolean
  isLost: boolean
  keyNames: ReadonlyMap<string, string>
  now: number
}

const lineHeight = 57
const cardHeight = 116
/** The next page is read when so many rows are left. */
const rowsAhead = 80

/** Focuses the link of a task once it is rendered. */
export const focusTask = (container: HTMLElement | null, index: number): void => {
  container
    ?.querySelector<HTMLElement>(`[data-task="${index}"] a:not([aria-hidden])`)
    ?.focus({ preventScroll: true })
}

export const TaskList = (props: TaskViewProps) => {
  const { rows, current, selected, onSelectAll, onEnd, isOperatorView } = props
  const texts = useTexts(taskTexts)
  const isCompact = useIsCompact()
  const { ref, top } = usePlace()
  // oxlint-disable-next-line react/incompatible-library -- its values are not passed to memoized components
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => (isCompact ? cardHeight : lineHeight),
    // Without keys of its own: a new function would measure all rows anew at each frame.
    overscan: 10,
    scrollMargin: top,
    scrollPaddingStart: 100,
    scrollPaddingEnd: 80,
  })
  useEffect(() => virtualizer.measure(), [isCompact, virtualizer])
  useEffect(() => {
    if (current >= 0) virtualizer.scrollToIndex(current, { align: 'auto' })
  }, [current, virtualizer])
  const items = virtualizer.getVirtualItems()
  const isRendered = items.some(({ index }) => index === current)
  useEffect(() => {
    if (isRendered) focusTask(ref.current, current)
  }, [isRendered, current, ref])
  const last = items.at(-1)?.index ?? 0
  useEffect(() => {
    if (last >= rows.length - rowsAhead) onEnd()
  }, [last, rows.length, onEnd])

  const Item = isCompact ? TaskCard : TaskLine
  const columns = isOperatorView
    ? [texts.columns.task, texts.columns.status, texts.columns.provider, texts.columns.account]
    : [texts.columns.prompt, texts.columns.status, texts.columns.model, texts.columns.video]
  return (
    <div
      role="table"
      aria-label={texts.list}
      aria-rowcount={-1}
      className={`${styles['table']} ${isOperatorView ? styles['operator'] : ''}`}
    >
      <div role="rowgroup" className={isCompact ? 'visually-hidden' : styles['head']}>
        <div role="row" className={styles['line']}>
          <span role="columnheader" className={styles['check']}>
            <input
              type="checkbox"
              aria-label={texts.selectAll}
              checked={rows.length > 0 && selected.size >= rows.length}
              ref={(box) => {
                if (box !== null) box.indeterminate = selected.size > 0 && selected.size < rows.length
              }}
              onChange={onSelectAll}
            />
          </span>
          {columns.map((name, index) => (
            <span
              key={name}
              role="columnheader"
              className={index === 3 && !isOperatorView ? styles['extra'] : ''}
            >
              {name}
            </span>
          ))}
          <span role="columnheader" className={`number ${styles['extra']}`}>
            {texts.columns.time}
          </span>
          <span role="columnheader" className="number">
            {texts.columns.price}
          </span>
          <span role="columnheader" className="number">
            {texts.columns.age}
          </span>
        </div>
      </div>
      <div
        role="rowgroup"
        ref={ref}
        className={styles['body']}
        style={{ height: virtualizer.getTotalSize() }}
      >
        {items.map(({ index, start }) => {
          const row = rows[index]
          return (
            row !== undefined && (
              <Item
                key={row.id}
                row={row}
                index={index}
                offset={start - top}
                isCurrent={index === current}
                isSelected={selected.has(row.id)}
                keyName={row.keyName ?? props.keyNames.get(row.keyId) ?? null}
                isLost={props.isLost}
                isOperatorView={isOperatorView}
                now={props.now}
                onSelect={props.onSelect}
                onCurrent={props.onCurrent}
              />
            )
          )
        })}
      </div>
    </div>
  )
}
