/** The figures of a provider in one line. */
import { AnsweredShare } from '../health/health-strip.tsx'
import { formatDuration, formatNumber, formatTime } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { Bar } from '../ui/status.tsx'
import { Money } from '../ui/values.tsx'
import type { ProviderView } from './provider-data.ts'
import { providerTexts } from './texts.ts'

import styles from './provider-card.module.css'

/** Full slots make jobs wait, and refuse none. */
const colorOf = (share: number) => (share >= 0.9 ? 'amber' : 'grey')

const Spend = ({ view: { provider } }: { view: ProviderView }) => {
  const texts = useTexts(providerTexts)
  const { spend, budget_per_day_micros: budget, currency, name } = provider
  if (spend === null && budget === null) return <Money micros={0} currency={currency} />
  const spent = (spend?.spent_micros ?? 0) + (spend?.committed_micros ?? 0)
  return (
    <>
      <Money micros={spent} currency={currency} />
      {budget !== null && (
        <>
          {' '}
          <span className="muted">{texts.ofBudget}</span> <Money micros={budget} currency={currency} />
          <Bar
            share={spent / budget}
            label={texts.budgetLabel(name)}
            color={spend?.state === 'spent' ? 'red' : spend?.state === 'alert' ? 'amber' : 'grey'}
          />
        </>
      )}
    </>
  )
}

export const ProviderFacts = ({ view }: { view: ProviderView }) => {
  const texts = useTexts(providerTexts)
  const { provider, overview } = view
  const { facts } = texts
  const running = overview?.running ?? provider.tasks_in_flight
  const queued = overview?.queued ?? provider.tasks_waiting
  const share = running / provider.slots
  const { breaker } = overview ?? {}
  const free = provider.spend?.models_without_costs ?? []
  return (
    <>
      <dl className={styles['facts']}>
        <div>
          <dt>{facts.breaker}</dt>
          <dd className={breaker?.state === 'open' ? 'bad' : breaker?.state === 'half_open' ? 'fair' : ''}>
            {breaker?.state === 'open' && breaker.until !== null
              ? texts.breaker.until(formatTime(breaker.until))
              : texts.breaker[breaker?.state ?? 'closed']}
          </dd>
        </div>
        <div>
          <dt>{facts.slots}</dt>
          <dd>
            {texts.slots(formatNumber(running), formatNumber(provider.slots))}
            <Bar share={share} label={texts.slotsLabel(provider.name)} color={colorOf(share)} />
          </dd>
        </div>
        <div>
          <dt>{facts.queue}</dt>
          <dd>
            {typeof overview?.oldest_wait_seconds === 'number'
              ? texts.queue(formatNumber(queued), formatDuration(overview.oldest_wait_seconds * 1_000))
              : formatNumber(queued)}
          </dd>
        </div>
        <div>
          <dt>{facts.success}</dt>
          <dd>{overview === undefined ? '–' : <AnsweredShare minutes={overview.minutes} />}</dd>
        </div>
        <div>
          <dt>{facts.p95}</dt>
          <dd>{typeof overview?.p95_ms === 'number' ? formatDuration(overview.p95_ms) : '–'}</dd>
        </div>
        <div>
          <dt>{facts.spend}</dt>
          <dd>
            <Spend view={view} />
          </dd>
        </div>
      </dl>
      {breaker !== undefined && breaker.state !== 'closed' && (
        <p className="soft small-text">
          {[
            breaker.reason,
            breaker.models.length > 0 ? texts.breaker.models(breaker.models.join(', ')) : null,
          ]
            .filter((part) => part !== null)
            .join(' · ')}
        </p>
      )}
      {free.length > 0 && <p className="muted small-text">{texts.unknownCosts(free.join(', '))}</p>}
    </>
  )
}
