import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useEffect } from 'react'

import { useTexts } from '../../i18n/texts.ts'
import { taskTexts } from '../texts.ts'
import { focusTask, type TaskViewProps } from './task-list.tsx'
import { TaskTile } from './task-tile.tsx'
import { usePlace } from './use-screen.ts'

import styles from './task-gallery.module.css'

const gap = 16
const tileMin = 250
const captionHeight = 52
const linesAhead = 8

/** How many tiles fit beside each other; at least two on phones. */
const countColumns = (width: number): number => Math.max(2, Math.floor((width + gap) / (tileMin + gap)))

interface GalleryProps extends TaskViewProps {
  onColumns: (columns: number) => void
}

export const TaskGallery = (props: GalleryProps) => {
  const { rows, current, selected, onEnd, onColumns } = props
  const texts = useTexts(taskTexts)
  const { ref, top, width } = usePlace()
  const columns = countColumns(width)
  const tileWidth = (width - gap * (columns - 1)) / columns
  const pictureHeight = Math.round((tileWidth * 9) / 16)
  const lines = Math.ceil(rows.length / columns)
  // oxlint-disable-next-line react/incompatible-library -- its values are not passed to memoized components
  const virtualizer = useWindowVirtualizer({
    count: width === 0 ? 0 : lines,
    estimateSize: () => pictureHeight + captionHeight + gap,
    overscan: 2,
    scrollMargin: top,
    scrollPaddingStart: 70,
    scrollPaddingEnd: 80,
  })
  useEffect(() => virtualizer.measure(), [pictureHeight, virtualizer])
  useEffect(() => onColumns(columns), [columns, onColumns])
  const currentLine = Math.floor(current / columns)
  useEffect(() => {
    if (current >= 0) virtualizer.scrollToIndex(currentLine, { align: 'auto' })
  }, [current, currentLine, virtualizer])
  const items = virtualizer.getVirtualItems()
  const isRendered = items.some(({ index }) => index === currentLine)
  useEffect(() => {
    if (isRendered && current >= 0) focusTask(ref.current, current)
  }, [isRendered, current, ref])
  const last = items.at(-1)?.index ?? 0
  useEffect(() => {
    if (width > 0 && last >= lines - linesAhead) onEnd()
  }, [last, lines, onEnd, width])

  return (
    <div
      ref={ref}
      role="list"
      aria-label={texts.list}
      className={styles['gallery']}
      style={{ height: virtualizer.getTotalSize() }}
    >
      {items.flatMap(({ index: line, start }) =>
        rows.slice(line * columns, (line + 1) * columns).map((row, column) => {
          const index = line * columns + column
          return (
            <TaskTile
              key={row.id}
              row={row}
              index={index}
              offset={start - top}
              left={column * (tileWidth + gap)}
              width={tileWidth}
              pictureHeight={pictureHeight}
              isCurrent={index === current}
              isSelected={selected.has(row.id)}
              keyName={null}
              isLost={props.isLost}
              isOperatorView={props.isOperatorView}
              now={props.now}
              onSelect={props.onSelect}
              onCurrent={props.onCurrent}
            />
          )
        }),
      )}
    </div>
  )
}
