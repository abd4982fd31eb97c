/** What docs/scale.md and docs/cells.md say by hand. The tables are checked with all generated documents. */
import { readFileSync } from 'node:fs'

import { settings } from '@kinora/gateway/config'
import { expect, test } from 'vitest'

import { cellDigits, cellText } from '../../gateway/src/platform/ids/cell.ts'
import { costs, largest, planFor, scales } from './plan.ts'
import { alsoMeasured, assumed, measured } from './task-costs.ts'

const readPage = (name: string) => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8')
const pages = { scale: readPage('scale'), cells: readPage('cells') }

test.for(Object.entries(pages))('the settings that %s.md names exist', ([, page]) => {
  const named = [...page.matchAll(/`([A-Z]+(?:_[A-Z0-9]+)+)`/g)].map(([, name]) => name ?? '')
  expect(named.length).toBeGreaterThan(2)
  expect(named.filter((name) => !(name in settings) && !name.startsWith('RESTATE_'))).toEqual([])
})

test('the values that the page gives are valid', () => {
  const rows = [...pages.scale.matchAll(/^\| `([A-Z_0-9]+)` \| `([^`]+)`/gm)]
  expect(rows.length).toBeGreaterThan(4)
  for (const [, name = '', value = ''] of rows) settings[name as keyof typeof settings].read(value)
})

test('every measured figure is a positive number with its command', () => {
  for (const { what, value, source } of [...Object.values(measured), ...alsoMeasured]) {
    expect({ what, isPositive: value > 0 && Number.isFinite(value) }).toEqual({ what, isPositive: true })
    expect(source).toMatch(/^`npm run bench -- [\w/-]+`$|^not recorded; /)
  }
  for (const { value } of Object.values(assumed)) expect(value).toBeGreaterThan(0)
})

test('ten times the tasks need ten times the processors, traffic and storage', () => {
  const [small, large] = [planFor(100_000), planFor(1_000_000)]
  expect(large.busy.postgres / small.busy.postgres).toBeCloseTo(10)
  expect(large.traffic.out / small.traffic.out).toBeCloseTo(10)
  expect(large.stored.media / small.stored.media).toBeCloseTo(10)
  expect(large.workers).toBeGreaterThan(small.workers)
})

test('one installation is enough up to a million tasks a day, and each cell of the largest has as many in flight as were measured', () => {
  for (const tasks of scales)
    expect({ tasks, isOne: planFor(tasks).cells === 1 }).toEqual({ tasks, isOne: tasks < largest })
  const { cells, inFlight } = planFor(largest)
  expect(inFlight / cells).toBeLessThanOrEqual(measured.tasksInFlight.value)
})

test('the providers are almost all of the cost', () => {
  const [provider, ...own] = costs()
  const ours = own.reduce((sum, { usd }) => sum + usd, 0)
  expect(ours).toBeLessThan((provider?.usd ?? 0) / 1_000)
})

test('the record of decision 88 has the forms of ids', () => {
  const record = readFileSync(
    new URL('../../docs/decisions/0088-cells-in-ids-and-keys.md', import.meta.url),
    'utf8',
  )
  expect(record).toContain(`\`sk-${cellText}…\``)
  expect(record).toContain(`\`evt_${cellDigits}…\``)
})
