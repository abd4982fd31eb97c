/** A video with its own controls and keys. Its place has the shape of the video before there is a picture. */
import { Maximize, Minimize, Pause, Play, Volume2, VolumeX } from 'lucide-react'
import { type KeyboardEvent, type RefObject, useEffect, useEffectEvent, useRef, useState } from 'react'

import { useTexts } from '../i18n/texts.ts'
import { playerTexts } from './player/texts.ts'

import styles from './player.module.css'

interface PlayerProps {
  /** What it shows, for screen readers. */
  title: string
  source: string
  poster?: string
  /** Of the picture, in pixels. */
  width: number
  height: number
  /** The duration, until the file tells it. */
  seconds?: number
  /** Where it starts, in seconds. */
  startAt?: number
  /** Plays at once without sound, unless the person prefers reduced motion. */
  isAutomatic?: boolean
  isMuted?: boolean
  /** Repeats the video. */
  isLooped?: boolean
  /** Without controls, for one scrubber that moves several players. */
  isBare?: boolean
  /** The position in seconds, a few times a second while it plays and after each jump. */
  onTime?: (seconds: number) => void
  videoRef?: RefObject<HTMLVideoElement | null>
}

/** A file does not tell its frame rate. Most models make 24 or 30 frames a second. */
const frameSeconds = 1 / 24
const rates = [1, 0.5, 0.25, 2]

const prefersStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches

/** `0:04`, and with tenths `0:04.2`. */
export const formatPosition = (seconds: number, digits = 0): string => {
  const whole = Math.floor(seconds)
  const rest = digits === 0 ? '' : `.${Math.floor((seconds - whole) * 10)}`
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}${rest}`
}

export const Player = ({
  title,
  source,
  poster,
  width,
  height,
  seconds = 0,
  startAt = 0,
  isAutomatic = false,
  isMuted = false,
  isLooped = false,
  isBare = false,
  onTime,
  videoRef,
}: PlayerProps) => {
  const texts = useTexts(playerTexts)
  const own = useRef<HTMLVideoElement>(null)
  const ref = videoRef ?? own
  const frame = useRef<HTMLDivElement>(null)
  const [at, setAt] = useState(startAt)
  const [length, setLength] = useState(seconds)
  const [isPlaying, setPlaying] = useState(false)
  const [isSilent, setSilent] = useState(isMuted || isAutomatic)
  const [rate, setRate] = useState(1)
  const [isFull, setFull] = useState(false)
  const [hasFailed, setFailed] = useState(false)

  const begin = (video: HTMLVideoElement) => {
    if (Number.isFinite(video.duration)) setLength(video.duration)
    if (startAt > 0 && video.currentTime === 0) video.currentTime = startAt
  }
  // A cached video may have been read before React listens to it.
  const beginIfRead = useEffectEvent(() => {
    const video = ref.current
    if (video !== null && video.readyState >= HTMLMediaElement.HAVE_METADATA) begin(video)
  })
  useEffect(() => beginIfRead(), [])

  useEffect(() => {
    const watch = () => setFull(document.fullscreenElement === frame.current)
    document.addEventListener('fullscreenchange', watch)
    return () => document.removeEventListener('fullscreenchange', watch)
  }, [])
  // `timeupdate` comes four times a second, too rarely for a smooth bar.
  useEffect(() => {
    if (!isPlaying) return
    let request = 0
    const step = () => {
      if (ref.current !== null) setAt(ref.current.currentTime)
      request = requestAnimationFrame(step)
    }
    request = requestAnimationFrame(step)
    return () => cancelAnimationFrame(request)
  }, [isPlaying, ref])

  const seek = (to: number) => {
    const video = ref.current
    if (video === null) return
    const target = Math.max(0, Math.min(to, length > 0 ? length : to))
    // Without its first bytes, a video cannot jump.
    if (video.readyState === 0) video.load()
    video.currentTime = target
    setAt(target)
    onTime?.(target)
  }
  const toggle = () => {
    const video = ref.current
    if (video === null) return
    if (video.paused) void video.play().catch(() => undefined)
    else video.pause()
  }
  const toggleFull = () => {
    if (document.fullscreenElement === null) void frame.current?.requestFullscreen()
    else void document.exitFullscreen()
  }
  const nextRate = () => {
    const next = rates[(rates.indexOf(rate) + 1) % rates.length] ?? 1
    if (ref.current !== null) ref.current.playbackRate = next
    setRate(next)
  }
  const jump = (by: number) => {
    if (Math.abs(by) < 0.5) ref.current?.pause()
    seek((ref.current?.currentTime ?? at) + by)
  }
  const keys: Record<string, () => void> = {
    ' ': toggle,
    ArrowLeft: () => jump(-1),
    ArrowRight: () => jump(1),
    ',': () => jump(-frameSeconds),
    '.': () => jump(frameSeconds),
    m: () => setSilent((silent) => !silent),
    f: toggleFull,
  }
  const onKey = (event: KeyboardEvent) => {
    const act = keys[event.key]
    if (act === undefined || isBare || event.metaKey || event.ctrlKey || event.altKey) return
    // Space presses the button that has the focus.
    if (event.key === ' ' && event.target instanceof HTMLButtonElement) return
    event.preventDefault()
    event.stopPropagation()
    act()
  }
  const share = length > 0 ? Math.min(1, at / length) : 0
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- the keys are also those of its controls
    <div
      ref={frame}
      className={styles['player']}
      role="group"
      aria-label={title}
      {...(!isBare && { tabIndex: 0, 'aria-description': texts.keys })}
      onKeyDown={onKey}
      style={{ aspectRatio: `${width} / ${height}` }}
      data-upright={height >= width || undefined}
    >
      {poster !== undefined && height >= width && (
        <img className={styles['ground']} src={poster} alt="" aria-hidden />
      )}
      {/* oxlint-disable-next-line jsx-a11y/media-has-caption -- generated videos come without captions */}
      <video
        ref={ref}
        src={source}
        poster={poster}
        preload={startAt > 0 ? 'metadata' : 'none'}
        autoPlay={isAutomatic && !prefersStill()}
        muted={isSilent}
        loop={isLooped}
        playsInline
        onClick={isBare ? undefined : toggle}
        onPlay={() => setPlaying(true)}
        onPause={() => setPlaying(false)}
        onTimeUpdate={({ currentTarget }) => {
          setAt(currentTarget.currentTime)
          onTime?.(currentTarget.currentTime)
        }}
        onLoadedMetadata={({ currentTarget }) => begin(currentTarget)}
        onError={() => setFailed(true)}
      />
      {hasFailed && (
        <p className={styles['failed']} role="alert">
          {texts.failed}
        </p>
      )}
      {!isBare && !hasFailed && (
        <div className={styles['shade']} data-is-playing={isPlaying || undefined}>
          <input
            type="range"
            className={styles['seek']}
            aria-label={texts.seek}
            aria-valuetext={texts.position(formatPosition(at), formatPosition(length))}
            min={0}
            max={length > 0 ? length : 1}
            step="any"
            value={at}
            onChange={(event) => seek(Number(event.target.value))}
            ref={(input) => input?.style.setProperty('--share', `${share * 100}%`)}
          />
          <div className={styles['controls']}>
            <button type="button" aria-label={isPlaying ? texts.pause : texts.play} onClick={toggle}>
              {isPlaying ? <Pause aria-hidden /> : <Play aria-hidden />}
            </button>
            <span className={styles['time']}>
              {formatPosition(at)} / {formatPosition(length)}
            </span>
            <button
              type="button"
              className={styles['first']}
              aria-label={isSilent ? texts.unmute : texts.mute}
              onClick={() => setSilent(!isSilent)}
            >
              {isSilent ? <VolumeX aria-hidden /> : <Volume2 aria-hidden />}
            </button>
            <button type="button" aria-label={texts.rate(rate)} onClick={nextRate}>
              {rate}×
            </button>
            <button
              type="button"
              aria-label={isFull ? texts.leaveFullscreen : texts.fullscreen}
              onClick={toggleFull}
            >
              {isFull ? <Minimize aria-hidden /> : <Maximize aria-hidden />}
            </button>
          </div>
        </div>
      )}
    </div>
  )
}
