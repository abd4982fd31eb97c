/** What happened from the request to the webhook, as rows on one axis. Screen readers get a table. */
import {
  Clapperboard,
  CornerDownLeft,
  Download,
  Hourglass,
  LockKeyhole,
  Receipt,
  Server,
  Undo2,
  Webhook,
  type LucideIcon,
} from 'lucide-react'
import { useEffect, useState } from 'react'

import { formatDuration, formatMoney, shortenId } from '../../../i18n/format.ts'
import { useTexts } from '../../../i18n/texts.ts'
import { Card } from '../../../ui/card.tsx'
import type { TaskView } from '../task-data.ts'
import type { texts as english } from '../texts.en.ts'
import { taskTexts } from '../texts.ts'
import { buildWaterfall, type Row, type Waterfall } from './timeline-rows.ts'

import styles from './timeline-card.module.css'

type Texts = (typeof english)['timeline']

const icons: Record<string, LucideIcon> = {
  accepted: CornerDownLeft,
  hold: LockKeyhole,
  queue: Hourglass,
  submit: Server,
  generate: Clapperboard,
  transcribe: Clapperboard,
  store: Download,
  settle: Receipt,
  refund: Undo2,
  webhook: Webhook,
}

/** Milliseconds since the task was created, while it runs. */
const useElapsed = ({ createdAt, isFinal }: TaskView): number => {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    if (isFinal) return undefined
    const timer = setInterval(() => setNow(Date.now()), 250)
    return () => clearInterval(timer)
  }, [isFinal])
  return Math.max(0, now - createdAt * 1_000)
}

const nameRow = ({ step, steps }: Row, isFirstQueue: boolean, texts: Texts): string => {
  const { kind, attempt, provider } = step
  if (kind === 'submit') return texts.attempt(attempt ?? 1, provider)
  if (kind === 'queue' && !isFirstQueue) return texts.pause
  if (kind === 'webhook') {
    const name = step.event_type ?? texts.kinds['webhook'] ?? ''
    return steps.length > 1 ? name : texts.webhook(name, attempt ?? 1)
  }
  return texts.kinds[kind] ?? kind
}

const describeMoney = ({ kind, outcome, amount_micros: micros, currency }: Row['step'], texts: Texts) => {
  if (micros === undefined) return null
  const amount = formatMoney(micros, currency)
  if (kind === 'hold') return texts.held(amount)
  return outcome === 'captured' ? texts.captured(amount) : texts.released(amount)
}

/** One short line beside the bar. */
const describeRow = ({ step, steps }: Row, texts: Texts, failureReason: string | null): string => {
  const { kind, outcome, detail, polls, status, request_id: requestId, failure_reason: reason } = step
  const name = step.submit_outcome ?? outcome
  const word = name === null ? texts.inProgress : (texts.outcomes[name] ?? name)
  const isFailed = outcome === 'failed'
  switch (kind) {
    case 'accepted':
      return requestId === undefined || requestId === null ? '' : shortenId(requestId)
    case 'hold':
    case 'settle':
    case 'refund':
      return describeMoney(step, texts) ?? word
    case 'submit':
      // Why an accepted job failed is said where it failed.
      return outcome === 'accepted' || reason === undefined || reason === null ? word : `${word}: ${reason}`
    case 'generate':
      return [
        ...(polls === undefined || polls === null ? [] : [texts.polls(polls)]),
        ...(outcome === null && detail !== null ? [detail] : []),
        ...(isFailed ? [failureReason ?? word] : []),
      ].join(', ')
    case 'webhook':
      if (outcome === null) return texts.delivering
      return steps.length > 1
        ? texts.times(steps.length)
        : [status ?? word, ...(isFailed && detail !== null ? [detail] : [])].join(', ')
    default:
      return detail ?? (isFailed ? word : '')
  }
}

const percent = (ms: number, spanMs: number) => `${Math.round((ms / spanMs) * 10_000) / 100}%`

/** The text stands where there is room for it: behind the bar, or before it. */
const placeCaption = ({ bars }: Row, spanMs: number) => {
  const start = Math.min(...bars.map(({ startMs }) => startMs)) / spanMs
  const end = Math.max(...bars.map(({ endMs }) => endMs)) / spanMs
  const percentOf = (share: number) => `${Math.round(share * 10_000) / 100}%`
  const afterEnd = { left: `calc(${percentOf(end)} + 6px)`, maxWidth: `calc(${percentOf(1 - end)} - 6px)` }
  const beforeStart = {
    right: `calc(${percentOf(1 - start)} + 6px)`,
    maxWidth: `calc(${percentOf(start)} - 6px)`,
  }
  if (end <= 0.62) return afterEnd
  return start >= 0.3 ? beforeStart : null
}

const Lane = ({
  row,
  spanMs,
  caption,
  late,
}: {
  row: Row
  spanMs: number
  caption: string
  late: string
}) => {
  const place = placeCaption(row, spanMs)
  return (
    <span className={styles['lane']}>
      {!row.isLate &&
        row.bars.map(({ startMs, endMs, holder, isRunning, ticks }, index) => (
          <i
            key={index}
            className={`${styles['bar']} ${styles[holder]} ${isRunning ? styles['running'] : ''}`}
            style={{ left: percent(startMs, spanMs), width: percent(endMs - startMs, spanMs) }}
          >
            {ticks.map((tick) => (
              <u key={tick} style={{ left: percent(tick - startMs, Math.max(1, endMs - startMs)) }} />
            ))}
          </i>
        ))}
      {row.isLate ? (
        <em className={styles['late']}>{[caption, late].filter(Boolean).join(' · ')}</em>
      ) : (
        place !== null &&
        caption !== '' && (
          <em style={place} title={caption}>
            {caption}
          </em>
        )
      )}
    </span>
  )
}

const Axis = ({ spanMs, ticks, zero }: { spanMs: number; ticks: number[]; zero: string }) => (
  <div className={styles['axis']}>
    <span />
    <span className={styles['ticks']}>
      {ticks.map((tick, index) => (
        <span
          key={tick}
          style={{ left: percent(tick, spanMs) }}
          data-edge={index === 0 || index === ticks.length - 1 || undefined}
        >
          {tick === 0 ? zero : formatDuration(tick)}
        </span>
      ))}
    </span>
    <span />
  </div>
)

const ReadableTable = ({
  waterfall,
  names,
  captions,
  texts,
}: {
  waterfall: Waterfall
  names: string[]
  captions: string[]
  texts: Texts
}) => (
  // A table is never narrower than its content.
  <div className="visually-hidden">
    <table>
      <caption>{texts.title}</caption>
      <thead>
        <tr>
          {Object.entries(texts.headers).map(([key, header]) => (
            <th key={key} scope="col">
              {header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {waterfall.rows.map((row, index) => (
          <tr key={row.key}>
            <th scope="row">{names[index]}</th>
            <td>{texts.holders[row.bars[0]?.holder ?? 'service']}</td>
            <td>{formatDuration(row.step.offset_ms)}</td>
            <td>{row.step.duration_ms === null ? texts.inProgress : formatDuration(row.step.duration_ms)}</td>
            <td>{captions[index]}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const summarize = (
  view: TaskView,
  { totalMs, waitingMs, rows }: Waterfall,
  elapsedMs: number,
  texts: Texts,
) => {
  if (!view.isFinal) return texts.running(formatDuration(elapsedMs))
  const hasWebhook = rows.some(({ step, isLate }) => step.kind === 'webhook' && !isLate)
  const total = formatDuration(totalMs)
  const isLong = waitingMs >= 1_000 && waitingMs > totalMs / 20
  return (
    (hasWebhook ? texts.totalWebhook(total) : texts.total(total)) +
    (isLong ? texts.waiting(formatDuration(waitingMs)) : '')
  )
}

export const TimelineCard = ({ view }: { view: TaskView }) => {
  const { timeline: texts } = useTexts(taskTexts)
  const elapsedMs = useElapsed(view)
  const waterfall = buildWaterfall(view.steps, view.isFinal, elapsedMs)
  const { rows, spanMs, ticks, holders } = waterfall
  const firstQueue = rows.find(({ step }) => step.kind === 'queue')
  const names = rows.map((row) => nameRow(row, row === firstQueue, texts))
  const failureReason = view.any?.task.provider_attempts.at(-1)?.failure_reason ?? null
  const captions = rows.map((row) => describeRow(row, texts, failureReason))
  return (
    <Card
      isFlush
      title={texts.title}
      note={summarize(view, waterfall, elapsedMs, texts)}
      actions={
        <ul className={styles['legend']}>
          {holders.map((holder) => (
            <li key={holder}>
              <i className={styles[holder]} aria-hidden />
              {texts.holders[holder]}
            </li>
          ))}
        </ul>
      }
    >
      <div className={styles['waterfall']} aria-hidden>
        <Axis spanMs={spanMs} ticks={ticks} zero={texts.zero} />
        <div className={styles['rows']}>
          <div className={styles['grid']}>
            <span />
            <span className={styles['lines']}>
              {ticks.map((tick) => (
                <i key={tick} style={{ left: percent(tick, spanMs) }} />
              ))}
            </span>
            <span />
          </div>
          {rows.map((row, index) => {
            const Icon = icons[row.step.kind] ?? Server
            const { durationMs } = row
            return (
              <div key={row.key} className={styles['row']} data-kind={row.step.kind}>
                <span className={styles['label']}>
                  <Icon className="wide-only" />
                  <span className={styles['name']} title={names[index]}>
                    {names[index]}
                  </span>
                </span>
                <Lane
                  row={row}
                  spanMs={spanMs}
                  caption={captions[index] ?? ''}
                  late={texts.late(formatDuration(row.step.offset_ms))}
                />
                <span className={styles['duration']}>
                  {durationMs === null || durationMs === 0 ? '' : formatDuration(durationMs)}
                </span>
              </div>
            )
          })}
        </div>
      </div>
      <ReadableTable waterfall={waterfall} names={names} captions={captions} texts={texts} />
    </Card>
  )
}
