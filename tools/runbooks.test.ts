import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'

import { describe, expect, test } from 'vitest'

import { prometheusLabelOf, prometheusNameOf } from '../gateway/src/platform/metrics/metric-row.ts'
import { metricTable } from '../gateway/src/platform/metrics/metric-table.ts'
import { commandsIn, findCommandProblem } from './command-line.ts'

const root = path.resolve(import.meta.dirname, '..')
const read = (file: string) => readFileSync(path.join(root, file), 'utf8')

const folder = 'docs/runbooks'
const index = read(`${folder}/README.md`)
const pages = globSync('*.md', { cwd: path.join(root, folder) }).filter((name) => name !== 'README.md')
const linesMax = 50

const headings = [
  ...['What it means for customers', 'First safe action', 'Diagnosis'],
  ...['Repair', 'Verification'],
]

/** The shell examples of a page without their output, and its code in lines of text. */
const codeIn = (page: string): string => {
  const blocks = [...page.matchAll(/```sh\n([^]*?)```/g)].map(([, block = '']) =>
    block.replaceAll(/^#.*$/gm, ''),
  )
  const spans = [...page.replaceAll(/```[^]*?```/g, '').matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span)
  return [...blocks, ...spans].join('\n')
}

const rows = [...index.matchAll(/^\| (Kinora\w+) \| \[([\w-]+)\]\(\2\.md\) \| (page|ticket) \|$/gm)].map(
  ([, alert = '', page = '', severity = '']) => ({ alert, page: `${page}.md`, severity }),
)

interface Operation {
  parameters?: { name: string; in: string }[]
}
const { paths } = JSON.parse(read('docs/admin-openapi.json')) as {
  paths: Record<string, Partial<Record<string, Operation>>>
}

/** Calls of the shell function `admin` that the index defines. */
const adminCalls = (code: string) =>
  [...code.matchAll(/(?<!kinora |\w)admin (["']?)([a-z][^\s"'`|]*)\1([^|\n]*)/g)].map(
    ([, , target = '', options = '']) => {
      const [resource = '', search = ''] = target.split('?')
      return {
        resource,
        names: search.split('&').flatMap((pair) => pair.split('=', 1)[0] || []),
        method: /-X ([A-Z]+)/.exec(options)?.[1] ?? (/ -d /.test(options) ? 'POST' : 'GET'),
      }
    },
  )

const operationAt = (resource: string, method: string): Operation | undefined => {
  const parts = resource.split('/')
  const found = Object.entries(paths).find(([template]) => {
    const wanted = template.replace('/admin/v1/', '').split('/')
    return (
      wanted.length === parts.length && wanted.every((part, at) => part.startsWith('{') || part === parts[at])
    )
  })
  return found?.[1][method.toLowerCase()]
}

const series = new Set<string>()
const labels = new Set(['job', 'instance', 'le'])
for (const [name, row] of Object.entries(metricTable)) {
  const exported = prometheusNameOf(name, row)
  const ends = row.type === 'histogram' ? ['_bucket', '_count', '_sum'] : ['']
  for (const end of ends) series.add(`${exported}${end}`)
  for (const label of Object.keys(row.labels)) labels.add(prometheusLabelOf(label))
}

const sources = globSync('{gateway,cli}/src/**/*.ts', { cwd: root }).map(read).join('\n')

test('the index names every page once, with its alerts, and nothing else', () => {
  expect([...new Set(rows.map(({ page }) => page))].toSorted()).toEqual(pages.toSorted())
  for (const name of pages) {
    const alerts = rows.filter(({ page }) => page === name).map(({ alert }) => alert)
    expect(read(`${folder}/${name}`).split('\n', 1)[0]).toBe(`# ${alerts.join(', ')}`)
  }
})

test('the index has every alert of the rules, with its severity', () => {
  const listed = new Map(rows.map(({ alert, severity }) => [alert, severity]))
  for (const file of globSync('deploy/observability/**/rules/*.yml', { cwd: root })) {
    const alerts = read(file).matchAll(/alert: (\w+)[^]*?severity: (\w+)[^]*?runbook_url: (\S+)/g)
    for (const [, alert = '', severity = '', url = ''] of alerts) {
      expect({ alert, severity: listed.get(alert) }).toEqual({ alert, severity })
      expect(existsSync(path.join(root, folder, path.basename(url)))).toBe(true)
    }
  }
})

describe.each(pages)('%s', (name) => {
  const page = read(`${folder}/${name}`)
  const code = codeIn(page)

  test('is short and has every part', () => {
    expect([...page.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)).toEqual(headings)
    expect(page.split('\n').filter((line) => line !== '').length).toBeLessThanOrEqual(linesMax)
    expect(page).toContain('(README.md#set-up-your-shell)')
  })

  test('names commands and options that exist', () => {
    expect(commandsIn(code).flatMap((words) => findCommandProblem(words) ?? [])).toEqual([])
  })

  test('names operations of the admin API that exist', () => {
    for (const { resource, names, method } of adminCalls(code)) {
      const operation = operationAt(resource, method)
      expect({ resource, method, exists: operation !== undefined }).toEqual({
        resource,
        method,
        exists: true,
      })
      const known =
        operation?.parameters?.filter((each) => each.in === 'query').map((each) => each.name) ?? []
      expect(names.filter((each) => !known.includes(each))).toEqual([])
    }
  })

  test('names log events that exist', () => {
    const events = [...page.matchAll(/`([a-z-]+\.[a-z]+(?:-[a-z]+)*)`/g)].map(([, event = '']) => event)
    expect(events.filter((event) => !sources.includes(`'${event}'`))).toEqual([])
  })

  test('names metrics and labels that exist', () => {
    const named = code.match(/\b(?:kinora|gen_ai|http|nodejs|process|db_client|v8js)_[a-z\d_]+/g) ?? []
    expect(named.filter((each) => !series.has(each) && !labels.has(each))).toEqual([])
    const grouped = [...code.matchAll(/\b(?:by|on|without) \(([^)]*)\)/g)].flatMap(([, list = '']) =>
      list.split(',').flatMap((each) => each.trim() || []),
    )
    expect(grouped.filter((each) => !labels.has(each))).toEqual([])
  })
})
