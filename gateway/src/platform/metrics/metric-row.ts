/** The form of a row of the table of metrics, and how Prometheus names it. */

export type Role = 'api' | 'worker' | 'local'

/** Where the values of a label come from, if they are not in the table. None of them comes from a caller. */
export const labelSources = {
  operations: 'the ids of operations in the API reference; `none` for a path that is none',
  statuses: 'the HTTP statuses that the service sends',
  errors: 'the codes in errors.md; absent without an error',
  'task errors': 'the codes of failed tasks in errors.md; absent without an error',
  models: 'the ids of configured models; `_OTHER` for any other model, and beyond the first 200',
  'upstream models':
    'the names of models at providers, from the configured routes; `_OTHER` for any other model, and beyond the first 200',
  providers: 'the names of configured providers; `_OTHER` for any other',
  services: 'the names of the services that the engine calls',
  invariants: 'the names of the invariants in billing.md',
  'heap spaces': 'the names of heap spaces in V8',
} as const

export type LabelSource = keyof typeof labelSources

/** The allowed values, or where they come from. */
export type Label = readonly string[] | LabelSource

type Unit = 's' | 'By' | '1' | `{${string}}`

interface Row<Labels extends Record<string, Label>> {
  unit: Unit
  help: string
  labels: Labels
  roles: readonly Role[]
  /** Why the metric may be absent from a scrape; absent if every scrape under load has it. */
  when?: string
}

export interface CounterRow<Labels extends Record<string, Label>> extends Row<Labels> {
  type: 'counter'
}
export interface GaugeRow<Labels extends Record<string, Label>> extends Row<Labels> {
  type: 'gauge'
}
export interface HistogramRow<Labels extends Record<string, Label>> extends Row<Labels> {
  type: 'histogram'
  buckets: readonly number[]
}
export type MetricRow<Labels extends Record<string, Label> = Record<string, Label>> =
  | CounterRow<Labels>
  | GaugeRow<Labels>
  | HistogramRow<Labels>

export const counter = <const Labels extends Record<string, Label>>(
  row: Omit<CounterRow<Labels>, 'type'>,
): CounterRow<Labels> => ({ type: 'counter', ...row })

export const gauge = <const Labels extends Record<string, Label>>(
  row: Omit<GaugeRow<Labels>, 'type'>,
): GaugeRow<Labels> => ({ type: 'gauge', ...row })

export const histogram = <const Labels extends Record<string, Label>>(
  row: Omit<HistogramRow<Labels>, 'type'>,
): HistogramRow<Labels> => ({ type: 'histogram', ...row })

const unitSuffix = (unit: string): string => {
  if (unit === 's') return '_seconds'
  if (unit === 'By') return '_bytes'
  return unit === '1' ? '_ratio' : ''
}

/** The name in Prometheus: with the unit, as the OpenTelemetry Collector would export it. */
export const prometheusNameOf = (name: string, { type, unit }: Pick<MetricRow, 'type' | 'unit'>): string =>
  `${name.replaceAll('.', '_')}${unitSuffix(unit)}${type === 'counter' ? '_total' : ''}`

/** The name of a label in Prometheus. */
export const prometheusLabelOf = (label: string): string => label.replaceAll('.', '_')
