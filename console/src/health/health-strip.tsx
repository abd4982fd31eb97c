/** The last hour of a provider, one cell a minute. States differ in height as well as in colour. */
import type { Overview } from '@kinora/client/admin'
import { useState } from 'react'

import { formatClock, formatDuration, formatNumber, formatPercent } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { healthTexts } from './texts.ts'

import styles from './health-strip.module.css'

type Minute = Overview['providers'][number]['minutes'][number]

const states = ['healthy', 'slow', 'failing', 'none'] as const
const moves: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10 }

/** Arrow keys or the pointer read a minute. */
export const HealthStrip = ({ name, minutes }: { name: string; minutes: Minute[] }) => {
  const texts = useTexts(healthTexts)
  const [read, setRead] = useState<number>()
  const last = minutes.length - 1
  const at = Math.min(read ?? last, last)
  const describe = ({ at: start, requests, errors, p95_ms: p95, state }: Minute) => {
    const time = formatClock(start)
    if (state === 'none') return texts.readingNone(time)
    const shown = p95 === null ? undefined : formatDuration(p95)
    return texts.reading(time, texts.states[state], formatNumber(requests), formatNumber(errors), shown)
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
            <span>{texts.from(minutes.length)}</span>
            <span>{texts.to}</span>
          </>
        ) : (
          <span className={styles['read']}>{reading}</span>
        )}
      </p>
    </div>
  )
}

export const HealthLegend = () => {
  const texts = useTexts(healthTexts)
  return (
    <ul className={styles['legend']}>
      {states.map((state) => (
        <li key={state}>
          <i data-state={state} aria-hidden />
          {texts.states[state]}
        </li>
      ))}
    </ul>
  )
}

/**
 * The share of calls that the provider answered, of the same minutes as its health. Tasks that it refuses because of their
 * content are answered calls.
 */
export const AnsweredShare = ({ minutes }: { minutes: Minute[] }) => {
  const texts = useTexts(healthTexts)
  let calls = 0
  let answered = 0
  for (const { requests, errors } of minutes) {
    calls += requests
    answered += requests - errors
  }
  if (calls === 0) return '–'
  return (
    <span title={texts.answered(formatNumber(answered), formatNumber(calls))}>
      {formatPercent(answered / calls)}
    </span>
  )
}
