/** How long videos take: the chart of a period, or the same as a table. */
import { useNavigate, useSearch } from '@tanstack/react-router'
import { ChartLine, Table2 } from 'lucide-react'
import { useState } from 'react'

import { formatClock, formatDuration, formatNumber } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Segmented } from '../../ui/choice.tsx'
import type { SeriesStep } from '../overview-data.ts'
import { overviewTexts } from '../texts.ts'
import { DurationChart } from './duration-chart.tsx'

import styles from './duration-card.module.css'

/** Steps of five minutes. */
const periods = { '1h': 12, '6h': 72, '24h': 288 } as const
type Period = keyof typeof periods
const isPeriod = (value: string | undefined): value is Period =>
  value !== undefined && Object.hasOwn(periods, value)

const show = (ms: number | null) => (ms === null ? '–' : formatDuration(ms))

export const DurationCard = ({ series }: { series: SeriesStep[] }) => {
  const texts = useTexts(overviewTexts).chart
  const navigate = useNavigate({ from: '/overview' })
  const search = useSearch({ from: '/shell/overview' })
  const period = isPeriod(search.period) ? search.period : '24h'
  const [isTable, setTable] = useState(false)
  const shown = series.slice(-periods[period])
  const hasVideos = shown.some((step) => step.p50_ms !== null)
  return (
    <Card
      title={texts.title}
      note={<span className={styles['note']}>{texts.note}</span>}
      actions={
        <>
          <Segmented
            label={texts.period}
            options={(['1h', '6h', '24h'] as const).map((value) => ({ value, label: texts.periods[value] }))}
            value={period}
            onChange={(value) => {
              void navigate({
                search: value === '24h' ? {} : { period: value },
                replace: true,
                resetScroll: false,
              })
            }}
          />
          <Button
            variant="ghost"
            size="small"
            isIcon
            icon={isTable ? <ChartLine /> : <Table2 />}
            label={isTable ? texts.showChart : texts.showTable}
            onPress={() => setTable(!isTable)}
          />
        </>
      }
    >
      <div className={styles['content']}>
        {isTable ? (
          <div className={styles['scroll']} tabIndex={0} role="region" aria-label={texts.title}>
            <table className={styles['table']}>
              <thead>
                <tr>
                  <th>{texts.columns.time}</th>
                  <th className="number">{texts.columns.median}</th>
                  <th className="number">{texts.columns.p95}</th>
                  <th className="number">{texts.columns.completed}</th>
                  <th className="number">{texts.columns.failed}</th>
                </tr>
              </thead>
              <tbody>
                {shown.toReversed().map((step) => (
                  <tr key={step.at} className={step.completed + step.failed === 0 ? 'muted' : ''}>
                    <td>{formatClock(step.at)}</td>
                    <td className="number">{show(step.p50_ms)}</td>
                    <td className="number">{show(step.p95_ms)}</td>
                    <td className="number">{formatNumber(step.completed)}</td>
                    <td className="number">{formatNumber(step.failed)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        ) : hasVideos ? (
          <DurationChart key={period} series={shown} />
        ) : (
          <p className={styles['none']}>{texts.noVideos}</p>
        )}
      </div>
    </Card>
  )
}
