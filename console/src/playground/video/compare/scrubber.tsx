/** One position for several players. At most one of them is heard. */
import { Pause, Play } from 'lucide-react'
import { useEffect, useState, type KeyboardEvent, type RefObject } from 'react'

import { useTexts } from '../../../i18n/texts.ts'
import { Button } from '../../../ui/button.tsx'
import { Segmented } from '../../../ui/choice.tsx'
import { formatPosition } from '../../../ui/player.tsx'
import { videoTexts } from '../texts.ts'

import styles from './compare.module.css'

interface ScrubberProps {
  videos: RefObject<Map<string, HTMLVideoElement>>
  /** Those whose videos are made. */
  models: string[]
}

const silent = 'none'
/** Beyond this, a player is put where the others are. */
const driftMax = 0.15

const setMuted = (video: HTMLVideoElement, isMuted: boolean) => {
  video.muted = isMuted
}

export const Scrubber = ({ videos, models }: ScrubberProps) => {
  const texts = useTexts(videoTexts)
  const [at, setAt] = useState(0)
  const [length, setLength] = useState(0)
  const [isPlaying, setPlaying] = useState(false)
  const [heard, setHeard] = useState(silent)

  useEffect(() => {
    if (!isPlaying) return
    let request = 0
    const step = () => {
      const all = [...videos.current.values()]
      const longest = all.toSorted((left, right) => (right.duration || 0) - (left.duration || 0))[0]
      if (longest !== undefined) {
        setAt(longest.currentTime)
        setLength(longest.duration || 0)
        for (const video of all)
          if (
            longest.currentTime < video.duration &&
            Math.abs(video.currentTime - longest.currentTime) > driftMax
          )
            video.currentTime = longest.currentTime
        if (longest.ended) setPlaying(false)
      }
      request = requestAnimationFrame(step)
    }
    request = requestAnimationFrame(step)
    return () => cancelAnimationFrame(request)
  }, [isPlaying, videos])

  const hear = (chosen: string) => {
    for (const [model, video] of videos.current) setMuted(video, model !== chosen)
    setHeard(chosen)
  }
  const toggle = () => {
    for (const video of videos.current.values()) {
      if (isPlaying) video.pause()
      else {
        if (at >= length) video.currentTime = 0
        void video.play().catch(() => undefined)
      }
    }
    setPlaying(!isPlaying)
  }
  const seek = (to: number) => {
    setAt(to)
    for (const video of videos.current.values()) {
      if (video.readyState === 0) video.load()
      video.currentTime = Math.min(to, video.duration || to)
      if (video.duration > length) setLength(video.duration)
    }
  }
  const onKey = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, ',': -1 / 24, '.': 1 / 24 }[event.key]
    if (event.key !== ' ' && by === undefined) return
    if (event.key === ' ' && event.target instanceof HTMLButtonElement) return
    event.preventDefault()
    if (by === undefined) toggle()
    else seek(Math.max(0, at + by))
  }
  const max = length > 0 ? length : 1
  return (
    <div className={styles['scrubber']}>
      <Button
        isIcon
        icon={isPlaying ? <Pause /> : <Play />}
        label={isPlaying ? texts.compare.pause : texts.compare.play}
        onPress={toggle}
      />
      <span className="nowrap">
        {formatPosition(at, 1)} <span className="muted">/ {formatPosition(length)}</span>
      </span>
      <input
        type="range"
        className={styles['range']}
        aria-label={texts.compare.position}
        aria-valuetext={formatPosition(at, 1)}
        min={0}
        max={max}
        step="any"
        value={Math.min(at, max)}
        onChange={(event) => seek(Number(event.target.value))}
        onKeyDown={onKey}
        ref={(input) => input?.style.setProperty('--share', `${Math.min(1, at / max) * 100}%`)}
      />
      <span className="row wrap">
        <span className="muted small-text">{texts.compare.sound}</span>
        <Segmented
          label={texts.compare.sound}
          options={[silent, ...models].map((value) => ({
            value,
            label: value === silent ? texts.compare.silent : value,
          }))}
          value={heard}
          onChange={hear}
        />
      </span>
    </div>
  )
}
