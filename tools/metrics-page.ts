/** The page of all metrics, from their table. */
import {
  labelSources,
  prometheusLabelOf,
  prometheusNameOf,
  type Label,
  type MetricRow,
} from '../gateway/src/platform/metrics/metric-row.ts'
import { metricTable } from '../gateway/src/platform/metrics/metric-table.ts'
import { localMetrics, processMetrics } from '../gateway/src/platform/metrics/process-metrics.ts'
import {
  httpMetrics,
  providerMetrics,
  routingMetrics,
  taskMetrics,
} from '../gateway/src/platform/metrics/request-metrics.ts'
import {
  engineMetrics,
  mediaMetrics,
  moneyMetrics,
  securityMetrics,
  storageMetrics,
  webhookMetrics,
} from '../gateway/src/platform/metrics/upkeep-metrics.ts'

const groups: Record<string, Record<string, MetricRow>> = {
  Requests: httpMetrics,
  'Calls to providers': providerMetrics,
  Tasks: taskMetrics,
  Routes: routingMetrics,
  Money: moneyMetrics,
  'Certificate and secrets': securityMetrics,
  'Media store': storageMetrics,
  Engine: engineMetrics,
  'Webhooks and events': webhookMetrics,
  'Media programs': mediaMetrics,
  Processes: processMetrics,
  'Built-in provider': localMetrics,
}

/** A metric of the table that no group has would be missing on the page. */
const missing = Object.keys(metricTable).filter(
  (name) => !Object.values(groups).some((rows) => Object.hasOwn(rows, name)),
)
if (missing.length > 0) throw new Error(`Add ${missing.join(', ')} to the groups of the page.`)

const labelText = ([name, label]: [string, Label]): string => {
  const values = typeof label === 'string' ? `*${label}*` : label.map((value) => `\`${value}\``).join(', ')
  return `\`${prometheusLabelOf(name)}\`: ${values}`
}

const bucketsText = (row: MetricRow) =>
  row.type === 'histogram' ? ` Buckets: ${row.buckets.join(', ')}.` : ''

const rowText = ([name, row]: [string, MetricRow]): string => {
  const labels = Object.entries(row.labels).map(labelText).join('; ')
  const absent = row.when === undefined ? '' : ` Absent until ${row.when}.`
  const cells = [
    `\`${prometheusNameOf(name, row)}\``,
    row.type,
    row.roles.join(', '),
    labels === '' ? '–' : labels,
    `${row.help}${absent}${bucketsText(row)}`,
    `\`${name}\`, \`${row.unit}\``,
  ]
  return `| ${cells.join(' | ')} |`
}

/** The lines of docs/metrics.md after its title and note. */
export const metricsPage = (): string[] => [
  'Each role serves its metrics at `http://METRICS_HOST:METRICS_PORT/metrics` if `METRICS_PORT` is set, and pushes them if',
  '`OTEL_EXPORTER_OTLP_ENDPOINT` is set; see [operating.md](operating.md#metrics). The first column is the name in Prometheus.',
  'A histogram has the series `_bucket`, `_count` and `_sum`. The last column is the name and the unit in OTLP.',
  '',
  'Counters whose label values are all listed here start at 0. Other counters and histograms appear with their first value.',
  'A label that does not apply is absent. `target_info` has the role (`service_name`), the version and the currency.',
  '',
  'No label has a value from a caller. A value that is not allowed is recorded as `_OTHER`. These values are not listed in',
  'the tables:',
  '',
  '| values | source |',
  '|---|---|',
  ...Object.entries(labelSources).map(([source, text]) => `| *${source}* | ${text} |`),
  ...Object.entries(groups).flatMap(([title, rows]) => [
    '',
    `## ${title}`,
    '',
    '| metric | type | roles | labels | meaning | in OTLP |',
    '|---|---|---|---|---|---|',
    ...Object.entries(rows).map(rowText),
  ]),
]
