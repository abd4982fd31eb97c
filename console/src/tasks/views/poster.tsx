/**
 * The picture of a task: its poster once there is a video, and frames of its spritesheet that follow the pointer, or a
 * finger that is held.
 */
import { AudioLines, Ban, Hourglass, TriangleAlert, Video } from 'lucide-react'
import { useEffect, useRef, useState, type PointerEvent, type SyntheticEvent } from 'react'

import { useConnection } from '../../live/feed.ts'
import { readAspect, type TaskRow } from '../rows/task-row.ts'
import { useQueuedImage } from './poster-queue.ts'

import styles from './poster.module.css'

/** A pointer that only passes by starts no download. */
const hoverMs = 120
/** A shorter touch opens the task, or scrolls. */
const holdMs = 350
/** Of the spritesheet, as `GET /v1/videos/{id}/content` describes it. */
const columns = 4
const frames = 16

const imageUrl = (id: string, variant: 'thumbnail' | 'spritesheet') =>
  `/v1/videos/${encodeURIComponent(id)}/content?variant=${variant}`

const Icon = ({ row }: { row: TaskRow }) => {
  if (row.status === 'failed') return <TriangleAlert aria-hidden />
  if (row.status === 'cancelled') return <Ban aria-hidden />
  if (row.status !== 'completed') return <Hourglass aria-hidden />
  return row.kind === 'transcription' ? <AudioLines aria-hidden /> : <Video aria-hidden />
}

/** Which frame belongs to this share of the width, and where it is in the sheet. */
const placeFrame = (share: number) => {
  const frame = Math.min(frames - 1, Math.max(0, Math.floor(share * frames)))
  const step = 100 / (columns - 1)
  return { frame, position: `${(frame % columns) * step}% ${Math.floor(frame / columns) * step}%` }
}

interface PosterProps {
  row: TaskRow
  /** With the other parts of a tile: the blurred surroundings, and the place of the frame. */
  isLarge?: boolean
}

export const Poster = ({ row, isLarge = false }: PosterProps) => {
  const { src, isMissing, onLoad, onError } = useQueuedImage(
    row.hasImages ? imageUrl(row.id, 'thumbnail') : undefined,
    useConnection().state === 'lost',
  )
  const sheet = useRef<HTMLSpanElement>(null)
  const bar = useRef<HTMLElement>(null)
  const share = useRef(0)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const isHeld = useRef(false)
  const [hasSheet, setHasSheet] = useState(false)
  const [isHovered, setHovered] = useState(false)
  const canPlay = row.hasImages && !isMissing

  const place = () => {
    const { frame, position } = placeFrame(share.current)
    sheet.current?.style.setProperty('background-position', position)
    bar.current?.style.setProperty('width', `${((frame + 1) / frames) * 100}%`)
  }
  useEffect(place)
  const move = (event: PointerEvent<HTMLElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    share.current = (event.clientX - left) / width
    place()
  }
  const enter = (event: PointerEvent<HTMLElement>) => {
    const isTouch = event.pointerType === 'touch'
    // A finger that is held does not move.
    move(event)
    isHeld.current = false
    if (!canPlay) return
    timer.current = setTimeout(
      () => {
        isHeld.current = isTouch
        setHovered(true)
      },
      isTouch ? holdMs : hoverMs,
    )
  }
  /** The end of a held touch opens neither the task nor the menu of the browser. */
  const stopHeld = (event: SyntheticEvent) => {
    if (!isHeld.current) return
    event.preventDefault()
    event.stopPropagation()
  }
  const leave = () => {
    clearTimeout(timer.current)
    setHovered(false)
  }

  const aspect = readAspect(row.size)
  const frame = {
    aspectRatio: aspect,
    ...(aspect >= 16 / 9 ? { width: '100%' } : { height: '100%' }),
  }
  return (
    <span
      className={`${styles['poster']} ${isLarge ? styles['large'] : ''}`}
      onPointerEnter={enter}
      onPointerLeave={leave}
      onPointerCancel={leave}
      onPointerMove={move}
      onClickCapture={stopHeld}
      onContextMenuCapture={stopHeld}
    >
      {!row.hasImages || isMissing ? (
        !isLarge && <Icon row={row} />
      ) : (
        <>
          {src !== undefined && aspect < 1.7 && <img src={src} alt="" className={styles['ground']} />}
          <span className={styles['frame']} style={frame}>
            {src !== undefined && (
              <img
                src={src}
                alt=""
                draggable={false}
                decoding="async"
                className={styles['image']}
                onLoad={onLoad}
                onError={onError}
              />
            )}
            {isHovered && (
              <>
                {!hasSheet && (
                  <img
                    src={imageUrl(row.id, 'spritesheet')}
                    alt=""
                    className="visually-hidden"
                    onLoad={() => setHasSheet(true)}
                  />
                )}
                <span
                  ref={sheet}
                  className={styles['sheet']}
                  style={{
                    ...(hasSheet && { backgroundImage: `url("${imageUrl(row.id, 'spritesheet')}")` }),
                  }}
                />
              </>
            )}
          </span>
          {isHovered && hasSheet && isLarge && (
            <span className={styles['track']}>
              <i ref={bar} />
            </span>
          )}
        </>
      )}
    </span>
  )
}
