/** The rows of the waterfall: what is drawn where. Times are milliseconds since the task was created. */
import type { TaskView } from '../task-data.ts'

type Step = TaskView['steps'][number]

/** Who had the task. */
type Holder = 'service' | 'wait' | 'provider' | 'transfer' | 'money' | 'webhook' | 'failed'

interface Bar {
  startMs: number
  endMs: number
  holder: Holder
  isRunning: boolean
  /** Times of polls. */
  ticks: number[]
}

export interface Row {
  key: string
  /** The step that the row is about; of several, the last. */
  step: Step
  /** More than one if deliveries share the row. */
  steps: Step[]
  bars: Bar[]
  durationMs: number | null
  /** It began after the end of the axis. */
  isLate: boolean
}

export interface Waterfall {
  rows: Row[]
  spanMs: number
  ticks: number[]
  /** From the creation to the last step, without what came much later. */
  totalMs: number
  waitingMs: number
  /** The holders that occur, for the legend. */
  holders: Holder[]
}

const holders: Record<string, Holder> = {
  accepted: 'service',
  hold: 'money',
  queue: 'wait',
  submit: 'provider',
  generate: 'provider',
  transcribe: 'provider',
  store: 'transfer',
  settle: 'money',
  refund: 'money',
  webhook: 'webhook',
}

const failures = new Set([
  'failed',
  'rejected',
  'moderated',
  'unknown',
  'busy',
  'unauthorized',
  'not_delivered',
])

const holderOf = ({ kind, outcome }: Step): Holder => {
  if (kind === 'webhook' && outcome === null) return 'wait'
  if (kind !== 'queue' && outcome !== null && failures.has(outcome)) return 'failed'
  return holders[kind] ?? 'service'
}

const ticksMax = 60

/** The polls are counted, not listed, so they are drawn at equal distances. */
const pollTicks = ({ polls }: Step, startMs: number, endMs: number): number[] => {
  if (polls === undefined || polls === null || polls > ticksMax) return []
  return Array.from(
    { length: polls },
    (_, index) => startMs + ((endMs - startMs) * (index + 1)) / (polls + 1),
  )
}

const steps = [
  ...[10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000],
  ...[600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000, 604_800_000],
]

export const chooseTicks = (spanMs: number): number[] => {
  const distance = steps.find((step) => spanMs / step <= 5) ?? spanMs
  const count = Math.floor(spanMs / distance)
  return Array.from({ length: count + 1 }, (_, index) => index * distance)
}

/** While a task runs, the axis grows by half, so that bars rarely move. */
const chooseSpan = (elapsedMs: number): number => {
  let spanMs = 6_000
  while (spanMs < elapsedMs) spanMs *= 1.5
  return spanMs
}

/** More deliveries than this share a row for each type of event. */
const webhookRowsMax = 4

const groupSteps = (all: Step[]): Step[][] => {
  const deliveries = all.filter(({ kind }) => kind === 'webhook')
  if (deliveries.length <= webhookRowsMax) return all.map((step) => [step])
  const groups: Step[][] = []
  for (const step of all) {
    const group =
      step.kind === 'webhook'
        ? groups.find(([first]) => first?.kind === 'webhook' && first.event_type === step.event_type)
        : undefined
    if (group === undefined) groups.push([step])
    else group.push(step)
  }
  return groups
}

export const buildWaterfall = (all: Step[], isFinal: boolean, elapsedMs: number): Waterfall => {
  const work = all.filter(({ kind }) => kind !== 'webhook' && kind !== 'refund')
  const endOf = ({ offset_ms, duration_ms }: Step) =>
    duration_ms === null ? (isFinal ? offset_ms : Math.max(elapsedMs, offset_ms)) : offset_ms + duration_ms
  const workEndMs = Math.max(1, ...work.map(endOf))
  // A refund or a late retry of a delivery would make everything else invisibly short.
  const lastMs = workEndMs * 1.4 + 1_000
  const onAxis = all.filter(({ offset_ms }) => offset_ms <= lastMs)
  const totalMs = Math.max(1, ...onAxis.map((step) => Math.min(endOf(step), lastMs)))
  const spanMs = isFinal ? totalMs : chooseSpan(Math.max(elapsedMs, totalMs))
  const rows = groupSteps(all).map((group): Row => {
    const step = group.at(-1) ?? group[0]!
    const bars = group.map((each): Bar => {
      const isRunning = each.duration_ms === null
      const startMs = Math.min(each.offset_ms, spanMs)
      const endMs = isRunning && isFinal ? spanMs : Math.min(endOf(each), spanMs)
      return { startMs, endMs, holder: holderOf(each), isRunning, ticks: pollTicks(each, startMs, endMs) }
    })
    const durationMs = isFinal && step.duration_ms === null ? null : endOf(step) - step.offset_ms
    return {
      key: `${step.kind}-${group[0]?.offset_ms}-${step.attempt ?? ''}-${step.delivery_id ?? ''}`,
      step,
      steps: group,
      bars,
      durationMs: group.length > 1 ? null : durationMs,
      isLate: step.offset_ms > lastMs,
    }
  })
  const used = new Set(rows.flatMap(({ bars }) => bars.map(({ holder }) => holder)))
  const order: Holder[] = ['service', 'wait', 'provider', 'transfer', 'money', 'webhook', 'failed']
  return {
    rows,
    spanMs,
    ticks: chooseTicks(spanMs),
    totalMs,
    waitingMs: work
      .filter(({ kind }) => kind === 'queue')
      .reduce((sum, step) => sum + endOf(step) - step.offset_ms, 0),
    holders: order.filter((holder) => used.has(holder)),
  }
}
