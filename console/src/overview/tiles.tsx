/** Figures of now. Each tile leads to the list behind its figure. */
import { Link, type LinkProps } from '@tanstack/react-router'
import { ArrowUpRight } from 'lucide-react'
import type { ReactNode } from 'react'

import { formatBytes, formatDuration, formatMoney, formatNumber, formatPercent } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { CountBars, TrendLine } from '../ui/sparkline.tsx'
import { Bar } from '../ui/status.tsx'
import type { Overview } from './overview-data.ts'
import { overviewTexts } from './texts.ts'

import styles from './tiles.module.css'

interface TileProps {
  label: string
  figure: string
  unit?: string
  line: string
  title?: string
  picture?: ReactNode
  link: Pick<LinkProps, 'to' | 'search'>
}

const Tile = ({ label, figure, unit, line, title, picture, link }: TileProps) => (
  <li className={styles['tile']} {...(title !== undefined && { title })}>
    <Link {...link} className={styles['label'] ?? ''}>
      {label}
      <ArrowUpRight aria-hidden />
    </Link>
    <p className={styles['figure']}>
      <b>{figure}</b>
      {unit !== undefined && <span> {unit}</span>}
    </p>
    <p className={styles['line']}>{line}</p>
    <div className={styles['picture']}>{picture}</div>
  </li>
)

/** Meters turn amber at nine tenths. */
const nearlyFull = 0.9

export const Tiles = ({ overview }: { overview: Overview }) => {
  const texts = useTexts(overviewTexts).tiles
  const { running, slots, queued, oldest_wait_seconds: wait, last_hour: hour, spend, storage } = overview
  const { p50_ms: median, p95_ms: p95, series } = overview.time_to_video
  const ended = hour.completed + hour.failed
  const failedVideos = series.reduce((sum, { failed }) => sum + failed, 0)
  const share = slots === 0 ? 0 : running / slots
  const budget = spend.budget_micros
  const money = (micros: number) => formatMoney(micros, spend.currency)
  const [cost = '', currency = ''] = money(spend.cost_micros).split(' ')
  const charged = texts.spend.charged(money(spend.charged_micros))
  const spendLine =
    spend.unknown_costs > 0
      ? texts.spend.unknown(charged, formatNumber(spend.unknown_costs))
      : budget === null
        ? charged
        : texts.spend.budget(charged, money(budget))
  const today = Math.floor(Date.parse(`${spend.day}T00:00:00Z`) / 1_000)
  return (
    <ul className={styles['tiles']} aria-label={texts.label}>
      <Tile
        label={texts.running.label}
        figure={formatNumber(running)}
        unit={texts.running.slots(formatNumber(slots))}
        line={running < slots ? texts.running.free(formatNumber(slots - running)) : texts.running.full}
        picture={
          <Bar
            share={share}
            label={texts.running.bar(formatNumber(running), formatNumber(slots))}
            color={share >= nearlyFull ? 'amber' : 'accent'}
          />
        }
        link={{ to: '/tasks', search: { all: '1', status: 'processing' } }}
      />
      <Tile
        label={texts.queued.label}
        figure={formatNumber(queued)}
        line={wait === null ? texts.queued.none : texts.queued.oldest(formatDuration(wait * 1_000))}
        link={{ to: '/tasks', search: { all: '1', status: 'pending' } }}
      />
      <Tile
        label={texts.time.label}
        figure={median === null ? '–' : formatDuration(median)}
        line={p95 === null ? texts.time.none : texts.time.p95(formatDuration(p95))}
        picture={<TrendLine values={series.map((step) => step.p50_ms)} label={texts.time.picture} />}
        link={{ to: '/tasks', search: { all: '1', status: 'completed', since: '1h' } }}
      />
      <Tile
        label={texts.errors.label}
        figure={hour.error_rate === null ? '–' : formatPercent(hour.error_rate)}
        line={
          ended === 0 ? texts.errors.none : texts.errors.of(formatNumber(hour.failed), formatNumber(ended))
        }
        picture={
          <CountBars
            values={series.map((step) => step.failed)}
            label={texts.errors.picture(formatNumber(failedVideos))}
            color="red"
          />
        }
        link={{ to: '/tasks', search: { all: '1', status: 'failed', since: '1h' } }}
      />
      <Tile
        label={texts.spend.label}
        figure={cost}
        unit={currency}
        line={spendLine}
        title={texts.spend.help}
        picture={
          budget !== null && (
            <Bar
              share={budget === 0 ? 1 : spend.cost_micros / budget}
              label={texts.spend.bar}
              color={spend.cost_micros >= budget * nearlyFull ? 'amber' : 'grey'}
            />
          )
        }
        link={{ to: '/tasks', search: { all: '1', since: String(today) } }}
      />
      <Tile
        label={texts.storage.label}
        figure={storage === null ? '–' : formatBytes(storage.size_bytes)}
        line={
          storage === null
            ? texts.storage.none
            : texts.storage.objects(storage.objects, formatNumber(storage.objects))
        }
        link={{ to: '/tasks', search: { all: '1', status: 'completed' } }}
      />
    </ul>
  )
}
