/** The last hour of a provider: one cell a minute. States differ in height as well as in colour. */
import { useState, type KeyboardEvent } from 'react'

import { formatDuration, formatTime } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import type { ProviderOverview } from './provider-data.ts'
import { providerTexts } from './texts.ts'

import styles from './health-strip.module.css'

export const HealthStrip = ({ name, minutes }: Pick<ProviderOverview, 'name' | 'minutes'>) => {
  const texts = useTexts(providerTexts)
  const [read, setRead] = useState<number | null>(null)
  const describe = ({ at, state, requests, errors, p95_ms: p95 }: ProviderOverview['minutes'][number]) =>
    [
      texts.strip.minute(formatTime(at).slice(0, 5), texts.legend[state], requests, errors),
      ...(p95 === null ? [] : [texts.strip.p95(formatDuration(p95))]),
    ].join(', ')
  const move = (event: KeyboardEvent) => {
    const last = minutes.length - 1
    const next = {
      ArrowLeft: Math.max(0, (read ?? last + 1) - 1),
      ArrowRight: Math.min(last, (read ?? last) + 1),
      Home: 0,
      End: last,
    }[event.key]
    if (next === undefined) return
    event.preventDefault()
    setRead(next)
  }
  const minute = read === null ? undefined : minutes[read]
  const latest = minute ?? minutes.at(-1)
  return (
    <div className={styles['strip']}>
      <div
        className={styles['cells']}
        role="slider"
        aria-label={`${texts.strip.label(name)}. ${texts.strip.hint}`}
        aria-valuemin={1}
        aria-valuemax={minutes.length}
        aria-valuenow={(read ?? minutes.length - 1) + 1}
        aria-valuetext={latest === undefined ? '' : describe(latest)}
        tabIndex={0}
        onKeyDown={move}
        onBlur={() => setRead(null)}
        onPointerLeave={() => setRead(null)}
      >
        {minutes.map((each, index) => (
          <i
            key={each.at}
            data-state={each.state}
            data-read={index === read || undefined}
            onPointerEnter={() => setRead(index)}
          />
        ))}
      </div>
      <p className={styles['legend']} aria-hidden>
        {minute === undefined ? (
          <>
            <span>{texts.strip.start(minutes.length)}</span>
            <span>{texts.strip.end}</span>
          </>
        ) : (
          <span className="soft">{describe(minute)}</span>
        )}
      </p>
    </div>
  )
}

export const HealthLegend = () => {
  const { legend } = useTexts(providerTexts)
  const states = ['healthy', 'slow', 'failing', 'none'] as const
  return (
    <ul className={styles['key']}>
      {states.map((state) => (
        <li key={state}>
          <i data-state={state} aria-hidden />
          {legend[state]}
        </li>
      ))}
    </ul>
  )
}
