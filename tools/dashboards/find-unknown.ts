/** Finds what an expression names and no metric has: metrics, labels, and values of labels. */
import {
  prometheusLabelOf,
  prometheusNameOf,
  type Label,
  type MetricRow,
} from '../../gateway/src/platform/metrics/metric-row.ts'
import { metricTable } from '../../gateway/src/platform/metrics/metric-table.ts'
import { readExpression, type Matcher } from './read-expression.ts'

/** The labels of a series, with their values if they are all known. */
export type Series = Map<string, Record<string, readonly string[] | undefined>>

/** Prometheus adds these to each series. */
const targetLabels = ['job', 'instance']

const valuesOf = (label: Label) => (typeof label === 'string' ? undefined : label)

const labelsOf = ({ labels }: MetricRow) =>
  Object.fromEntries(
    Object.entries(labels).map(([name, label]) => [prometheusLabelOf(name), valuesOf(label)]),
  )

/** Every series of the table of metrics, and those that Prometheus and the exporter add. */
export const knownSeries = (): Series => {
  const series: Series = new Map()
  for (const [given, row] of Object.entries<MetricRow>(metricTable)) {
    const name = prometheusNameOf(given, row)
    if (row.type === 'histogram') {
      series.set(`${name}_bucket`, { ...labelsOf(row), le: undefined })
      series.set(`${name}_count`, labelsOf(row))
      series.set(`${name}_sum`, labelsOf(row))
    } else series.set(name, labelsOf(row))
  }
  const services = ['kinora-api', 'kinora-worker', 'kinora-local']
  series.set('target_info', {
    service_name: services,
    service_namespace: ['kinora'],
    service_version: undefined,
    kinora_currency: undefined,
  })
  series.set('up', {})
  series.set('scrape_duration_seconds', {})
  return series
}

/** Whether the matcher names a value that the label never has. Each alternative of a regular expression counts. */
const findUnknownValues = ({ operator, value }: Matcher, values: readonly string[] | undefined): string[] => {
  if (values === undefined || value === '' || value.includes('$')) return []
  if (operator === '=' || operator === '!=') return values.includes(value) ? [] : [value]
  return value.split('|').filter((pattern) => {
    const expression = new RegExp(`^(?:${pattern})$`)
    return !values.some((each) => expression.test(each))
  })
}

export const findUnknown = (expression: string, series: Series): string[] => {
  const { selectors, grouping } = readExpression(expression)
  if (selectors.length === 0) return ['it selects no metric']
  const grouped = new Set(targetLabels)
  const unknown = selectors.flatMap(({ metric, matchers, text }) => {
    const labels = series.get(metric)
    if (labels === undefined) return [`no metric ${metric}`]
    for (const label of Object.keys(labels)) grouped.add(label)
    return matchers.flatMap((matcher) => {
      const { label } = matcher
      if (targetLabels.includes(label)) return []
      if (!(label in labels)) return [`${metric} has no label ${label}`]
      return findUnknownValues(matcher, labels[label]).map((value) => `${label} is never ${value} in ${text}`)
    })
  })
  if (unknown.length > 0) return unknown
  return grouping.flatMap((label) => (grouped.has(label) ? [] : [`no metric in it has the label ${label}`]))
}
