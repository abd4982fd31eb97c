/** The median as a line and the 95th percentile as a band. Arrow keys or the pointer read five minutes. */
import { useId, useLayoutEffect, useRef, useState } from 'react'

import { formatClock, formatDuration, formatNumber } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import type { SeriesStep } from '../overview-data.ts'
import { overviewTexts } from '../texts.ts'
import { findRuns, findTicks, type DrawnStep } from './scale.ts'

import styles from './duration-chart.module.css'

const height = 196
const edge = { top: 10, bottom: 22, left: 56, right: 8 }

const useWidth = () => {
  const ref = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const element = ref.current
    if (element === null) return undefined
    const measure = () => setWidth(Math.floor(element.getBoundingClientRect().width))
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return { ref, width }
}

/** How far arrow and page keys move. */
const moves: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageDown: -12, PageUp: 12 }

export const DurationChart = ({ series }: { series: SeriesStep[] }) => {
  const texts = useTexts(overviewTexts).chart
  const summaryId = useId()
  const { ref, width } = useWidth()
  const [read, setRead] = useState<number>()
  const runs = findRuns(series)
  const drawn = runs.flat()
  const ticks = findTicks(Math.max(...drawn.map(({ high }) => high)))
  const top = ticks.at(-1) ?? 1
  const inner = Math.max(1, width - edge.left - edge.right)
  const stepWidth = inner / Math.max(1, series.length - 1)
  const x = (index: number) => edge.left + index * stepWidth
  const y = (ms: number) => edge.top + (1 - ms / top) * (height - edge.top - edge.bottom)
  const point = (index: number, ms: number) => `${x(index).toFixed(1)} ${y(ms).toFixed(1)}`
  const line = (run: DrawnStep[], value: (step: DrawnStep) => number) =>
    run.map((step, index) => `${index === 0 ? 'M' : 'L'}${point(step.index, value(step))}`).join('')
  const band = (run: DrawnStep[]) => {
    const low = run.toReversed().map((step) => `L${point(step.index, step.median)}`)
    return `${line(run, ({ high }) => high)}${low.join('')}Z`
  }

  const last = series.length - 1
  const at = Math.min(read ?? last, last)
  const describe = (index: number) => {
    const step = series[index]
    if (step === undefined) return ''
    const { p50_ms: median, p95_ms: p95, completed } = step
    const time = formatClock(step.at)
    if (median === null) return texts.readingNone(time)
    return texts.reading(
      ...([time, formatDuration(median), formatDuration(p95 ?? median), formatNumber(completed)] as const),
    )
  }
  const newest = series[drawn.at(-1)?.index ?? -1]
  const videos = series.reduce((sum, { completed }) => sum + completed, 0)
  const summary = texts.summary(
    formatNumber(videos),
    formatDuration(newest?.p50_ms ?? 0),
    formatDuration(newest?.p95_ms ?? 0),
  )
  const labelled = width < 460 ? [0, 0.5] : [0, 0.25, 0.5, 0.75]
  const readStep = read === undefined ? undefined : drawn.find(({ index }) => index === at)
  return (
    <>
      <p id={summaryId} className="visually-hidden">
        {summary}
      </p>
      <div
        ref={ref}
        className={styles['chart']}
        role="slider"
        tabIndex={0}
        aria-label={texts.reader}
        aria-describedby={summaryId}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={at}
        aria-valuetext={describe(at)}
        onFocus={(event) => {
          if (event.currentTarget.matches(':focus-visible')) setRead(drawn.at(-1)?.index ?? last)
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
          const place = clientX - currentTarget.getBoundingClientRect().left - edge.left
          setRead(Math.min(last, Math.max(0, Math.round(place / stepWidth))))
        }}
        onPointerLeave={() => setRead(undefined)}
      >
        <svg width={width} height={height} aria-hidden>
          {ticks.map((tick) => (
            <g key={tick}>
              <path d={`M${edge.left} ${y(tick)}H${width - edge.right}`} className={styles['grid']} />
              <text x={edge.left - 8} y={y(tick) + 4} textAnchor="end">
                {tick === 0 ? '0' : formatDuration(tick)}
              </text>
            </g>
          ))}
          {labelled.map((share) => {
            const index = Math.floor(share * series.length)
            const step = series[index]
            return (
              step !== undefined && (
                <text key={share} x={x(index)} y={height - 4} textAnchor={share === 0 ? 'start' : 'middle'}>
                  {formatClock(step.at)}
                </text>
              )
            )
          })}
          <text x={width - edge.right} y={height - 4} textAnchor="end">
            {texts.now}
          </text>
          {runs.map((run) => {
            const [first] = run
            if (first === undefined) return null
            // A step alone has no length: its band is a line, its median a dot.
            return run.length === 1 ? (
              <g key={first.index}>
                <path
                  d={`M${point(first.index, first.high)}L${point(first.index, first.median)}`}
                  className={styles['alone']}
                />
                <circle cx={x(first.index)} cy={y(first.median)} r={2.5} className={styles['dot']} />
              </g>
            ) : (
              <g key={first.index}>
                <path d={band(run)} className={styles['band']} />
                <path d={line(run, ({ high }) => high)} className={styles['edge']} />
                <path d={line(run, ({ median }) => median)} className={styles['median']} />
              </g>
            )
          })}
          {read !== undefined && (
            <g>
              <path d={`M${x(at)} ${edge.top}V${height - edge.bottom}`} className={styles['cursor']} />
              {readStep !== undefined && (
                <>
                  <circle cx={x(at)} cy={y(readStep.high)} r={3} className={styles['mark']} />
                  <circle cx={x(at)} cy={y(readStep.median)} r={3.5} className={styles['dot']} />
                </>
              )}
            </g>
          )}
        </svg>
      </div>
      <p className={styles['foot']} aria-hidden>
        {read === undefined ? (
          <>
            <span data-kind="median">{texts.median}</span>
            <span data-kind="band">{texts.band}</span>
          </>
        ) : (
          describe(at)
        )}
      </p>
    </>
  )
}
