/** The rules and alerts in deploy/observability: valid, tested, explained, and in agreement with the table of metrics. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'
import { parse } from 'yaml'

import {
  prometheusLabelOf,
  prometheusNameOf,
  type Label,
  type MetricRow,
} from '../../gateway/src/platform/metrics/metric-row.ts'
import { metricTable } from '../../gateway/src/platform/metrics/metric-table.ts'
import { readExpression, type Matcher } from '../dashboards/read-expression.ts'
import { folder, readRules, readTests, testFiles } from './read-rules.ts'

const root = join(import.meta.dirname, '../..')
const rules = readRules()
const alerts = rules.flatMap((rule) => (rule.alert === undefined ? [] : { ...rule, alert: rule.alert }))
const records = rules.flatMap(({ record }) => record ?? [])
const tests = readTests()

const run = async (program: string, ...parameters: string[]) =>
  (await promisify(execFile)(program, parameters, { cwd: folder })).stdout

test('the example of Prometheus and its rules are valid', async () => {
  expect(await run('promtool', 'check', 'config', 'prometheus/prometheus.yml')).not.toContain('duplicate')
})

test.for(testFiles)('the tests of rules in %s pass', async (path) => {
  expect(await run('promtool', 'test', 'rules', path)).toContain('SUCCESS')
})

test('the example of Alertmanager is valid, and its rules name alerts', async () => {
  const path = 'alertmanager/alertmanager.yml'
  expect(await run('amtool', 'check-config', path)).toContain('SUCCESS')
  const text = readFileSync(join(folder, path), 'utf8')
  const named = text.match(/\bKinora\w+/g) ?? []
  expect(named.filter((name) => !alerts.some(({ alert }) => alert === name))).toEqual([])
})

test.for(alerts.map(({ alert }) => alert))('a test shows when %s fires, and one when it does not', (name) => {
  const expected = tests
    .flatMap(({ alert_rule_test: of = [] }) => of)
    .filter(({ alertname }) => alertname === name)
  expect(expected.some(({ exp_alerts: fired }) => fired.length > 0)).toBe(true)
  expect(expected.some(({ exp_alerts: fired }) => fired.length === 0)).toBe(true)
})

test.for(records)('a test compares %s with its value', (name) => {
  const compared = tests.flatMap(({ promql_expr_test: of = [] }) => of.map(({ expr }) => expr))
  expect(compared.some((expr) => expr.split(/[^\w:]/).includes(name))).toBe(true)
})

const runbooks = join(root, 'docs/runbooks')

test.for(alerts.map((each) => [each.alert, each] as const))(
  '%s has a severity, texts and a runbook',
  ([, alert]) => {
    expect(['page', 'ticket']).toContain(alert.labels?.['severity'])
    const { summary = '', description = '', runbook_url: runbook = '' } = alert.annotations ?? {}
    expect(summary.length).toBeGreaterThan(10)
    expect(description).toMatch(/customer|client/i)
    expect(`${summary} ${description}`).toMatch(/\$value|\$labels/)
    expect(runbook).toMatch(/^docs\/runbooks\/[a-z-]+\.md$/)
    // Without runbooks, they are not part of this tree.
    if (existsSync(runbooks)) expect(existsSync(join(root, runbook))).toBe(true)
  },
)

interface Series {
  name: string
  labels: Record<string, Label | undefined>
}
const seriesOf = ([name, row]: [string, MetricRow]): Series[] => {
  const exported = prometheusNameOf(name, row)
  const labels = Object.fromEntries(
    Object.entries(row.labels).map(([label, values]) => [prometheusLabelOf(label), values]),
  )
  if (row.type !== 'histogram') return [{ name: exported, labels }]
  return [
    { name: `${exported}_bucket`, labels: { ...labels, le: row.buckets.map(String) } },
    { name: `${exported}_count`, labels },
    { name: `${exported}_sum`, labels },
  ]
}
const series = new Map<string, Series['labels']>(
  [
    ...Object.entries<MetricRow>(metricTable).flatMap(seriesOf),
    { name: 'up', labels: {} },
    ...records.map((name) => ({ name, labels: { operation: undefined } })),
  ].map(({ name, labels }) => [name, labels]),
)
/** Prometheus adds them to each scraped series. */
const ofTargets = ['job', 'instance']

const operations = Object.values(
  (parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8')) as { paths: Record<string, object> }).paths,
).flatMap((methods) => Object.values(methods).map(({ operationId }: { operationId: string }) => operationId))
const errorPage = readFileSync(join(root, 'docs/errors.md'), 'utf8')
const isValue = (values: Label | undefined, value: string): boolean => {
  if (values === 'operations') return value === 'none' || operations.includes(value)
  if (values === 'errors') return errorPage.includes(`\n### ${value}\n`)
  if (values === 'task errors') return errorPage.includes(`\n| \`${value}\` |`)
  return typeof values !== 'object' || values.includes(value)
}

const valuesIn = ({ operator, value }: Matcher) => (operator.endsWith('~') ? value.split('|') : [value])

/** What an expression names that no role exports. */
const unknownIn = (expression: string): string[] => {
  const { selectors, grouping } = readExpression(expression)
  const used = selectors.map(({ metric }) => series.get(metric))
  return [
    ...selectors.flatMap(({ metric, matchers }) => {
      const labels = series.get(metric)
      if (labels === undefined) return metric
      return matchers.flatMap((matcher) => {
        const { label } = matcher
        if (ofTargets.includes(label)) return []
        if (!Object.hasOwn(labels, label)) return `${metric}{${label}}`
        return valuesIn(matcher)
          .filter((value) => !isValue(labels[label], value))
          .map((value) => `${label}="${value}"`)
      })
    }),
    ...grouping.filter(
      (label) => !ofTargets.includes(label) && !used.some((labels) => labels && Object.hasOwn(labels, label)),
    ),
  ]
}

test.for(rules.map(({ alert, record, expr }) => [alert ?? record ?? '', expr] as const))(
  'the metrics, labels and values in %s exist',
  ([, expr]) => {
    expect(readExpression(expr).selectors).not.toEqual([])
    expect(unknownIn(expr)).toEqual([])
  },
)

test('an unknown metric, label, value or bucket is found', () => {
  expect(
    unknownIn('sum by (reason) (rate(kinora_admission_rejections_total{reason="overload"}[5m])) > 1'),
  ).toEqual([])
  expect(unknownIn('max(kinora_tasks_waiting) > 0')).toEqual(['kinora_tasks_waiting'])
  expect(unknownIn('kinora_tasks_queued{provider="a"}')).toEqual(['kinora_tasks_queued{provider}'])
  expect(unknownIn('kinora_tasks_queued{kind="audio"}')).toEqual(['kind="audio"'])
  expect(unknownIn('sum by (wallet) (kinora_tasks_queued)')).toEqual(['wallet'])
  const bucket = 'http_server_request_duration_seconds_bucket'
  expect(unknownIn(`${bucket}{operation="getVideos", le="0.03"}`)).toEqual([
    'operation="getVideos"',
    'le="0.03"',
  ])
})
