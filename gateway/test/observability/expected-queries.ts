/** What Prometheus is asked: the queries of the dashboards as committed, and the parts of the rules. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { partsOf } from '../../../tools/dashboards/read-expression.ts'
import { readRules } from '../../../tools/observability/read-rules.ts'

export interface ExpectedQuery {
  /** The dashboard or the rule file. */
  source: string
  name: string
  expression: string
}

interface Dashboard {
  title: string
  panels: { title: string; targets?: { expr: string }[] }[]
  templating: { list: { name: string; type: string; definition?: string; includeAll: boolean }[] }
}

export interface DashboardVariable {
  dashboard: string
  name: string
  label: string
  /** The series whose values of the label can be chosen. */
  selector: string
}

const directory = fileURLToPath(new URL('../../../deploy/observability/grafana/', import.meta.url))

const readDashboards = (): Dashboard[] =>
  readdirSync(directory)
    .filter((file) => file.endsWith('.json'))
    .map((file) => JSON.parse(readFileSync(`${directory}${file}`, 'utf8')) as Dashboard)

/** Puts values in the place of variables, as Grafana would with “All”. */
const substitute = (text: string, rangeSeconds: number): string =>
  text
    .replaceAll('$__rate_interval', '30s')
    .replaceAll('$__range', `${rangeSeconds}s`)
    .replaceAll(/\$\w+/g, '.*')

export const dashboardVariables = (): DashboardVariable[] =>
  readDashboards().flatMap(({ title, templating }) =>
    templating.list.flatMap(({ name, definition = '' }) => {
      const [, selector, label] = /^label_values\((.*), (\w+)\)$/.exec(definition) ?? []
      if (selector === undefined || label === undefined) return []
      return [{ dashboard: title, name, label, selector: selector.replaceAll(/="\$\w+"/g, '=~".*"') }]
    }),
  )

/** Each query, and its parts, because `or vector(0)` would return something without them. */
export const dashboardQueries = (rangeSeconds: number): ExpectedQuery[] =>
  readDashboards().flatMap(({ title, panels }) =>
    panels.flatMap((panel) =>
      (panel.targets ?? []).flatMap(({ expr }) => {
        const expression = substitute(expr, rangeSeconds)
        return [...new Set([expression, ...partsOf(expression)])].map((each) => ({
          ...{ source: title, name: panel.title, expression: each },
        }))
      }),
    ),
  )

/** Alerts without their conditions, because they should not hold now. */
export const ruleQueries = (): ExpectedQuery[] =>
  readRules().flatMap(({ file, record, alert, expr }) =>
    partsOf(expr).map((expression) => ({ source: file, name: record ?? alert ?? '', expression })),
  )
