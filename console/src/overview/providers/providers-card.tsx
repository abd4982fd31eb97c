/** The last hour of every provider: health, slots, queue, success. */
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'

import { AnsweredShare, HealthLegend, HealthStrip } from '../../health/health-strip.tsx'
import { formatDuration, formatNumber } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { hasRole, useSession } from '../../session/session.ts'
import { LinkButton } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { EmptyState } from '../../ui/feedback.tsx'
import { Bar } from '../../ui/status.tsx'
import type { OverviewProvider } from '../overview-data.ts'
import { overviewTexts } from '../texts.ts'

import styles from './providers-card.module.css'

const breakerStates = ['open', 'half_open'] as const

const Row = ({ provider }: { provider: OverviewProvider }) => {
  const texts = useTexts(overviewTexts).providers
  const { name, enabled, running, slots, queued, p95_ms: p95, breaker } = provider
  const share = slots === 0 ? 0 : running / slots
  const breakerState = breakerStates.find((state) => state === breaker.state) ?? 'closed'
  const state = enabled ? texts.breaker[breakerState] : texts.disabled
  return (
    <div role="row" className={styles['row']}>
      <div role="cell" className={styles['name']}>
        <i data-state={enabled ? breakerState : 'disabled'} aria-hidden />
        <div>
          <Link to="/providers" search={{ name }} className="medium">
            {name}
          </Link>
          <p className="muted tiny-text">{state}</p>
        </div>
      </div>
      <div role="cell" className={styles['health']}>
        <HealthStrip name={name} minutes={provider.minutes} />
      </div>
      <div role="cell" className={styles['load']}>
        <Bar share={share} label={texts.loadBar(name)} color={share >= 0.9 ? 'amber' : 'accent'} />
        <p className="muted tiny-text">
          {texts.load(formatNumber(running), formatNumber(slots), formatNumber(queued))}
        </p>
      </div>
      <div role="cell" className={styles['value']}>
        <span className="phone-only muted">{texts.columns.success}</span>{' '}
        <AnsweredShare minutes={provider.minutes} />
      </div>
      <div role="cell" className={styles['value']}>
        <span className="phone-only muted">{texts.columns.p95}</span>{' '}
        {p95 === null ? '–' : formatDuration(p95)}
      </div>
    </div>
  )
}

export const ProvidersCard = ({ providers }: { providers: OverviewProvider[] }) => {
  const texts = useTexts(overviewTexts).providers
  const session = useSession()
  return (
    <Card
      title={texts.title}
      note={texts.note}
      actions={
        providers.length > 0 && (
          <span className="wide-only">
            <HealthLegend />
          </span>
        )
      }
      isFlush
    >
      {providers.length === 0 ? (
        <EmptyState
          title={texts.empty}
          actions={
            hasRole(session, 'admin') && (
              <LinkButton to="/providers" search={{ new: '1' }} variant="primary" icon={<Plus aria-hidden />}>
                {texts.add}
              </LinkButton>
            )
          }
        >
          {texts.emptyDetail}
        </EmptyState>
      ) : (
        <div role="table" aria-label={texts.title}>
          <div role="row" className={`${styles['row']} ${styles['head']}`}>
            <span role="columnheader">{texts.columns.provider}</span>
            <span role="columnheader">{texts.columns.health}</span>
            <span role="columnheader">{texts.columns.load}</span>
            <span role="columnheader" className="number">
              {texts.columns.success}
            </span>
            <span role="columnheader" className="number">
              {texts.columns.p95}
            </span>
          </div>
          {providers.map((provider) => (
            <Row key={provider.name} provider={provider} />
          ))}
        </div>
      )}
    </Card>
  )
}
