/** Bars for the loudness of a sound: heard, received, and still missing. It is also the slider for the position. */
import { useEffect, useRef, type KeyboardEvent, type PointerEvent } from 'react'

import { useTexts } from '../../i18n/texts.ts'
import { formatPosition } from './format-position.ts'
import { peaksPerSecond } from './peaks.ts'
import type { Sound } from './sound.ts'
import { audioTexts } from './texts.ts'
import { usePosition, useSound } from './use-sound.ts'

import styles from './waveform.module.css'

const barWidth = 3
const barStep = 5

interface Drawing {
  peaks: Float32Array | undefined
  durationS: number
  totalS: number
  positionS: number
}

const loudness = (peaks: Float32Array | undefined, fromS: number, toS: number): number => {
  if (peaks === undefined) return 0.12
  let peak = 0
  const last = Math.max(Math.floor(fromS * peaksPerSecond), Math.ceil(toS * peaksPerSecond) - 1)
  for (let at = Math.floor(fromS * peaksPerSecond); at <= last; at += 1) peak = Math.max(peak, peaks[at] ?? 0)
  return peak
}

const loudest = (peaks: Float32Array | undefined): number =>
  peaks === undefined
    ? 1
    : Math.max(
        0.05,
        peaks.reduce((most, peak) => Math.max(most, peak), 0),
      )

const draw = (canvas: HTMLCanvasElement, { peaks, durationS, totalS, positionS }: Drawing) => {
  const context = canvas.getContext('2d')
  const { clientWidth: width, clientHeight: height } = canvas
  if (context === null || width === 0) return
  const scale = globalThis.devicePixelRatio
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale)
    canvas.height = Math.round(height * scale)
  }
  const colors = getComputedStyle(canvas)
  const [heard, received, missing] = ['--heard', '--received', '--missing'].map((name) =>
    colors.getPropertyValue(name),
  )
  context.setTransform(scale, 0, 0, scale, 0, 0)
  context.clearRect(0, 0, width, height)
  const bars = Math.max(1, Math.floor((width + barStep - barWidth) / barStep))
  const barS = totalS / bars
  const most = loudest(peaks)
  for (let bar = 0; bar < bars; bar += 1) {
    const fromS = bar * barS
    const isThere = durationS > 0 && fromS + barS / 2 <= durationS
    const share = isThere ? loudness(peaks, fromS, fromS + barS) / most : 0
    const length = isThere ? Math.max(3, share * (height - 2)) : 3
    context.fillStyle =
      (isThere ? (positionS > 0 && fromS + barS / 2 <= positionS ? heard : received) : missing) ?? ''
    context.beginPath()
    context.roundRect(bar * barStep, (height - length) / 2, barWidth, length, barWidth / 2)
    context.fill()
  }
}

interface WaveformProps {
  sound: Sound | undefined
  /** How long the sound will probably be, while it grows. */
  expectedS?: number
  label: string
  isSmall?: boolean
}

export const Waveform = ({ sound, expectedS = 0, label, isSmall = false }: WaveformProps) => {
  const texts = useTexts(audioTexts)
  const { peaks, durationS, isGrowing } = useSound(sound)
  const positionS = usePosition(sound)
  const canvas = useRef<HTMLCanvasElement>(null)
  const totalS = isGrowing || durationS === 0 ? Math.max(durationS * 1.05, expectedS, 1) : durationS
  useEffect(() => {
    const target = canvas.current
    if (target === null) return
    const repaint = () => draw(target, { peaks, durationS, totalS, positionS })
    repaint()
    const sizes = new ResizeObserver(repaint)
    sizes.observe(target)
    const themes = new MutationObserver(repaint)
    themes.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    return () => {
      sizes.disconnect()
      themes.disconnect()
    }
  }, [peaks, durationS, totalS, positionS])
  const seekTo = (event: PointerEvent<HTMLDivElement>) => {
    if (durationS === 0 || event.buttons !== 1) return
    const { left, width } = event.currentTarget.getBoundingClientRect()
    sound?.seek(Math.min(durationS, ((event.clientX - left) / width) * totalS))
  }
  const seekBy = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }
    const step = (steps[event.key] ?? 0) * (event.shiftKey ? 5 : 1)
    const target = { Home: 0, End: durationS }[event.key] ?? (step === 0 ? undefined : positionS + step)
    if (target === undefined || durationS === 0) return
    event.preventDefault()
    sound?.seek(Math.min(durationS, Math.max(0, target)))
  }
  return (
    <div
      className={`${styles['waveform']} ${isSmall ? styles['small'] : ''}`}
      role="slider"
      tabIndex={durationS === 0 ? -1 : 0}
      aria-label={label}
      aria-disabled={durationS === 0}
      aria-valuemin={0}
      aria-valuemax={Math.round(durationS * 10) / 10}
      aria-valuenow={Math.round(positionS * 10) / 10}
      aria-valuetext={texts.position(formatPosition(positionS), formatPosition(durationS))}
      onPointerDown={seekTo}
      onPointerMove={seekTo}
      onKeyDown={seekBy}
    >
      <canvas ref={canvas} aria-hidden />
    </div>
  )
}
