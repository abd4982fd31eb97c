/** The form of a dashboard, as the tables beside this file write it. */

/** Units of Grafana, by the words used here. */
export const units = {
  'per second': 'cps',
  'requests per second': 'reqps',
  'bytes per second': 'Bps',
  seconds: 's',
  bytes: 'bytes',
  share: 'percentunit',
  count: 'short',
  cores: 'short',
  /** Units of the currency, which `target_info` names. */
  money: 'locale',
} as const

/** Green, then orange from `warn`, then red from `bad`. If `bad` is the lower one, small values are bad. */
export interface Limits {
  warn?: number
  bad?: number
}

interface Panel {
  title: string
  /** What it shows, and what to do if it is not as it should be. */
  help: string
  unit: keyof typeof units
  /** PromQL by legend. `{{label}}` in a legend is replaced by its value. */
  queries: Record<string, string>
  limits?: Limits
  /** Words in place of values. */
  words?: Record<number, string>
  /** Another dashboard that tells more. */
  next?: BoardName
}

/** The last value as a figure, over the whole range of the dashboard. */
export interface Figure extends Panel {
  kind: 'figure'
  /** Shows the legends, because a query has several values. */
  hasNames?: true
}

/** Values over time. */
export interface Chart extends Panel {
  kind: 'chart'
  isStacked?: true
}

export interface Variable {
  name: string
  label: string
  /** The metric and the label whose values can be chosen. */
  metric: string
  values: string
  /** Only one can be chosen; otherwise several or all. */
  isSingle?: true
}

export const boardNames = ['service', 'providers', 'tasks', 'money', 'role'] as const
export type BoardName = (typeof boardNames)[number]

export interface Board {
  title: string
  description: string
  variables: Variable[]
  rows: Record<string, (Figure | Chart)[]>
}

export const figure = (panel: Omit<Figure, 'kind'>): Figure => ({ kind: 'figure', ...panel })
export const chart = (panel: Omit<Chart, 'kind'>): Chart => ({ kind: 'chart', ...panel })

/** The quantile of a histogram in the time of one point, by labels, of the series with these matchers. */
export const quantile = (share: number, metric: string, by: string[] = [], matchers = ''): string =>
  `histogram_quantile(${share}, sum by (${['le', ...by].join(', ')}) (rate(${metric}_bucket${braces(matchers)}[$__rate_interval])))`

/** The rate per second of a counter, or of the count of a histogram, by labels. */
export const rate = (metric: string, by: string[] = [], matchers = ''): string =>
  `sum${by.length === 0 ? '' : ` by (${by.join(', ')})`} (rate(${metric}${braces(matchers)}[$__rate_interval]))`

/** How much a counter grew within the range of the dashboard. */
export const growth = (metric: string, by: string[] = [], matchers = ''): string =>
  `sum${by.length === 0 ? '' : ` by (${by.join(', ')})`} (increase(${metric}${braces(matchers)}[$__range]))`

/** 0 if nothing was counted. */
export const orZero = (expression: string): string => `(${expression} or vector(0))`

const braces = (matchers: string) => (matchers === '' ? '' : `{${matchers}}`)
