/**
 * The dashboards and rules name only metrics, labels and values that exist, without Prometheus and Grafana. That each query
 * returns something under load is proved by `npm run prove:observability`.
 */
import { describe, expect, test } from 'vitest'

import { readRules } from '../observability/read-rules.ts'
import { boardNames, type BoardName } from './board.ts'
import { buildDashboard } from './build-dashboard.ts'
import { boards } from './dashboards.ts'
import { findUnknown, knownSeries, type Series } from './find-unknown.ts'
import { partsOf, readExpression } from './read-expression.ts'

const rules = readRules()

/** Also the series that rules record, with the labels of what they are computed from. */
const withRecorded = (): Series => {
  const series = knownSeries()
  for (const { record, expr } of rules) {
    if (record === undefined) continue
    const read = readExpression(expr)
    const labels = read.selectors.flatMap(({ metric }) => Object.entries(series.get(metric) ?? {}))
    series.set(record, Object.fromEntries(labels))
  }
  return series
}

const series = withRecorded()

/** Variables in braces and intervals, with something in their place that PromQL allows. */
const withoutVariables = (expression: string) => expression.replaceAll(/\[\$__\w+\]/g, '[5m]')

describe.for(boardNames)('the dashboard %s', (name: BoardName) => {
  const board = boards[name]
  const panels = Object.values(board.rows).flat()
  const { panels: built = [] } = buildDashboard(name, board)

  test('has queries of known series', () => {
    const wrong = panels.flatMap(({ title, queries }) =>
      Object.values(queries).flatMap((query) =>
        findUnknown(withoutVariables(query), series).map((problem) => `${title}: ${problem}`),
      ),
    )
    expect(wrong).toEqual([])
  })

  test('has legends of labels that their query returns', () => {
    const wrong = panels.flatMap(({ title, queries }) =>
      Object.entries(queries).flatMap(([legend, query]) => {
        const { selectors, grouping } = readExpression(withoutVariables(query))
        const isGrouped = /\bby \(/.test(query)
        const labels = isGrouped
          ? grouping
          : ['instance', ...selectors.flatMap(({ metric }) => Object.keys(series.get(metric) ?? {}))]
        const used = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label)
        return used.filter((label) => !labels.includes(label)).map((label) => `${title}: ${label}`)
      }),
    )
    expect(wrong).toEqual([])
  })

  test('uses exactly its variables, and their series exist', () => {
    const text = JSON.stringify(panels) + JSON.stringify(board.variables)
    const used = [...text.matchAll(/\$(?!__)(\w+)/g)].map(([, variable]) => variable)
    expect(new Set(used)).toEqual(new Set(board.variables.map((variable) => variable.name)))
    for (const { metric, values } of board.variables) {
      expect(findUnknown(metric, series)).toEqual([])
      const [selector] = readExpression(metric).selectors
      expect(['instance', ...Object.keys(series.get(selector?.metric ?? '') ?? {})]).toContain(values)
    }
  })

  test('has panels with an explanation, which do not overlap', () => {
    for (const { title, help } of panels) expect(`${title}: ${help}`).toMatch(/: .{7,}\.$/)
    const cells = built.flatMap((panel) => {
      const { x, y, w, h } = panel.gridPos ?? { x: 0, y: 0, w: 0, h: 0 }
      expect(x + w).toBeLessThanOrEqual(24)
      return Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`)
    })
    expect(new Set(cells).size).toBe(cells.length)
    expect(new Set(built.map(({ id }) => id)).size).toBe(built.length)
  })
})

test('every metric is on a dashboard', () => {
  const shown = new Set(
    Object.values(boards).flatMap(({ rows }) =>
      Object.values(rows).flatMap((panels) =>
        panels.flatMap(({ queries }) =>
          Object.values(queries).flatMap((query) =>
            readExpression(withoutVariables(query)).selectors.map(({ metric }) => metric),
          ),
        ),
      ),
    ),
  )
  const nameOf = (metric: string) => metric.replace(/_(?:bucket|count|sum)$/, '')
  const shownNames = new Set([...shown].flatMap((metric) => [metric, nameOf(metric)]))
  const missing = [...knownSeries().keys()].filter(
    (metric) => !shownNames.has(metric) && !shownNames.has(nameOf(metric)),
  )
  // Prometheus makes these. The dashboard of a role that is down is empty; an alert tells it.
  expect(missing).toEqual(['up', 'scrape_duration_seconds'])
})

test('the rules are about known series', () => {
  const wrong = rules.flatMap(({ record, alert, expr }) =>
    findUnknown(expr, series).map((problem) => `${record ?? alert}: ${problem}`),
  )
  expect(wrong).toEqual([])
})

describe('an expression', () => {
  test.for([
    ['rate(kinora_tasks_acepted_total[5m])', 'no metric kinora_tasks_acepted_total'],
    ['kinora_tasks_queued{model="vidB-2"}', 'kinora_tasks_queued has no label model'],
    ['sum by (model) (kinora_tasks_queued)', 'no metric in it has the label model'],
    [
      'kinora_tasks_ended_total{outcome="done"}',
      'outcome is never done in kinora_tasks_ended_total{outcome="done"}',
    ],
    [
      'kinora_tasks_ended_total{outcome=~"failed|lost"}',
      'outcome is never lost in kinora_tasks_ended_total{outcome=~"failed|lost"}',
    ],
    ['rate(http_server_request_duration_seconds[5m])', 'no metric http_server_request_duration_seconds'],
    ['vector(0)', 'it selects no metric'],
  ] as const)('%s is reported', ([expression, problem]) => {
    expect(findUnknown(expression, series)).toEqual([problem])
  })

  test('that is not PromQL is refused', () => {
    expect(() => readExpression('sum by (kind (kinora_tasks_queued)')).toThrow('not PromQL')
  })

  test.for([
    ['a > 1', ['a']],
    ['(a > 14.4 * 0.001 and b:c > 3) or absent(up{job="k"})', ['a', 'b:c', 'up{job="k"}']],
    ['sum(a{b="c"}) / sum(a) == 0 or vector(0)', ['sum(a{b="c"}) / sum(a)']],
    ['count by (x) (up{job="x"} == 0) > 2 unless on (x) rate(y[5m])', ['up{job="x"}', 'rate(y[5m])']],
    ['absent_over_time(x[5m])', ['x']],
  ] as const)('%s has parts without conditions', ([expression, parts]) => {
    expect(partsOf(expression)).toEqual(parts)
  })
})
