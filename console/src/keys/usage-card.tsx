/** The use of a key on each of the last days. */
import { useQuery } from '@tanstack/react-query'

import { formatDate, formatMoney, formatNumber } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { Card } from '../ui/card.tsx'
import { ErrorPanel, Skeleton } from '../ui/feedback.tsx'
import { usageQuery, type Key, type Manager, type UsageDay } from './key-access.ts'
import { keyTexts } from './texts.ts'

import styles from './usage-card.module.css'

const sum = (days: UsageDay[], name: 'requests' | 'failed' | 'micros') =>
  days.reduce((total, day) => total + day[name], 0)

export const UsageCard = ({ keyRow, manager }: { keyRow: Key; manager: Manager }) => {
  const { detail: texts } = useTexts(keyTexts)
  const usage = useQuery({ ...usageQuery(manager, keyRow), refetchInterval: 60_000 })
  const content = () => {
    if (usage.isError) return <ErrorPanel error={usage.error} onRetry={() => void usage.refetch()} />
    if (usage.data === undefined) return <Skeleton height={152} />
    const { days, currency } = usage.data
    const figures = [
      [texts.charged, formatMoney(sum(days, 'micros'), currency)],
      [texts.requests, formatNumber(sum(days, 'requests'))],
      [texts.failedRequests, formatNumber(sum(days, 'failed'))],
    ]
    return (
      <div className="stack">
        <dl className={styles['figures']}>
          {figures.map(([name, value]) => (
            <div key={name}>
              <dt className="muted small-text">{name}</dt>
              <dd className="title">{value}</dd>
            </div>
          ))}
        </dl>
        {sum(days, 'requests') === 0 ? (
          <p className="muted">{texts.noUsage}</p>
        ) : (
          <Chart days={days} currency={currency} />
        )}
      </div>
    )
  }
  return <Card title={texts.usage}>{content()}</Card>
}

/** A bar for each day: what was charged, or the requests if nothing was. */
const Chart = ({ days, currency }: { days: UsageDay[]; currency: string }) => {
  const { detail: texts } = useTexts(keyTexts)
  const isMoney = days.some(({ micros }) => micros > 0)
  const valueOf = ({ micros, requests }: UsageDay) => Math.max(0, isMoney ? micros : requests)
  const highest = Math.max(...days.map(valueOf))
  return (
    <ul className={styles['chart']}>
      {days.map((day) => {
        const text = texts.chart(
          formatDate(day.at),
          formatMoney(day.micros, currency),
          formatNumber(day.requests),
        )
        return (
          <li key={day.at} title={text}>
            <span className="visually-hidden">{text}</span>
            <i
              aria-hidden
              data-empty={valueOf(day) === 0 || undefined}
              ref={(bar) => bar?.style.setProperty('height', `${(valueOf(day) / highest) * 100}%`)}
            />
          </li>
        )
      })}
    </ul>
  )
}
