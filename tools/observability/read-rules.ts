/** Reads the rules and their tests in deploy/observability. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

import { parse } from 'yaml'

export const folder = join(import.meta.dirname, '../../deploy/observability')

interface Rule {
  expr: string
  /** The name of the series that it records, or of its alert. */
  record?: string
  alert?: string
  for?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
}
export interface RuleFile {
  groups: { name: string; interval?: string; rules: Rule[] }[]
}
export interface RuleTests {
  tests: {
    name: string
    alert_rule_test?: { alertname: string; exp_alerts: object[] }[]
    promql_expr_test?: { expr: string }[]
  }[]
}

const readYaml = <Content>(path: string) => parse(readFileSync(join(folder, path), 'utf8')) as Content
const filesIn = (path: string) =>
  readdirSync(join(folder, path))
    .filter((name) => name.endsWith('.yml'))
    .map((name) => join(path, name))

export const ruleFiles = filesIn('prometheus/rules')
export const testFiles = filesIn('prometheus/tests')
export const readRuleFile = (path: string) => readYaml<RuleFile>(path)

export const readRules = (): (Rule & { file: string })[] =>
  ruleFiles.flatMap((path) =>
    readRuleFile(path).groups.flatMap(({ rules }) =>
      rules.map((rule) => ({ ...rule, file: basename(path) })),
    ),
  )
export const readTests = () => testFiles.flatMap((path) => readYaml<RuleTests>(path).tests)
