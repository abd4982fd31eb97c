/** One cell for each minute of the last hour. Arrow keys or the pointer read a minute. */
import { useState } from 'react'

import { formatDuration, formatNumber } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { formatClock } from '../clock.ts'
import type { ProviderMinute } from '../overview-data.ts'
import { overviewTexts } from '../texts.ts'

import styles from './health-strip.module.css'

const moves: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10 }

export const HealthStrip = ({ name, minutes }: { name: string; minutes: ProviderMinute[] }) => {
  const texts = useTexts(overviewTexts).providers
  const [read, setRead] = useState<number>()
  const last = minutes.length - 1
  const at = Math.min(read ?? last, last)
  const describe = ({ at: start, requests, errors, p95_ms: p95, state }: ProviderMinute) => {
    const time = formatClock(start)
    const isKnown = Object.hasOwn(texts.states, state)
    if (state === 'none' || !isKnown) return texts.readingNone(time)
    const word = texts.states[state as keyof typeof texts.states]
    const shown = p95 === null ? undefined : formatDuration(p95)
    return texts.reading(time, word, formatNumber(requests), formatNumber(errors), shown)
  }
  const minute = minutes[at]
  const reading = minute === undefined ? '' : describe(minute)
  return (
    <div>
      <div
        className={styles['strip']}
        role="slider"
        tabIndex={0}
        aria-label={texts.strip(name)}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={at}
        aria-valuetext={reading}
        onFocus={(event) => {
          if (event.currentTarget.matches(':focus-visible')) setRead(last)
        }}
        onBlur={() => setRead(undefined)}
        onKeyDown={(event) => {
          const target =
            event.key === 'Home' ? 0 : event.key === 'End' ? last : at + (moves[event.key] ?? Number.NaN)
          if (Number.isNaN(target)) return
          event.preventDefault()
          setRead(Math.min(last, Math.max(0, target)))
        }}
        onPointerMove={({ clientX, currentTarget }) => {
          const { left, width } = currentTarget.getBoundingClientRect()
          const index = Math.floor(((clientX - left) / width) * minutes.length)
          setRead(Math.min(last, Math.max(0, index)))
        }}
        onPointerLeave={() => setRead(undefined)}
      >
        {minutes.map(({ at: start, state }, index) => (
          <i key={start} data-state={state} data-read={(read !== undefined && index === at) || undefined} />
        ))}
      </div>
      <p className={styles['reading']} aria-hidden>
        {read === undefined ? (
          <>
            <span>{texts.from}</span>
            <span>{texts.to}</span>
          </>
        ) : (
          <span className={styles['read']}>{reading}</span>
        )}
      </p>
    </div>
  )
}
