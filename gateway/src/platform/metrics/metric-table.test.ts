import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { afterEach, expect, test } from 'vitest'

import { prometheusNameOf, type MetricRow } from './metric-row.ts'
import { metricTable, type MetricName } from './metric-table.ts'
import { attributesOf, limitLabel } from './metrics.ts'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const rows = Object.entries<MetricRow>(metricTable) as [MetricName, MetricRow][]

/** The files of the table itself. */
const isTable = (file: string) =>
  /platform\/metrics\/[\w-]+-metrics\.ts$/.test(file) && !file.includes('pool-metrics')

test('every metric of the table is recorded somewhere', () => {
  const code = globSync('{gateway,cli}/src/**/*.ts', { cwd: root })
    .filter((file) => !file.endsWith('.test.ts') && !isTable(file))
    .map((file) => readFileSync(`${root}${file}`, 'utf8'))
    .join('\n')
  const recorded = (name: string) =>
    new RegExp(
      `\\b(?:count|countMetric|measure|observe)(?:<[^>]*>)?\\(\\s*'${name.replaceAll('.', '\\.')}'`,
    ).test(code)
  expect(rows.map(([name]) => name).filter((name) => !recorded(name))).toEqual([])
})

test('no two metrics have the same name in Prometheus', () => {
  const names = rows.map(([name, row]) => prometheusNameOf(name, row))
  expect(new Set(names).size).toBe(names.length)
  for (const name of names) expect(name).toMatch(/^[a-z][a-z0-9_]*$/)
})

test.each([
  ['kinora.tasks.accepted', 'counter', '{task}', 'kinora_tasks_accepted_total'],
  ['process.cpu.time', 'counter', 's', 'process_cpu_time_seconds_total'],
  ['kinora.storage.io', 'counter', 'By', 'kinora_storage_io_bytes_total'],
  ['nodejs.eventloop.utilization', 'gauge', '1', 'nodejs_eventloop_utilization_ratio'],
  ['http.server.request.duration', 'histogram', 's', 'http_server_request_duration_seconds'],
] as const)('%s has the name that the collector would give it', (name, type, unit, expected) => {
  expect(metricTable[name]).toMatchObject({ type, unit })
  expect(prometheusNameOf(name, { type, unit })).toBe(expected)
})

afterEach(() => {
  limitLabel('models', () => false)
})

const accepted = (model: string) => attributesOf('kinora.tasks.accepted', { kind: 'video', model })['model']

test('a model that is not configured is recorded as _OTHER', () => {
  expect(accepted('quetzalcoatlus')).toBe('_OTHER')
  limitLabel('models', (value) => value === 'vidB-quetzal')
  expect(accepted('vidB-quetzal')).toBe('vidB-quetzal')
  expect(accepted('quetzalcoatlus')).toBe('_OTHER')
})

test('a label has a bounded number of values, whatever its source gives', () => {
  const values = Array.from(
    { length: 1_000 },
    (_, index) =>
      attributesOf('v8js.memory.heap.used', { 'v8js.heap.space.name': `space-${index}` })[
        'v8js.heap.space.name'
      ],
  )
  expect(values[0]).toBe('space-0')
  expect(new Set(values).size).toBe(201)
})

test('a value that is not in the table is recorded as _OTHER, and one that does not apply is absent', () => {
  const labels = { kind: 'video', stage: 'quetzalcoatlus' } as never
  expect(attributesOf('kinora.task.retries', labels)).toEqual({ kind: 'video', stage: '_OTHER' })
  expect(attributesOf('kinora.task.retries', { kind: 'video', stage: undefined })).toEqual({ kind: 'video' })
})
