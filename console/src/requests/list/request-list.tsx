/** The rows that are in sight. A row opens the sheet of its request. */
import { Link } from '@tanstack/react-router'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useEffect } from 'react'

import { formatDuration } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { useIsCompact, usePlace } from '../../tasks/views/use-screen.ts'
import { Time } from '../../ui/values.tsx'
import type { RequestSearch } from '../filters.ts'
import { StatusTag } from '../status-tag.tsx'
import { requestTexts } from '../texts.ts'
import type { LoggedRequest } from '../use-request-rows.ts'

import styles from './request-list.module.css'

interface RequestListProps {
  rows: LoggedRequest[]
  search: RequestSearch
  /** Index of the request that has the focus of the keyboard; -1 for none. */
  current: number
  onCurrent: (id: string) => void
  onEnd: () => void
}

const lineHeight = 44
const cardHeight = 88
/** The next page is read when so many rows are left. */
const rowsAhead = 40

interface RowProps {
  row: LoggedRequest
  search: RequestSearch
  index: number
  offset: number
  isCurrent: boolean
  onCurrent: (id: string) => void
}

const Row = ({ row, search, index, offset, isCurrent, onCurrent }: RowProps) => {
  const texts = useTexts(requestTexts)
  const { account_name: account, key_name: key } = row
  return (
    <div
      role="row"
      className={`${styles['item']} ${styles['line']}`}
      data-request={index}
      data-current={isCurrent || undefined}
      style={{ transform: `translateY(${offset}px)` }}
    >
      <span role="cell" className={`muted ${styles['time']}`}>
        <Time at={row.at} />
      </span>
      <span role="cell" className={styles['status']}>
        <StatusTag status={row.status} />
      </span>
      <span role="cell" className={styles['request']}>
        <Link
          to="/requests"
          search={{ ...search, id: row.id }}
          resetScroll={false}
          className={styles['link'] ?? ''}
          onFocus={() => onCurrent(row.id)}
        >
          <span className={styles['method']}>{row.method}</span> <span className="mono">{row.path}</span>
        </Link>
      </span>
      <span role="cell" className={`ellipsis ${styles['model']}`}>
        {row.error_code === null ? (
          <span className="muted">{row.model ?? ''}</span>
        ) : (
          <span className={row.status >= 500 ? 'bad' : 'fair'}>{row.error_code}</span>
        )}
      </span>
      <span role="cell" className={`ellipsis ${styles['account']}`}>
        {account === null ? (
          <span className="muted">{texts.noAccount}</span>
        ) : (
          <>
            {account} {key !== null && <span className="muted">{key}</span>}
          </>
        )}
      </span>
      <span role="cell" className={`number ${styles['duration']}`}>
        {formatDuration(row.duration_ms)}
      </span>
    </div>
  )
}

export const RequestList = ({ rows, search, current, onCurrent, onEnd }: RequestListProps) => {
  const texts = useTexts(requestTexts)
  const isCompact = useIsCompact()
  const { ref, top } = usePlace()
  // oxlint-disable-next-line react/incompatible-library -- its values are not passed to memoized components
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => (isCompact ? cardHeight : lineHeight),
    // Without keys of its own: a new function would measure all rows anew at each frame.
    overscan: 12,
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
    if (!isRendered) return
    const link = ref.current?.querySelector<HTMLElement>(`[data-request="${current}"] a`)
    link?.focus({ preventScroll: true })
  }, [isRendered, current, ref])
  const last = items.at(-1)?.index ?? 0
  useEffect(() => {
    if (last >= rows.length - rowsAhead) onEnd()
  }, [last, rows.length, onEnd])
  const { columns } = texts
  return (
    <div role="table" aria-label={texts.list} aria-rowcount={-1} className={styles['table']}>
      <div role="rowgroup" className={isCompact ? 'visually-hidden' : styles['head']}>
        <div role="row" className={styles['line']}>
          <span role="columnheader">{columns.time}</span>
          <span role="columnheader">{columns.status}</span>
          <span role="columnheader">{columns.request}</span>
          <span role="columnheader">{columns.model}</span>
          <span role="columnheader">{columns.account}</span>
          <span role="columnheader" className="number">
            {columns.duration}
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
              <Row
                key={row.id}
                {...{ row, search, index, onCurrent }}
                offset={start - top}
                isCurrent={index === current}
              />
            )
          )
        })}
      </div>
    </div>
  )
}
